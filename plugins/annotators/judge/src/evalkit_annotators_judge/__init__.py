"""Judges: annotators that ask a model what responses are worth."""
