"""Shows an exception that nothing else has turned into an error message."""

from __future__ import annotations

import os
import platform
import sys
import traceback
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

from evalkit_cli.printing.streams import echo, echo_lines

DEFECT = 70
"""Exit code of a defect (`EX_SOFTWARE` of BSD's sysexits)."""

TRACEBACK_VARIABLE = "EVALKIT_TRACEBACK"
"""Set to anything but nothing, it has the traceback printed, too."""

_OF_FILES = "evalkit_file_"
"""What the modules of plugins begin with that are files of no package."""

_OUR_OWN = ("evalkit-core", "evalkit-cli")
_MOST_PLUGINS = 6


def show_defect(error: BaseException) -> None:
    """Print one line about a defect, and how to report it, on standard error."""
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
    plugins = _loaded_plugins()
    if plugins:
        more = len(plugins) - _MOST_PLUGINS
        named = ", ".join(plugins[:_MOST_PLUGINS]) + (f" and {more} more" * (more > 0))
        echo(
            "It is no defect of evalkit where a plugin has changed evalkit's own "
            f"objects. Loaded are {named}.",
            err=True,
        )


def _loaded_plugins() -> list[str]:
    """Name the plugins that this process has loaded, those in files first."""
    loaded = [*sys.modules.items()]
    found = [
        Path(str(module.__file__)).name
        for name, module in loaded
        if name.startswith(_OF_FILES)
    ]
    roots = {name for name, _ in loaded}
    for each in distributions():
        with suppress(Exception):  # metadata may be broken, which is no defect
            modules = {
                point.value.partition(":")[0].strip()
                for point in each.entry_points
                if point.group.startswith("evalkit.")
            }
            if modules & roots and each.name not in _OUR_OWN:
                found.append(f"{each.name} {each.version}")
    return [*dict.fromkeys(found)]


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
