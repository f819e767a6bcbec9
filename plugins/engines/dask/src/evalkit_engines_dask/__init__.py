"""Evaluates in parts on Dask."""
