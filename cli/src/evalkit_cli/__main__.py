"""Runs the command line as `python -m evalkit_cli`."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the current folder, whose code nobody named

from evalkit_cli.main import main

main()
