"""What may be shown of a dataset that is not open, and of its runs.

*Labels private*: the inputs are public. *Inputs private*: nothing of the examples is.
Both hide what tells labels: files of tallies, labels, ids of missing rows, tags of few
examples, exact scores and intervals, and counts of pairs. Administrators see all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalkit.runs import Problem

SMALLEST_TAG = 20
"""Number of examples from which a tag of a private dataset has a score."""

_DIGITS = 2
"""Significant digits, and decimals, of scores of a private dataset."""

_OF_ROWS = ("unreadable", "unknown", "duplicate", "invalid")
"""What is wrong with a row of predictions, whatever its label is."""


def without_paths(text: str) -> str:
    """Return a text with the names of files in the place of their absolute paths."""
    return re.sub(r"(?<![\w:/.])/(?:[^\s/:'\"]+/)+", "", text)


def is_withheld(access: str, is_administrator: bool) -> bool:
    """Tell whether labels, files of runs and exact scores are hidden."""
    return access != "open" and not is_administrator


def shows_inputs(access: str, is_administrator: bool) -> bool:
    """Tell whether model inputs are shown."""
    return access != "inputs-private" or is_administrator


def round_score(value: float | None) -> float | None:
    """Round a score, or a bound of its interval, to two digits and two decimals.

    More decimals of a small score would count the examples that are right.
    """
    if value is None or not math.isfinite(value) or value == 0:
        return value
    digits = _DIGITS - 1 - math.floor(math.log10(abs(value)))
    return round(value, min(_DIGITS, digits))


def withhold_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems with rows as they are shown of a private dataset.

    Missing rows and what metrics did not score are left out. Rules of whole responses
    are, too, as they may quote the example.
    """

    def shown(problem: Problem) -> Problem:
        kept = (each for each in problem.violations if not each.field.startswith("("))
        return problem._replace(violations=(*kept,), reason=None)

    return [shown(problem) for problem in problems if problem.status in _OF_ROWS]
