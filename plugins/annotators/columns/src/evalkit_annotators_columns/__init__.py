"""Annotators: the kind, and the stage that computes columns from responses."""
