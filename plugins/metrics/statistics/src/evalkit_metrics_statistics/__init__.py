"""Metrics of rankings, numbers, agreement and language models."""
