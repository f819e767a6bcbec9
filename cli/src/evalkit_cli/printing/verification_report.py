"""Prints what came of computing a run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit_cli.printing.streams import echo
from evalkit_cli.printing.tables import NO_VALUE, Rows, draw

if TYPE_CHECKING:
    from evalkit_analysis_upkeep import Difference, Verification

_MOST_DIFFERENCES = 20

_LONGEST = 16
"""Characters of a version or hash that are shown."""


def print_verification(found: Verification, *, quiet: bool) -> None:
    """Print whether the numbers of a run are the same, and what has changed since."""
    echo(_in_a_sentence(found))
    if found.differences:
        echo()
        draw(_differences(found), "table", (0, 1, 2))
        more = len(found.differences) - _MOST_DIFFERENCES
        if more > 0:
            echo(f"{more} more; --json gives all")
        echo()
    for metric, reason in found.unverified.items():
        echo(f"{metric}: not computed again: {reason}")
    if quiet:
        return
    if not found.changes:
        echo(_no_change(found))
    for change in found.changes:
        then, now = _shortened(change.then), _shortened(change.now)
        echo(f"changed since: {change.what}: {then}, now {now}")
    echo(_data_in_words(found.data))
    echo(_predictions_in_words(found.predictions))
    for what in found.unchecked:
        echo(f"not checked: {what}")


def _in_a_sentence(found: Verification) -> str:
    run = f"{found.model!s} ({found.run_id})"
    if not found.scores:
        return f"{run}: no score could be computed again"
    scores = "1 score" if found.scores == 1 else f"{found.scores} scores"
    start = f"{run}: {scores} computed again"
    if not found.differences:
        return f"{start}, all the same within 1e-9"
    other = {(each.metric, _whose(each)) for each in found.differences}
    return f"{start}, {len(other)} of them with other numbers"


def _no_change(found: Verification) -> str:
    same = "no version and no source code that was compared has changed"
    if not found.differences:
        return same
    return f"{same}: the run folder may have been edited"


def _differences(found: Verification) -> Rows:
    rows = [["metric", "of", "field", "stored", "computed"]]
    for each in found.differences[:_MOST_DIFFERENCES]:
        pair = each.stored, each.computed
        numbers = [NO_VALUE if value is None else f"{value:.12g}" for value in pair]
        rows.append([each.metric, _whose(each), each.field, *numbers])
    return rows


def _whose(found: Difference) -> str:
    whose = found.aggregate or found.tag or "all examples"
    if found.perturbation is None:
        return whose
    return f"{whose}, {found.computed_on} under {found.perturbation}"


def _shortened(text: str | None) -> str:
    return NO_VALUE if text is None else text[:_LONGEST]


def _data_in_words(data: str) -> str:
    if data == "same":
        return "the data is what it was"
    return "the data has changed" if data == "changed" else f"the data was {data}"


def _predictions_in_words(predictions: str) -> str:
    if predictions == "same":
        return "the predictions are what they were"
    if predictions == "changed":
        return "the predictions are not those that the run was made from"
    return f"the predictions were {predictions}"
