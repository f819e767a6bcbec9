"""Says what counts as a failure of a plugin's hook, and what it raised."""

from __future__ import annotations

import sys
from pathlib import PurePath
from traceback import walk_tb

_BETWEEN = frozenset(
    {"evalkit", "click", "pluggy", "importlib", "pydantic", "polars"}
    | {"_frozen_importlib", "_frozen_importlib_external", "contextlib", "runpy"}
)
"""Packages whose code stands between evalkit and what a plugin's author wrote."""

_MOST_CHARACTERS = 10_000
"""How much is shown of the text of an exception, which may hold whole data."""


def hook_failures() -> tuple[type[BaseException], ...]:
    """Return what an `except` clause takes for a hook's own failure.

    Python evaluates the clause when something was raised: everything is a failure, also
    an exception that is no `Exception`, but an interrupt by the user is none.

    Returns:
        Classes of exceptions; none while a `KeyboardInterrupt` is raised.
    """
    return () if isinstance(sys.exception(), KeyboardInterrupt) else (BaseException,)


def text_of(error: BaseException) -> str:
    """Return the text of an exception in one printable line, even if `str` fails."""
    try:
        text = str(error)
    except hook_failures() as another:
        return f"<its text cannot be shown: {type(another).__name__}>"
    if len(text) > _MOST_CHARACTERS:
        text = f"{text[:_MOST_CHARACTERS]}…"
    lines = filter(None, (line.strip() for line in text.splitlines()))
    return "".join(
        character if character.isprintable() else repr(character)[1:-1]
        for character in " ".join(lines)
    )


def described(error: BaseException) -> str:
    """Return the type of an exception, and its text where it has one, in one line."""
    text = text_of(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


_HANDS_ON = "_hands_on_calls"
"""Global of a module or package that calls plugins; its own lines tell nothing."""


def located(error: BaseException) -> str:
    """Return what was raised, and the file and line of the plugin where it was.

    Args:
        error: What a plugin raised.

    Returns:
        Type and text, as in `described`, and the last line of the traceback that is of
        the plugin, such as `(my_metric.py:12)`, where there is one.
    """
    place = ""
    package: str | None = None
    for frame, line in walk_tb(error.__traceback__):
        name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if _HANDS_ON in frame.f_globals or hasattr(sys.modules.get(name), _HANDS_ON):
            continue
        if package is None and name not in _BETWEEN:
            package = name
        if name == package:
            file = PurePath(frame.f_code.co_filename)
            is_package = file.name == "__init__.py"
            shown = f"{file.parent.name}/{file.name}" if is_package else file.name
            place = f" ({shown}:{line})"
    return described(error) + place + _advice(error)


def _advice(error: BaseException) -> str:
    """Say what an author does about what fails often."""
    if isinstance(error, SystemExit):
        return "; raise an error, as a plugin must not end the process"
    if isinstance(error, FileNotFoundError) and isinstance(error.filename, str):
        if PurePath(error.filename).is_absolute():
            return ""
        return (
            "; if it is a file of the plugin's package, "
            "importlib.resources.files(__package__) finds it wherever evalkit runs"
        )
    if isinstance(error, ModuleNotFoundError):
        return "; install what has it, and name that in the plugin's dependencies"
    if isinstance(error, ImportError | SyntaxError) or text_of(error):
        return ""
    return "; give the error a message that says what is wrong"


def log_failure(error: BaseException) -> None:
    """Log a failure of a plugin that ends nothing, with the plugin's own traceback."""
    import logging

    trace = error.__cause__ or error
    logging.getLogger("evalkit").debug("%s", text_of(error), exc_info=trace)
