"""Runs the command line as `python -m evalkit`, where it is installed."""

from __future__ import annotations

import importlib
import sys


def main() -> None:
    """Run the command line, which is a distribution of its own.

    Raises:
        SystemExit: Always.
    """
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, whose code nobody named
    try:
        command_line = importlib.import_module("evalkit_cli.main")
    except ModuleNotFoundError as error:
        if error.name not in ("evalkit_cli", "evalkit_cli.main"):
            raise
        sys.exit("evalkit: the command line is not installed: pip install evalkit-cli")
    command_line.main()


if __name__ == "__main__":
    main()
