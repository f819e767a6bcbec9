"""Responses, judged and matched to examples."""
