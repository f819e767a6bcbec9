"""Tells observers what came of an evaluation, and writes its run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalkit.plugins.observers import Observers
from evalkit.runs.results import Result
from evalkit.runs.score_columns import Score


def announce(
    result: Result,
    scores: Sequence[Score],
    refused: Sequence[str],
    watchers: Observers,
) -> None:
    """Tell the observers what came of an evaluation."""
    if not watchers:
        return
    record = result.to_dict()
    facts = {"dataset": result.dataset, "model": result.model}
    if refused:
        watchers.tell("after_refusal", reasons=refused, record=record, **facts)
    else:
        told = {
            "scores": [each._asdict() for each in scores],
            "overall": [each._asdict() for each in scores if each.is_whole],
            "groups": [each._asdict() for each in scores if not each.is_whole],
        }
        watchers.tell("after_scoring", **told, **facts)
    watchers.tell("after_result", record=record)
    result.record_warnings(watchers.warnings)


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
