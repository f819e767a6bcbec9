"""Data to examples, with their answers, tags and clusters."""
