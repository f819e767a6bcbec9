"""Data sets of a hub, by its own client library; they are only read."""
