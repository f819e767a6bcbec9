"""The command `evalkit submit`."""
