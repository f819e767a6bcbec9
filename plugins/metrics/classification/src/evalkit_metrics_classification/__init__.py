"""Metrics of labels, of their probabilities, and of several alternatives."""
