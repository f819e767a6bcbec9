"""Benchmarks that a YAML file declares."""
