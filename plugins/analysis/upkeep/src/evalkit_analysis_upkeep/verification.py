"""Scores a run again and compares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit import Registry, Result
from evalkit.base.progress import Progress
from evalkit.catalog import (
    WITHOUT_PLUGIN,
    Bound,
    BoundDataset,
    BoundMetric,
    Resolver,
    metric_of,
)
from evalkit.errors import EvalkitError, StorageError
from evalkit.plugins.components import GIVEN
from evalkit.plugins.provenance import environment
from evalkit.predictions.preparation import identify
from evalkit.reading.given_rows import rows_of
from evalkit.runs import RunRecord, as_result, bound_component, find_damage, recorded
from evalkit.runs.recording import recorded_component, recorded_core
from evalkit.runs.scores import to_scores
from evalkit.runs.stored import examples_of
from evalkit.runs.tables import load_data, load_metrics, settings_of, unscored_answers
from evalkit.scoring.measurement import measure
from evalkit_analysis_upkeep.comparison import Difference, find_differences

if TYPE_CHECKING:
    import polars as pl

NOT_GIVEN = "not compared: no file of them was given"


class Change(NamedTuple):
    """Something that computes the scores and is not what it was."""

    what: str
    then: str | None
    now: str | None


class Verification(NamedTuple):
    """The outcome of scoring a run again."""

    run_id: str
    model: str | None
    scores: int
    """Number of scores that were compared."""
    differences: tuple[Difference, ...]
    unverified: Mapping[str, str]
    """By name of a metric, why it could not be computed again."""
    changes: tuple[Change, ...]
    """Versions and files of plugins, core and the environment that differ."""
    data: str
    """`same`, `changed`, or why it could not be read."""
    predictions: str
    """`same`, `changed`, or why they were not compared."""
    unchecked: tuple[str, ...]
    """What was taken from the run, and why."""

    @property
    def agrees(self) -> bool:
        """Whether some scores could be computed and all of them are the same.

        False if a file of predictions was given that is not that of the run.
        """
        is_other = self.predictions == "changed"
        return not self.differences and self.scores > 0 and not is_other

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            **self._asdict(),
            "agrees": self.agrees,
            "differences": [difference._asdict() for difference in self.differences],
            "unverified": dict(self.unverified),
            "changes": [change._asdict() for change in self.changes],
        }


def verify(
    run: Result | str | Path,
    *,
    folder: str | Path = "runs",
    jobs: int = 1,
    predictions: Any = None,
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
) -> Verification:
    """Check the files of a run, score it again from its folder, and compare.

    Numbers are the same if they are within 1e-9 of each other, relative to their size.

    Args:
        run: A result, the path of a run folder, the start of its id, its model, or
            `latest`.
        folder: Folder that the run is looked for in.
        jobs: Number of processes for metrics written in Python.
        predictions: The predictions that the run is said to be of, as for `evaluate`;
            their SHA-256 is compared.
        registry: Where plugins are found. Default: all that are installed.
        progress: Progress callback.

    Returns:
        What is the same and what is not.

    Raises:
        DataError: The predictions cannot be read.
        StorageError: The run cannot be read, was refused, or holds no answers and
            predictions; or a file of it is not what was written.
    """
    result = as_result(run, folder)
    record = result.record
    if result.path is not None and (damage := find_damage(result.path)):
        raise StorageError("; ".join(damage))
    resolver = Resolver(registry or Registry())
    measured, metrics, errors = load_metrics(result, record.metrics, resolver)
    unverified = {name: str(error) for name, error in errors.items()}
    loaded, unloaded = _load_components(record, resolver)
    kept = _kept_statistics(result, metrics)
    left = unscored_answers(examples_of(result), result.problems)
    settings = settings_of(record, jobs)
    scored = measure(metrics, measured, settings, progress, kept, left)
    computed = to_scores(scored, measured.groups, record.split)
    if record.perturbation is not None:
        name = record.perturbation.name
        computed = [score._replace(perturbation=name) for score in computed]
    stored = []
    ready = [metric.name for metric in metrics]
    for score in result.scores:
        of_metric = metric_of(score.metric, [*record.metric_names, *ready])
        if of_metric in ready:
            stored.append(score)
        elif of_metric is None:
            unverified.setdefault(score.metric, "no metric of the run computed it")
    return Verification(
        result.run_id,
        result.model,
        len(stored),
        tuple(find_differences(stored, computed)),
        unverified,
        tuple(_changes(record, loaded)),
        _compare_data(result, resolver),
        _compare_predictions(record, predictions),
        (*_unchecked(record, metrics, kept), *unloaded),
    )


def _load_components(
    record: RunRecord, resolver: Resolver
) -> tuple[list[tuple[recorded.Component, Bound]], list[str]]:
    """Return the plugins of a run, and why others than metrics cannot be loaded."""
    loaded: list[tuple[recorded.Component, Bound]] = []
    unloaded = []
    for component in record.components:
        is_of_dataset = component.kind == "tasks" and component.distribution == GIVEN
        if (is_of_dataset and loaded) or component.distribution in WITHOUT_PLUGIN:
            continue
        try:
            loaded.append((component, bound_component(component, resolver)))
        except EvalkitError as error:
            if component.kind != "metrics":  # `unverified` names those
                unloaded.append(f"{component.id}: {error}")
    return loaded, unloaded


def _kept_statistics(
    result: Result, metrics: Sequence[BoundMetric]
) -> dict[str, pl.DataFrame]:
    """Return the statistics of metrics that are not called again."""
    names = [
        part.name
        for metric in metrics
        if metric.is_costly or not metric.deterministic
        for part in metric.parts()
    ]
    return {
        name: result.statistics[name] for name in names if name in result.statistics
    }


def _unchecked(
    record: RunRecord, metrics: Sequence[BoundMetric], kept: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what was taken from the run."""
    for metric in metrics:
        if any(part.name in kept for part in metric.parts()):
            why = "is costly" if metric.deterministic else "is not deterministic"
            what = f"scores of {metric.name} by example"
            yield f"{what}: it {why}, so they were taken from the run"
    for each in record.columns:
        yield f"columns of {each.name}: taken from the run"


