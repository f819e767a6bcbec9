"""Finds the final answer at the end of a worked solution."""

from __future__ import annotations

import re

# the first group is greedy, so the marker is the last one
_AFTER_STORED_MARKER = re.compile(r".*####(.*)", re.DOTALL)
_AFTER_MARKER = re.compile(r".*(?:####|A:)(.*)", re.DOTALL)

_DROPPED = str.maketrans("", "", ",$")


def stored_answer(solution: str) -> str | None:
    """Return what follows the last `####` of a solution in the data.

    Args:
        solution: The worked solution.

    Returns:
        The text without commas, `$`, a final `.` and blanks around it; None where
        there is no such text.
    """
    return _normalised(_AFTER_STORED_MARKER.match(solution))


def given_answer(response: str) -> str | None:
    """Return what follows the last `A:` or `####` of a model's response.

    Args:
        response: What the model wrote.

    Returns:
        As `stored_answer`.
    """
    return _normalised(_AFTER_MARKER.match(response))


def _normalised(match: re.Match[str] | None) -> str | None:
    if match is None:
        return None
    text = match[1].translate(_DROPPED).strip().removesuffix(".").rstrip()
    return text or None
