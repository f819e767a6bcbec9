"""Says what counts as a failure of a plugin's hook, and what it raised."""

from __future__ import annotations

import sys


def hook_failures() -> tuple[type[BaseException], ...]:
    """Return what an `except` clause takes for a hook's own failure.

    Python evaluates the clause when something was raised: everything is a failure, also
    an exception that is no `Exception`, but an interrupt by the user is none.

    Returns:
        Classes of exceptions; none while a `KeyboardInterrupt` is raised.
    """
    return () if isinstance(sys.exception(), KeyboardInterrupt) else (BaseException,)


def text_of(error: BaseException) -> str:
    """Return the text of an exception in one line.

    Args:
        error: The exception, whose own `__str__` may fail.

    Returns:
        Its text; lines are joined, and characters that cannot be printed are escaped.
    """
    try:
        text = str(error)
    except hook_failures() as another:
        return f"<its text cannot be shown: {type(another).__name__}>"
    lines = filter(None, (line.strip() for line in text.splitlines()))
    return "".join(
        character if character.isprintable() else repr(character)[1:-1]
        for character in " ".join(lines)
    )


def described(error: BaseException) -> str:
    """Return the type of an exception, and its text where it has one, in one line."""
    text = text_of(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
