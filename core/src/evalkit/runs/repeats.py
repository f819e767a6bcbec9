"""Tells whether a result has the numbers of the run of its id that is there already."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit.errors import StorageError
from evalkit.plugins.provenance import run_id_of
from evalkit.runs import recorded
from evalkit.runs.folders import read_record
from evalkit.runs.record import RunRecord
from evalkit.runs.score_columns import COMPUTED, Score

COUNTS = "the counts of examples"
"""Stands for the counts where they differ."""

_MOST_NAMES = 5
_RELATIVE = 1e-9
_ABSOLUTE = 1e-12
_DIGITS = ".9g"

Numbers = Mapping[str, float | None]


def what_differs(folder: Path, record: RunRecord, scores: Sequence[Score]) -> list[str]:
    """Name the metrics of which a run has other numbers than a result.

    Args:
        folder: The folder of a run whose id is made of the same inputs.
        record: What the result records.
        scores: Its scores.

    Returns:
        Names of scores, and `COUNTS`; empty where all is the same within 1e-9.

    Raises:
        StorageError: It is no run; a broken one is not passed off either.
    """
    try:
        before, stored_scores = read_record(folder)
    except StorageError as error:
        raise StorageError(
            f"{error}; so this run cannot be kept in its place: move the folder away"
        ) from error
    stored, computed = _numbers(stored_scores), _numbers(scores)
    names = dict.fromkeys(
        str(key[0])
        for key in (*computed, *stored)
        if not _are_equal(stored.get(key), computed.get(key))
    )
    return [*names, *([COUNTS] if before.counts != record.counts else [])]


def record_of_repeat(
    record: RunRecord, scores: Sequence[Score], differs: Sequence[str]
) -> RunRecord:
    """Return the record of a result that differs from the run of its id.

    Args:
        record: What the result records.
        scores: Its scores.
        differs: What `what_differs` gave.

    Returns:
        The record of a run of its own. Its id is made of the other id and the numbers,
        so that a further repeat with the same numbers has the same one.
    """
    notice = _notice(record.run_id, differs)
    return record.changed(
        run_id=repeat_id(record.run_id, record.counts, scores),
        repeat_of=record.run_id,
        notices=(*record.notices, notice),
    )


def repeat_id(repeat_of: str, counts: recorded.Counts, scores: Sequence[Score]) -> str:
    """Return the id of a run that is a repeat of another one with other numbers.

    Args:
        repeat_of: Id of the other one.
        counts: The counts of the repeat.
        scores: Its scores.
    """
    rows = [
        [*key, {name: _rounded(number) for name, number in numbers.items()}]
        for key, numbers in _numbers(scores).items()
    ]
    made_of = {"repeat_of": repeat_of, "counts": counts.to_dict(), "numbers": rows}
    return run_id_of(made_of)


def _notice(run_id: str, differs: Sequence[str]) -> str:
    """Say of a repeat that it gave other numbers."""
    shown = ", ".join(differs[:_MOST_NAMES])
    more = len(differs) - _MOST_NAMES
    shown += f" and {more} more" if more > 0 else ""
    return (
        f"{shown}: not as in the run {run_id}, although all that its id is made of is "
        "the same; so this is a run of its own. A plugin depends on something else: a "
        "random number, a file, the version of a library, or the state of an object "
        "that is no parameter"
    )


def _numbers(scores: Sequence[Score]) -> dict[tuple[Any, ...], Numbers]:
    return {
        _key(score): {name: getattr(score, name) for name in COMPUTED}
        for score in scores
    }


def _key(score: Score) -> tuple[Any, ...]:
    # the worst tag may be another one: then it is the same score with other numbers
    tag = None if score.aggregate else score.tag
    return score.metric, tag, score.aggregate, score.perturbation, score.computed_on


def _are_equal(first: Numbers | None, second: Numbers | None) -> bool:
    if first is None or second is None:
        return False
    return all(_is_close(first[name], second[name]) for name in COMPUTED)


def _is_close(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return math.isclose(first, second, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)


def _rounded(number: float | None) -> str | None:
    return None if number is None else format(number, _DIGITS)
