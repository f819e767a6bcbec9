"""A hundred violations of stated laws, in copies of our own plugins.

Each was written from what is stated to authors (`evalkit.hookspecs`, `docs/authoring`,
`docs/plugin.md`, `docs/commands.md`, docstrings), before the kit or its page was read.
"""
