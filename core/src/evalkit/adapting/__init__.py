"""Rows that are changed by declared adapters."""
