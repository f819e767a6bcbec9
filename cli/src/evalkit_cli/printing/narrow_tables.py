"""Leaves columns out of tables that are wider than the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_LEAST_FIRST = (
    *("if wrong to right", "detectable", "ties", "losses", "chance"),
    *("majority", "rank", "expected", "consistent", "worst", "agreement"),
    *("flips", "coverage", "left out", "as wrong", "original", "perturbed", "p"),
    *("adjusted p", "note", "tags", "share", "evaluated (UTC)", "status", "n"),
)
"""Headers of columns that are left out, the least important first. Intervals are left
out after them; what names a row and what it is about never is."""

_WITH = {"losses": "wins"}
"""What says little without the column that is left out."""

_INTERVAL = " CI"


def fit_columns(
    rows: Sequence[Sequence[str]], width: int, measure: Callable[[str], int]
) -> tuple[list[int], list[str]]:
    """Choose the columns that fit beside each other, two blanks apart."""
    widths = [max(map(measure, column)) for column in zip(*rows, strict=True)]
    kept = list(range(len(widths)))
    # one model's columns are headed `model: column` where there are several
    names = [name.rpartition(": ")[2] for name in rows[0]]
    intervals = [name for name in dict.fromkeys(names) if name.endswith(_INTERVAL)]
    for name in (*_LEAST_FIRST, *intervals):
        if sum(widths[number] + 2 for number in kept) - 2 <= width:
            break
        out = (name, _WITH.get(name))
        kept = [number for number in kept if names[number] not in out or number == 0]
    left_out = [names[n] for n in range(len(names)) if n not in kept]
    return kept, list(dict.fromkeys(left_out))
