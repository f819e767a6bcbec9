"""Columns that annotators compute of responses before metrics read them."""
