"""Intervals and tests as functions of arrays: values, counts and clusters.

Nothing here knows a metric, a group or a run. Each function names its source.
"""
