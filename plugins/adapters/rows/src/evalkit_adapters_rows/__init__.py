"""Adapters: the kind, and rows changed by declared steps before they are checked."""
