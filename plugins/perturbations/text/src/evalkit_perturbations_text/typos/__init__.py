"""Slips of keys, spaces, spelling and scanning."""
