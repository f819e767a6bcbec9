"""Extractors: what takes the answer out of a response's text."""
