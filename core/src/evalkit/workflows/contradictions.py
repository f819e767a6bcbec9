"""Says where the files of a run contradict each other: what a run holds twice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.base.columns import all_named
from evalkit.base.names import metric_of, score_name
from evalkit.errors import EvalkitError
from evalkit.runs.folders import (
    EXAMPLES_FILE,
    RUN_FILE,
    SCORES_FILE,
    STATISTICS_FOLDER,
    read_table,
    statistics_file,
)
from evalkit.runs.record import RunRecord
from evalkit.runs.results import Result
from evalkit.runs.stored import examples_of
from evalkit.runs.tables import saved_statistics, with_example_scores
from evalkit.scoring.baselines import compute_baselines
from evalkit.scoring.measurement import Measured
from evalkit.scoring.records import MetricScores
from evalkit.workflows.compared_scores import ABSOLUTE, RELATIVE

if TYPE_CHECKING:
    import polars as pl


def find_contradictions(
    result: Result, measured: Measured, scored: Sequence[MetricScores]
) -> Iterator[str]:
    """Say which parts of a run are not what its other parts give.

    Args:
        result: A run that holds its examples.
        measured: What its metrics score.
        scored: What they computed again.

    Yields:
        A sentence for each part that starts with its file.
    """
    record = result.record
    yield from _other_names(record)
    if result.path is not None:
        yield from _other_scores(result, result.path)
    yield from _other_statistics(result, scored)
    yield from _other_example_scores(result, scored)
    yield from _other_baselines(result, measured, scored)


_ONLY_SAID = (
    *("against", "answer_kind", "bounds", "cluster", "counts.predictions"),
    *("delta_metrics", "fingerprint", "includes_examples", "kept", "merged", "min_n"),
    *("parent", "policies", "selection", "split"),
    *("errors", "headline_aggregate", "input_keys", "interval_rules", "notices"),
    *("not_scored", "perturbation", "replications", "timings", "unparsed"),
    *("warnings", "data (but for hashes and version)"),
    "columns (what was recorded beside the values)",
)
"""Keys of a record that nothing else in a run tells."""


def unlooked_at(record: RunRecord) -> Iterator[str]:
    """Say what was not looked at of a run: what one of an older version cannot tell."""
    yield f"what {RUN_FILE} says and no other part tells: {', '.join(_ONLY_SAID)}"
    yield "texts beside the numbers, such as reasons; values in problems.jsonl"


def _other_names(record: RunRecord) -> Iterator[str]:
    """Say which names and which status the record holds are not those of its parts."""
    for key, kind in (("dataset", "datasets"), ("task", "tasks")):
        names = [
            name
            for each in record.components
            if each.kind == kind
            for name in (each.name, score_name(each.name, each.parameters))
        ]
        if getattr(record, key) not in names:
            yield f"{RUN_FILE}: {key} is not the one of its components"
    names = record.metric_names
    if record.headline is not None and metric_of(record.headline, names) != names[0]:
        yield f"{RUN_FILE}: headline is not a score of the first metric"
    if record.status == "complete" and not record.merged:
        partly = {
            "errors": record.errors,
            "not_scored": record.not_scored,
            "selection": not record.selection.is_whole,
        }
        for key in (key for key, is_partial in partly.items() if is_partial):
            yield f"{RUN_FILE}: status is complete, against {key}"


def _other_scores(result: Result, path: Path) -> Iterator[str]:
    expected = result.record.files.get(SCORES_FILE)
    stored = read_table(path / SCORES_FILE, (), expected)
    if stored is None or not _are_same(stored, result.frame):
        yield f"{SCORES_FILE}: its rows are not the scores of {RUN_FILE}"


def _other_statistics(result: Result, scored: Sequence[MetricScores]) -> Iterator[str]:
    computed = saved_statistics(scored, result.record.includes_examples)
    for found in scored:
        name = found.name
        mine, now = result.statistics.get(name), computed.get(name)
        if mine is not None and now is not None:
            is_same = _are_same(mine, now)
        else:
            is_same = mine is now
        if not is_same:
            file = f"{STATISTICS_FOLDER}/{statistics_file(name)}"
            yield f"{file}: is not what {name} computes from {EXAMPLES_FILE}"


def _other_example_scores(
    result: Result, scored: Sequence[MetricScores]
) -> Iterator[str]:
    examples = examples_of(result)
    columns = {
        found.name: _column_of(found.name, examples)
        for found in scored
        if found.per_example is not None
    }
    others = [name for name in examples.columns if name not in columns.values()]
    computed = with_example_scores(examples.select(all_named(others)), scored)
    for metric, name in columns.items():
        one = all_named([name])
        if name not in examples.columns or not _are_same(
            examples.select(one), computed.select(one)
        ):
            yield (
                f"{EXAMPLES_FILE}: its column {name!r} is not what {metric} computes "
                "from the answers and predictions beside it"
            )


def _column_of(metric: str, examples: pl.DataFrame) -> str:
    """Return the column of a metric, which may be called like another column."""
    name = f"metrics/{metric}"
    return name if name in examples.columns else metric


def _other_baselines(
    result: Result, measured: Measured, scored: Sequence[MetricScores]
) -> Iterator[str]:
    record = result.record
    metric = scored[0].metric if scored else None
    if metric is None or metric.name != record.metric_names[0]:
        return
    try:
        found = compute_baselines(metric, measured.table)
    except EvalkitError:
        return  # the metric's own failure shows in its scores
    now = None if found is None else found._asdict()
    stored = None if record.baselines is None else record.baselines.to_dict()
    if (
        now
        and stored
        and stored["chance"] is None
        and not measured.table.context.labels
    ):
        now["chance"] = None  # earlier versions drew from declared labels only
    if not _are_close(stored, now):
        yield f"{RUN_FILE}: its baselines are not those of the answers"


def _are_close(first: Any, second: Any) -> bool:
    """Tell whether numbers are the same, or everything else is equal."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(
            _are_close(value, second[key]) for key, value in first.items()
        )
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(first == second)


def _are_same(first: pl.DataFrame, second: pl.DataFrame) -> bool:
    from polars.testing import assert_frame_equal

    try:
        assert_frame_equal(first, second, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    except AssertionError:
        return False
    return True
