"""Begins packages with plugins of one's own."""
