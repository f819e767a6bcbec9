"""Perturb datasets and rows."""
