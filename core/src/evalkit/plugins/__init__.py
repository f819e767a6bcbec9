"""Finds plugins, checks them against the contract and binds them."""
