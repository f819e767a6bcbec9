"""Runs the command line as `python -m evalkit_cli`."""

from evalkit_cli.supervision import main

main()
