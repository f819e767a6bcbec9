"""Adapters that read what other evaluation programs wrote."""
