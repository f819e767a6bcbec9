"""The command `evalkit cite`."""
