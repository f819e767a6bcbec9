"""Runs the command line as `python -m evalkit`, where it is installed."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points


def main() -> None:
    """Run the command line, which is a distribution of its own."""
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, whose code nobody named
    scripts = entry_points(group="console_scripts", name="evalkit")
    if not scripts:
        sys.exit("evalkit: no installed distribution has the command `evalkit`")
    next(iter(scripts)).load()()


if __name__ == "__main__":
    main()
