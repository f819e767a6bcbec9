"""The evalkit command line: the only place that prints."""
