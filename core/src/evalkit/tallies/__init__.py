"""Counts of what metrics make of examples, and the scores that follow from them.

It stands beside `scoring` until it takes its place.
"""
