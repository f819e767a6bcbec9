"""Metrics of what it took to make predictions: time, memory, tokens and cost."""
