"""Recognises entities by a model of spaCy."""
