"""Warns where most responses could not be read, as their scores say nothing then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalkit_cli.printing.streams import echo

if TYPE_CHECKING:
    from evalkit import Result

MOST = 0.5
"""Share of the scored responses without an answer from which on a user is warned."""

_SHOWN = 160
"""Characters of the response that is shown."""


def warn_of_unread(results: Sequence[Result]) -> None:
    """Say on stderr, before any score, of which runs most responses were not read."""
    for result in results:
        counts = result.record.counts
        if result.status != "refused" and counts.unparsed > MOST * counts.scored:
            for line in _lines(result):
                echo(f"evalkit: warning: {line}", err=True)


def _lines(result: Result) -> list[str]:
    record, found = result.record, result.record.extraction
    by = "" if found is None else f" by {found.text}"
    if found is not None and found.chosen_by != "user":
        by += f" (as the {found.chosen_by} says)"
    reasons = sorted(record.unparsed.items(), key=lambda each: -each[1])
    why = f": {reasons[0][0]}" if reasons else ""
    first = (
        f"{result.model} on {result.dataset}: no answer was found in "
        f"{record.counts.unparsed:,} of {record.counts.scored:,} responses{by}{why}; "
        "they count as wrong, so that the scores say little of the model"
    )
    return [first, *_example(result), _advice(result)]


def _example(result: Result) -> list[str]:
    """Show one such response, where the run has it."""
    if not result.record.includes_examples:
        return []
    from evalkit.errors import EvalkitError
    from evalkit.runs import find_unparsed

    try:
        rows = find_unparsed(result).rows.drop_nulls("response")
    except EvalkitError:  # the run holds no responses
        return []
    if rows.is_empty():
        return []
    row = rows.row(0, named=True)
    said = repr(row["response"])
    shown = said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
    return [f"such as that to {row['id']!r}: {shown}"]


def _advice(result: Result) -> str:
    """Say what to do."""
    run = result.run_id[:8]
    return (
        f"look at them with evalkit show {run} --unparsed, and try other extractors "
        f"on them: evalkit eval … -p {run} --extract …"
    )
