"""`evalkit export`."""
