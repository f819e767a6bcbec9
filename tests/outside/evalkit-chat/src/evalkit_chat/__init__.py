"""Open conversation for evalkit."""
