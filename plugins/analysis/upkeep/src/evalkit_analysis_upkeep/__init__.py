"""Verify and merge the runs."""
