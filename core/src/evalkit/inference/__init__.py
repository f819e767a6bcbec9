"""Intervals, tests and other statistics of arrays, which know no metric and no run."""
