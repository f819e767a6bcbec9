"""Models from weights on this machine."""