def _changes(
    record: RunRecord, loaded: Iterable[tuple[recorded.Component, Bound]]
) -> Iterator[Change]:
    """Yield what is not what it was, of plugins, core and the environment."""
    for before, bound in loaded:
        yield from _changes_of(bound, before, record)
    core, now = record.core, recorded_core()
    if core is not None:
        if core.version != now.version:
            yield Change("evalkit-core version", core.version, now.version)
        elif core.source_sha256 != now.source_sha256:
            yield Change("evalkit-core source", "other files", "those of today")
    then, today = record.environment or {}, environment()
    for name in sorted({*then, *today} - {"evalkit-core"}):
        if then.get(name) != today.get(name):
            yield Change(name, then.get(name), today.get(name))


def _changes_of(
    bound: Bound, before: recorded.Component, record: RunRecord
) -> Iterator[Change]:
    now = recorded_component(bound)
    name = bound.name if isinstance(bound, BoundMetric) else before.id
    if before.version != now.version:
        yield Change(f"{name} version", before.version, now.version)
    elif before.source_sha256 != now.source_sha256:
        yield Change(f"{name} source", before.source_sha256, now.source_sha256)
    then, today = before.resources or {}, now.resources or {}
    for key in sorted({*then, *today}):
        if then.get(key) != today.get(key):
            yield Change(f"{key}, which {name} uses", then.get(key), today.get(key))
    if isinstance(bound, BoundDataset):
        version = record.data.version
        if version is not None and version != bound.version:
            said = bound.changes.get(bound.version)
            text = f"{bound.version}: {said}" if said else bound.version
            yield Change(f"{name} data", version, text)


def _compare_data(result: Result, resolver: Resolver) -> str:
    """Return whether the dataset is what the run was made from."""
    if len(set(result.record.merged)) > 1:
        return "not read: the run was merged from several"
    try:
        examples = load_data(result, resolver, {"uid"})
    except EvalkitError as error:
        return f"not read: {error}"
    is_same = result.record.data.identity.key == examples.identity.key
    return "same" if is_same else "changed"


def _compare_predictions(record: RunRecord, predictions: Any) -> str:
    """Return whether predictions are those that the run was made from."""
    if predictions is None:
        return NOT_GIVEN
    if record.predictions.sha256 is None:
        return "not compared: the run recorded no hash of its predictions"
    is_adapted = bool(record.predictions.adapters)
    rows = rows_of(predictions, may_be_folder=is_adapted)
    sha256 = identify(rows, may_be_folder=is_adapted)["sha256"]
    return "same" if sha256 == record.predictions.sha256 else "changed"
