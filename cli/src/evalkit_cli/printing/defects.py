"""Shows an exception that nothing else has turned into an error message."""

from __future__ import annotations

import os
import platform
import traceback
from importlib.metadata import PackageNotFoundError, version

from evalkit_cli.printing.streams import echo, echo_lines

DEFECT = 70
"""Exit code of a defect (`EX_SOFTWARE` of BSD's sysexits)."""

TRACEBACK_VARIABLE = "EVALKIT_TRACEBACK"
"""Set to anything but nothing, it has the traceback printed, too."""


def show_defect(error: BaseException) -> None:
    """Print one line about a defect, and how to report it, on standard error.

    Args:
        error: What was raised.
    """
    show_traceback(error)
    text = _text_of(error)
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    echo(f"evalkit: defect: {what}", err=True)
    echo(
        f"This should not happen. Please report it with evalkit-core {_core()}, Python "
        f"{platform.python_version()}, the command line and the traceback, which "
        f"{TRACEBACK_VARIABLE}=1 prints.",
        err=True,
    )


def show_traceback(error: BaseException) -> None:
    """Print the traceback of an exception, where `EVALKIT_TRACEBACK` asks for it."""
    if os.environ.get(TRACEBACK_VARIABLE):
        trace = "".join(traceback.format_exception(error))
        echo_lines(trace, err=True, whole=True)


def _text_of(error: BaseException) -> str:
    try:
        lines = str(error).splitlines()
    except Exception as another:  # a plugin's exception may raise anything
        return f"its text cannot be shown: {type(another).__name__}"
    return lines[0] if lines else ""


def _core() -> str:
    try:
        return version("evalkit-core")
    except PackageNotFoundError:
        return "of an unknown version"
