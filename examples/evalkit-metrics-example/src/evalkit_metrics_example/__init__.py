"""Metrics of how well predictions and answers agree, for evalkit."""
