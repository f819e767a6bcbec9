"""Metrics of texts, and of spans and JSON in them."""
