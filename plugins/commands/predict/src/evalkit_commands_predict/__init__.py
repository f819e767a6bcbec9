"""The command `evalkit predict`."""
