"""Words, ids and small types that every other room uses."""
