"""One module for each command, and what only commands use."""
