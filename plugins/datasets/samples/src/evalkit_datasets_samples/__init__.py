"""Four small data sets of our own, with predictions of real programs."""
