"""Models that need no weights: baselines, and any program."""
