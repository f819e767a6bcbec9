"""Runs the command line as `python -m evalkit_cli`."""

from evalkit_cli.main import main

main()
