"""Computes the numbers of a run again, and says whether they still are the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.base.names import metric_of
from evalkit.base.progress import Progress
from evalkit.errors import EvalkitError, PluginError, StorageError
from evalkit.inference.intervals import INTERVAL_RULES
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.runs import recorded
from evalkit.runs.column_tables import values_hash
from evalkit.runs.data_columns import load_data, with_inputs
from evalkit.runs.finding import as_result
from evalkit.runs.folders import find_damage
from evalkit.runs.record import RunRecord
from evalkit.runs.recording import recorded_component
from evalkit.runs.results import Result
from evalkit.runs.score_columns import BY_RULES, COMPUTED, Score
from evalkit.runs.scores import to_scores
from evalkit.runs.stored import bound_component, examples_of
from evalkit.runs.tables import measured_run, settings_of
from evalkit.runs.unscored import unscored_answers
from evalkit.scoring.measurement import measure
from evalkit.scoring.records import MetricScores
from evalkit.workflows.changed_code import CodeChange, compare_code
from evalkit.workflows.compared_scores import COUNTS, Difference, differences
from evalkit.workflows.contradictions import find_contradictions, unlooked_at
from evalkit.workflows.recounts import NOT_GIVEN, compare_predictions, other_counts

if TYPE_CHECKING:
    import polars as pl


class Verification(NamedTuple):
    """What came of computing a run again."""

    run_id: str
    scores: int
    """How many scores were compared."""
    differences: tuple[Difference, ...]
    unverified: Mapping[str, str]
    """Why metrics could not be computed again, by name."""
    changes: tuple[CodeChange, ...]
    """Versions and sources that differ."""
    data: str
    """`same`, `changed`, or why it could not be read."""
    interval_rules: int = INTERVAL_RULES
    """Edition of the rules that the run's intervals follow."""

    compared: tuple[str, ...] = ()
    """What `changes` was looked for in."""
    unchecked: tuple[str, ...] = ()
    """What computes the numbers and was not looked at, and why."""
    model: str | None = None
    """Name of the run's model."""
    predictions: str = NOT_GIVEN
    """`same`, `changed`, or why they were not compared."""
    contradictions: tuple[str, ...] = ()
    """Where parts of the run are not what its other parts give, the file first."""

    @property
    def compares_intervals(self) -> bool:
        """Whether intervals were compared: those that follow the rules of today."""
        return self.interval_rules == INTERVAL_RULES

    @property
    def agrees(self) -> bool:
        """Whether all numbers that could be computed are the same, and some could.

        Not where parts of the run contradict each other, or a file of predictions was
        given that is not that of the run.
        """
        is_other = self.predictions == "changed" or self.contradictions
        return not self.differences and self.scores > 0 and not is_other

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            **self._asdict(),
            "agrees": self.agrees,
            "compares_intervals": self.compares_intervals,
            "differences": [found._asdict() for found in self.differences],
            "unverified": dict(self.unverified),
            "changes": [found._asdict() for found in self.changes],
            "contradictions": [*self.contradictions],
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
    """Compute all metrics of a run again, from what its folder holds.

    Numbers agree where they are within 1e-9 of each other, relative to their size.
    Where the run was made by another edition of the rules of intervals, its values are
    compared, and its intervals, standard errors and tests are not.

    Args:
        run: A result, the path of a run folder, the start of its id, its model, or
            `latest`.
        folder: Folder that the run is looked for in.
        jobs: Processes that metrics written in Python may use.
        predictions: The predictions that the run is said to be of, as for `evaluate`;
            their SHA-256 is compared.
        registry: Where plugins are found; all that are installed by default.
        progress: Told what is being done.

    Returns:
        What agrees and what does not.

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
    measured = measured_run(result)
    metrics, unverified = _load_metrics(record, resolver)
    code = compare_code(record, metrics, resolver)
    ready = []
    for metric, _ in metrics:
        try:
            measured = with_inputs(measured, result, [metric], resolver)
            ready.append(metric)
        except EvalkitError as error:
            unverified[metric.name] = str(error)
    kept = _kept_statistics(result, ready)
    scored = measure(
        ready,
        measured,
        settings_of(record, jobs),
        progress,
        kept,
        unscored_answers(examples_of(result), result.problems),
    )
    contradictions = find_contradictions(
        result, measured, _of_same_code(scored, metrics)
    )
    computed = to_scores(scored, measured.groups, record.split)
    if record.perturbation is not None:
        name = record.perturbation.name
        computed = [score._replace(perturbation=name) for score in computed]
    stored = _verifiable(result, [metric.name for metric in ready], unverified)
    return Verification(
        result.run_id,
        len(stored),
        (
            *differences(stored, computed, _compared(result)),
            *(Difference(COUNTS, None, None, *found) for found in other_counts(result)),
        ),
        unverified,
        (*code.changes, *_changed_columns(result)),
        _check_data(result, resolver),
        result.interval_rules,
        tuple(code.compared),
        (
            *_unchecked_calls(ready, kept),
            *_uncomputed_columns(record),
            *unlooked_at(record),
            *code.unchecked,
        ),
        result.model,
        compare_predictions(record, predictions),
        tuple(contradictions),
    )


def _of_same_code(
    scored: Sequence[MetricScores],
    metrics: Sequence[tuple[BoundMetric, recorded.Component]],
) -> list[MetricScores]:
    """Return what metrics computed that are the code that the run was made with."""
    same = {
        metric.name
        for metric, before in metrics
        if recorded_component(metric).source_sha256 == before.source_sha256
    }
    return [each for each in scored if each.metric.name in same and not each.error]


def _kept_statistics(
    result: Result, metrics: Sequence[BoundMetric]
) -> dict[str, pl.DataFrame]:
    """Return what the run keeps of examples, of metrics that are not called again."""
    names = [
        part.name
        for metric in metrics
        if metric.is_costly or not metric.deterministic
        for part in metric.parts()
    ]
    return {
        name: result.statistics[name] for name in names if name in result.statistics
    }


def _unchecked_calls(
    metrics: Sequence[BoundMetric], kept: Mapping[str, pl.DataFrame]
) -> Iterator[str]:
    """Say which metrics were not called again."""
    for metric in metrics:
        if any(part.name in kept for part in metric.parts()):
            why = "is costly" if metric.deterministic else "is not deterministic"
            yield (
                f"what {metric.name} makes of single examples: it {why}, and was not "
                "called again; its scores are computed from what the run keeps of them"
            )


def _changed_columns(result: Result) -> Iterator[CodeChange]:
    """Say of which computed columns the run does not hold what it recorded."""
    examples = examples_of(result)
    for each in result.record.columns:
        table = result.column_details.get(each.name)
        now = None
        if table is not None and {*each.columns} <= {*examples.columns}:
            now = values_hash((examples[name] for name in each.columns), table)
        if now != each.sha256:
            what = f"what {each.name} said, as the run holds it"
            yield CodeChange(what, each.sha256, now)


def _uncomputed_columns(record: RunRecord) -> Iterator[str]:
    """Say which columns were not computed again."""
    for each in record.columns:
        columns = ", ".join(each.columns)
        yield f"what {each.name} says ({columns}): taken from the run, not asked"


def _compared(result: Result) -> list[str]:
    """Name the fields that must be what they were."""
    if result.interval_rules == INTERVAL_RULES:
        return list(COMPUTED)
    return [field for field in COMPUTED if field not in BY_RULES]


def _verifiable(
    result: Result, ready: Sequence[str], unverified: dict[str, str]
) -> list[Score]:
    """Return the stored scores of the metrics that are computed again."""
    names = [*result.record.metric_names, *ready]
    stored = []
    for score in result.scores:
        name = metric_of(score.metric, names)
        if name in ready:
            stored.append(score)
        elif name is None:
            unverified.setdefault(score.metric, "no metric of the run computed it")
    return stored


def _load_metrics(
    record: RunRecord, resolver: Resolver
) -> tuple[list[tuple[BoundMetric, recorded.Component]], dict[str, str]]:
    """Load metrics, each with what the run recorded of it; and say why some cannot."""
    metrics, unverified = [], {}
    for name, metric in zip(record.metric_names, record.metrics, strict=True):
        try:
            bound = BoundMetric.of(bound_component(metric, resolver))
            metrics.append((bound, metric))
        except PluginError as error:
            unverified[name] = str(error)
    return metrics, unverified


def _check_data(result: Result, resolver: Resolver) -> str:
    """Say whether the data set is still what the run was made from."""
    if len(set(result.record.merged)) > 1:
        return "not read: the run was merged from several"
    try:
        examples = load_data(result, resolver, {"uid"})
    except EvalkitError as error:
        return f"not read: {error}"
    is_same = result.record.data.is_of(examples.identity)
    return "same" if is_same else "changed"
