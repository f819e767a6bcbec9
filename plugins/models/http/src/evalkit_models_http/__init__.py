"""Models behind any service that takes and gives JSON."""
