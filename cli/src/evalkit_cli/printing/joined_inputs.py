"""Looks up in a file of data what a model was sent, which a run does not hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from evalkit import Result
    from evalkit.runs import RunRecord


class JoinedInputs(NamedTuple):
    """What a model was sent for some examples or copies of a run."""

    by_id: Mapping[str, Mapping[str, Any]]
    """The values of the task's `input_keys`; nothing for an id that the file lacks."""
    keys: tuple[str, ...]
    """Those of the keys that the file has."""
    sensitive: bool
    """Whether the run's data or its task warns of the texts."""
    notices: tuple[str, ...]
    """Whether the file is another than the run's, and how many ids it lacks."""


def join_inputs(result: Result, file: str, ids: Collection[str]) -> JoinedInputs:
    """Read the texts of some examples from a file.

    Rows go through the adapters that the run recorded for this file: those of its
    copies where it is a file of them, else those of its data.
    """
    from evalkit import Registry
    from evalkit.catalog import BoundTask, Resolver, data_path, data_sha256
    from evalkit_adapters_rows import Rows
    from evalkit_models_base import load_inputs

    path, registry = data_path(file), Registry()
    # what is not there, loading names
    sha256 = data_sha256(path) if path.exists() else ""
    record = _record_with(result, sha256)
    used = next(each for each in record.components if each.kind == "tasks")
    task = BoundTask.of(Resolver(registry).bind("tasks", used.reference))
    stages = [each.stage for each in record.data.adapters]
    rows = Rows(adapters={"data": stages}) if stages else None
    found = load_inputs(path, task=task, rows=rows, registry=registry)
    wanted = {*ids}
    by_id = {
        row["uid"]: {key: row[key] for key in found.keys}
        for row in found
        if row["uid"] in wanted
    }
    warned = (record.data.content_warning, task.content_warning)
    return JoinedInputs(
        by_id,
        found.keys,
        any(warning is not None for warning in warned),
        tuple(_notices(record, path, sha256, len(wanted - {*by_id}))),
    )


def _record_with(result: Result, sha256: str) -> RunRecord:
    """Return the record of the run whose data a file is: also of perturbed examples."""
    if any(each.sha256 == sha256 for each in result.record.data.files):
        return result.record
    from evalkit_analysis_robustness import find_effects

    records = (run.record for run in find_effects(result).runs)
    return next(
        (r for r in records if any(f.sha256 == sha256 for f in r.data.files)),
        result.record,
    )


def _notices(record: RunRecord, path: Path, sha256: str, lacking: int) -> list[str]:
    from evalkit.reporting import count_of

    notices = []
    own = {each.sha256: each.name for each in record.data.files}
    if sha256 not in own:
        names = ", ".join(dict.fromkeys(own.values())) or "rows that came from no file"
        notices.append(
            f"{path} is not a file that the run was made from ({names}): its SHA-256 "
            f"is {sha256[:12]}…, and the texts may be others"
        )
    if lacking:
        notices.append(f"{path} has no row for {count_of(lacking, 'id')} shown")
    return notices
