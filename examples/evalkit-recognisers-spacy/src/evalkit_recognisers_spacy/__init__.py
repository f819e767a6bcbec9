"""Finds entities with a model of spaCy."""
