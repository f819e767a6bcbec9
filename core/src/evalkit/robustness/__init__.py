"""Scores of perturbed copies beside those of their originals."""
