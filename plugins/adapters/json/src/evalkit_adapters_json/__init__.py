"""Adapters of rows that are configured by JSON."""
