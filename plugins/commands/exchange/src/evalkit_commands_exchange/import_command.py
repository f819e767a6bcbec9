"""`evalkit import`."""
