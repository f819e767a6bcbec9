"""Examines the environment that evalkit runs in: what is installed, and how.

Nothing here needs more than Python's own library to be imported, so that it can say
what is wrong where evalkit itself cannot be imported.
"""
