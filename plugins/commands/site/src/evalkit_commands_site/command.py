"""`evalkit site`."""
