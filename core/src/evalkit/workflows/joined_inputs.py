"""Looks up in a file of data what a model was sent: `show RUN --wrong --data FILE`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.adapting.pipelines import pipeline
from evalkit.base.columns import named
from evalkit.base.wording import count_of
from evalkit.examples.files import bind_file, local_path
from evalkit.examples.table import load_examples
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.plugins.sources import sha256_of
from evalkit.runs.record import RunRecord
from evalkit.runs.recorded import Adapter
from evalkit.runs.results import Result


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


def join_inputs(
    result: Result,
    file: str | Path,
    ids: Collection[str],
    *,
    registry: Registry | None = None,
) -> JoinedInputs:
    """Read the texts of some examples from a file, which a run folder does not hold.

    Rows go through the adapters that the run recorded for this file: those of its
    copies where it is a file of them, else those of its data.

    Args:
        result: The run.
        file: Its data, or perturbed copies of it.
        ids: Ids of examples or copies.
        registry: Where the task is found; all that are installed by default.

    Returns:
        The texts.

    Raises:
        DataError: The file cannot be read.
        PluginError: The run's task is not installed.
        SchemaError: Rows break the task's `Input`.
    """
    path = local_path(file)
    resolver = Resolver(registry or Registry())
    record = result.record
    used = next(each for each in record.components if each.kind == "tasks")
    dataset = bind_file(path, used.reference)
    # what is not there, loading names
    sha256 = sha256_of(path) if path.is_file() else None
    adapters = _adapters_of(record, sha256)
    if adapters:
        stages = [each.stage for each in adapters]
        dataset = replace(dataset, pipeline=pipeline(stages, resolver.registry))
    task = resolver.task(dataset)
    found = load_examples(dataset, task, dataset.default_split)
    chosen = found.inputs.with_row_index("position").filter(
        named("uid").is_in(list(ids))
    )
    keys = tuple(
        key
        for key in task.sent_keys
        if key in found.inputs.columns or key in found.nested
    )
    by_id = {}
    for row in chosen.iter_rows(named=True):
        whole = row | {
            name: values[row["position"]] for name, values in found.nested.items()
        }
        by_id[row["uid"]] = {key: whole[key] for key in keys}
    warned = (record.data.content_warning, task.content_warning)
    return JoinedInputs(
        by_id,
        keys,
        any(warning is not None for warning in warned),
        tuple(_notices(result, path, sha256, len(set(ids) - set(by_id)))),
    )


def _adapters_of(record: RunRecord, sha256: str | None) -> Sequence[Adapter]:
    """Return the adapters that the rows of a file went through in a run."""
    for copies in record.perturbed:
        if copies.sha256 == sha256:
            return copies.adapters
    return record.data.adapters


def _notices(result: Result, path: Path, sha256: str | None, lacking: int) -> list[str]:
    notices = []
    own = {each.sha256: each.name for each in result.record.data.files}
    own |= {each.sha256: str(each.file) for each in result.record.perturbed}
    if sha256 is None:
        notices.append(f"{path} is a folder, and was not compared with the run's files")
    elif sha256 not in own:
        names = ", ".join(dict.fromkeys(own.values())) or "rows that came from no file"
        notices.append(
            f"{path} is not a file that the run was made from ({names}): its SHA-256 "
            f"is {sha256[:12]}…, and the texts may be others"
        )
    if lacking:
        notices.append(f"{path} has no row for {count_of(lacking, 'id')} shown")
    return notices
