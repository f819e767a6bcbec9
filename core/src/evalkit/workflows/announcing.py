"""Tells observers what came of an evaluation, and writes its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit.plugins.observers import Observers
from evalkit.runs.results import Result
from evalkit.runs.score_columns import Score


def announce(
    result: Result,
    scores: Sequence[Score],
    refused: Sequence[str],
    watchers: Observers,
) -> None:
    """Tell the observers what came of it.

    Args:
        result: The result.
        scores: Those of its scores that are new.
        refused: Why it was refused; empty if it was not.
        watchers: The observers.
    """
    if not watchers:
        return
    record = result.to_dict()
    facts = {"dataset": result.dataset, "model": result.model}
    if refused:
        watchers.tell("after_refusal", reasons=refused, record=record, **facts)
    else:
        rows = [score._asdict() for score in scores]
        overall = [row for row in rows if _is_overall(row)]
        groups = [row for row in rows if not _is_overall(row)]
        told = {"scores": rows, "overall": overall, "groups": groups}
        watchers.tell("after_scoring", **told, **facts)
    watchers.tell("after_result", record=record)
    result.record_warnings(watchers.warnings)


def _is_overall(row: Mapping[str, Any]) -> bool:
    """Tell whether a score is of the whole set, and not of tags."""
    return row["tag"] is None and row["aggregate"] is None


def write(result: Result, out: str | Path, watchers: Observers) -> None:
    """Write the run, and tell the observers."""
    record = result.to_dict() if watchers else {}
    watchers.tell("before_writing", run_id=result.run_id, record=record)
    result.record_warnings(watchers.warnings)
    result.save(out)
    if watchers:
        record = result.to_dict()
    path = str(result.path)
    watchers.tell("after_writing", run_id=result.run_id, path=path, record=record)
    result.record_warnings(watchers.warnings)
