"""Reads the benchmark files of other programs."""
