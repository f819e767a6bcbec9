"""Begins packages with plugins of one's own, and examines environments."""
