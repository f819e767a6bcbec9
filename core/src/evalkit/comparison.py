"""Compares runs on the same examples, each with the first of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

from evalkit.compared_scores import ComparedScore, Comparison
from evalkit.conclusions import Names, Reading, conclude, is_equivalent
from evalkit.differences import Difference, without_difference
from evalkit.errors import EvalkitError, MetricError, PluginError, StorageError
from evalkit.grouping import WHOLE
from evalkit.multiplicity import holm
from evalkit.names import metric_of
from evalkit.objects import Resolver
from evalkit.paired_lists import compare_lists
from evalkit.paired_scores import compare_scores
from evalkit.paired_statistics import compare_statistics
from evalkit.paired_tables import PairedTables
from evalkit.pairing import PairedRuns, name_run, pair_runs, score_column
from evalkit.preparation import Progress
from evalkit.registry import Bound, Registry
from evalkit.results import Result, plain_number
from evalkit.run_listing import find_run
from evalkit.stored_runs import bound_component, mixed_clusters, read_run
from evalkit.wording import count_of

_POWER = 0.8
_TWO_SIDED = 0.975
DETECTABLE_ERRORS = NormalDist().inv_cdf(_TWO_SIDED) + NormalDist().inv_cdf(_POWER)
"""Standard errors that a difference must have to be found with 80 % power at .05."""


class _Choices(NamedTuple):
    """How runs are compared."""

    confidence: float
    seed: int
    tags: bool
    common: bool
    min_n: int
    margin: float | None


def compare(
    first: Result | str | Path,
    second: Result | str | Path,
    *more: Result | str | Path,
    metrics: Sequence[Any] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    tags: bool = True,
    common: bool = False,
    min_n: int = 1,
    margin: float | None = None,
    runs: str | Path = "runs",
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
) -> Comparison:
    """Compare runs on the same examples, each with the first.

    A difference is the first's value less the other's. Means of scores of single
    examples are tested exactly (McNemar) where all are right or wrong and independent,
    else by flipping the signs of whole examples' or clusters' differences; metrics of
    the whole set, such as macro-F1, by swapping examples between the models.

    Args:
        first: A result, the path of a run, the start of its id, its model, or `latest`.
        second: Another.
        *more: Further ones.
        metrics: Metrics to compare, by name or as objects; by default all that the
            runs have in common.
        confidence: Probability of the intervals, between 0 and 1; a difference is
            concluded where the p-value is below 1 less it.
        seed: Seed of all that is drawn.
        tags: Whether tags are compared too.
        common: Whether to compare on the examples that both have, where one has others.
        min_n: Fewest examples of a tag that is compared.
        margin: Differences up to this, as stored, count as none: where the interval
            lies within it, the models are called equivalent.
        runs: Folder that ids and `latest` are looked for in.
        registry: Where metrics are found; all that are installed by default.
        progress: Told what is being done.

    Returns:
        The comparison.

    Raises:
        AlignmentError: The runs are not on the same data; says what differs.
        EvalkitError: They have no metric in common, or an argument is out of range.
        StorageError: There is no such run.
    """
    if not 0 < confidence < 1:
        raise EvalkitError(f"confidence must be between 0 and 1, is {confidence}")
    if margin is not None and not margin > 0:
        raise EvalkitError(f"margin must be greater than 0, is {margin}")
    choices = _Choices(confidence, seed, tags, common, min_n, margin)
    results = [_read(given, runs) for given in (first, second, *more)]
    resolver = Resolver(registry or Registry())
    names = _distinct_names(results)
    rows: list[ComparedScore] = []
    notices: list[str] = []
    for number, (result, name) in enumerate(zip(results[1:], names[1:], strict=True)):
        progress(f"comparing {names[0]} with {name}", number / (len(results) - 1))
        pair = pair_runs(results[0], result, common=common, seed=seed)
        notices += _notices(pair)
        compared = _Compared(pair, Names(names[0], name), choices, resolver)
        rows += compared.rows(metrics)
        notices += compared.notices
    record = {
        "runs": [_describe(*each) for each in zip(results, names, strict=True)],
        "confidence": confidence,
        "seed": seed,
        "common": common,
        "min_n": min_n,
        "margin": margin,
        "notices": list(dict.fromkeys(notices)),
    }
    return Comparison(record, rows)


def _read(given: Result | str | Path, folder: str | Path) -> Result:
    return given if isinstance(given, Result) else read_run(find_run(given, folder))


def _distinct_names(results: Sequence[Result]) -> list[str]:
    """Name each run by its model, and by its id too where several are of one model."""
    count = Counter(result.model for result in results)
    names = []
    for number, result in enumerate(results, start=1):
        name = str(result.model)
        if count[result.model] > 1:
            name = f"{name} ({result.run_id[:8] or number})"
        names.append(name if name not in names else f"{name} #{number}")
    return names


def _describe(result: Result, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "model": result.model,
        "run_id": result.run_id,
        "dataset": result.dataset,
        "task": result.task,
        "status": result.status,
        "path": None if result.path is None else str(result.path),
    }


def _notices(pair: PairedRuns) -> Iterator[str]:
    first, second = pair.first, pair.second
    if pair.left_out:
        left = count_of(pair.left_out, "example")
        yield (
            f"{left} of only one of {name_run(first)} and {name_run(second)} left out; "
            f"{pair.n} compared"
        )
    if first.dataset != second.dataset:
        yield (
            f"{name_run(first)} is on {first.dataset}, {name_run(second)} on "
            f"{second.dataset}; their ids and answers agree"
        )
    for result in (first, second):
        if result.status == "partial":
            yield f"{name_run(result)} is partial: see `evalkit show {result.run_id}`"
    if mixed := mixed_clusters(first, second):
        yield f"{mixed}; the first's are used"
    if first.under_perturbation or second.under_perturbation:
        yield "scores under perturbation are not compared; `evalkit show` has them"
    mine, others = (_metric_components(result) for result in (first, second))
    for name in sorted({*mine} & {*others}):
        if mine[name] != others[name]:
            yield (
                f"{name} was not the same code in both runs (versions "
                f"{mine[name][0]} and {others[name][0]}); `evalkit rescore` computes "
                "it again"
            )


def _metric_components(result: Result) -> dict[str, tuple[Any, Any]]:
    return {
        component["id"]: (component.get("version"), component.get("source_sha256"))
        for component in result.to_dict().get("components", ())
        if component["id"].startswith("metrics/")
    }


class _Compared:
    """Two runs, compared metric by metric."""

    def __init__(
        self, pair: PairedRuns, names: Names, choices: _Choices, resolver: Resolver
    ) -> None:
        self._pair = pair
        self._names = names
        self._choices = choices
        self._resolver = resolver
        self._found: dict[str, dict[str, list[Difference]]] = {}
        self.notices: list[str] = []

    def rows(self, metrics: Sequence[Any] | None) -> Iterator[ComparedScore]:
        """Give the rows of the metrics that were asked for."""
        for metric in self._chosen(metrics):
            yield from self._rows_of(metric, self._differences(metric))

    def _chosen(self, metrics: Sequence[Any] | None) -> list[str]:
        first, second = self._pair.first, self._pair.second
        both = [name for name in first.metrics if name in second]
        if metrics is None:
            alone = [name for name in first.metrics if name not in second]
            alone += [name for name in second.metrics if name not in first]
            if alone:
                self.notices.append(
                    f"not compared, as only one of the runs has it: {', '.join(alone)} "
                    "(`evalkit rescore` adds a metric to a run)"
                )
            if not both:
                raise EvalkitError(
                    f"{name_run(first)} and {name_run(second)} have no metric in "
                    f"common: {', '.join(first.metrics) or 'none'}; "
                    f"{', '.join(second.metrics) or 'none'}"
                )
            return both
        wanted = [metrics] if isinstance(metrics, str) else metrics
        chosen: list[str] = []
        for metric in wanted:
            name = metric if isinstance(metric, str) else self._given(metric)
            found = [
                each for each in both if each == name or each.startswith(f"{name}#")
            ]
            if not found:
                raise EvalkitError(
                    f"the runs have no metric {name!r} in common; they have "
                    f"{', '.join(both) or 'none'}"
                )
            chosen += [each for each in found if each not in chosen]
        return chosen

    def _given(self, metric: Any) -> str:
        """Take a metric that was given as an object, and give its name."""
        bound = self._resolver.bind("metrics", metric)
        self._metrics[bound.name] = bound
        return bound.name

    @cached_property
    def _metrics(self) -> dict[str, Bound | PluginError]:
        """The metrics of the first run by name, or why one cannot be loaded."""
        found: dict[str, Bound | PluginError] = {}
        for component in self._pair.first.to_dict().get("components", ()):
            if not component["id"].startswith("metrics/"):
                continue
            try:
                bound = bound_component(component, self._resolver)
                found[bound.name] = bound
            except PluginError as error:
                found[component["id"].partition("/")[2]] = error
        return found

    @cached_property
    def _tables(self) -> PairedTables:
        return PairedTables(self._pair)

    def _differences(self, metric: str) -> list[Difference]:
        first, second = self._pair.first, self._pair.second
        columns = [score_column(result, metric) for result in (first, second)]
        if columns[0] is not None and columns[1] is not None:
            return compare_scores(
                self._pair,
                self._pair.example_scores(first, columns[0]),
                self._pair.example_scores(second, columns[1]),
                self._choices.confidence,
                first[metric].higher_is_better,
            )
        for result in (first, second):
            score = result[metric]
            if score.value is None:
                return self._none(f"{name_run(result)}: {score.reason}")
        name, _, part = self._owner(metric)
        bound = self._metrics.get(name)
        if bound is None:
            return self._none("the data set computes it, and only for the whole set")
        if isinstance(bound, PluginError):
            return self._none(str(bound))
        try:
            return self._of_sets(name, part, bound)
        except (MetricError, StorageError) as error:
            return self._none(str(error))

    def _of_sets(self, name: str, part: str, metric: Bound) -> list[Difference]:
        """Compare by a score that only whole sets have."""
        if not len(self._tables.examples[WHOLE]):
            reason = "no example was scored in both runs"
            left_out = self._tables.left_out
            return [without_difference(reason, 0, count, None) for count in left_out]
        if name not in self._found:
            self._found[name] = self._resampled(metric)
        found = self._found[name].get(part)
        return found or self._none("the metric gave no value")

    def _owner(self, metric: str) -> tuple[str, str, str]:
        """Split the name of a score into that of its metric and its own within it."""
        owner = metric_of(metric, self._metrics)
        if owner is None:
            return metric, "", ""
        _, mark, score = metric[len(owner) :].partition("#")
        return owner, mark, score

    def _resampled(self, metric: Bound) -> dict[str, list[Difference]]:
        confidence = self._choices.confidence
        if metric.has("compute"):
            return {"": compare_lists(metric, self._tables, confidence)}
        return compare_statistics(metric, self._tables, confidence)

    def _none(self, reason: str) -> list[Difference]:
        return [without_difference(reason, 0, 0, None) for _ in self._pair.groups.tags]

    def _rows_of(self, metric: str, found: list[Difference]) -> list[ComparedScore]:
        groups = self._pair.groups
        tags = [
            (tag, difference)
            for tag, difference in zip(groups.tags, found, strict=True)
            if tag is not None
            and self._choices.tags
            and difference.n >= max(1, self._choices.min_n)
        ]
        tested = [
            (tag, difference.p_value)
            for tag, difference in tags
            if difference.p_value is not None
        ]
        adjusted = holm([p_value for _, p_value in tested])
        by_tag = {tag: p for (tag, _), p in zip(tested, adjusted, strict=True)}
        rows = [
            self._row(metric, tag, difference, by_tag.get(tag))
            for tag, difference in tags
        ]
        rows.sort(key=_worst_first)
        return [self._row(metric, None, found[0], None), *rows]

    def _row(
        self, metric: str, tag: str | None, found: Difference, adjusted: float | None
    ) -> ComparedScore:
        score = self._pair.first[metric]
        choices, interval = self._choices, found.interval
        error = interval.standard_error
        smallest = None if error is None else DETECTABLE_ERRORS * error
        reading = Reading(
            score.unit,
            score.scale,
            score.higher_is_better,
            choices.confidence,
            choices.margin,
        )
        p_value = found.p_value if tag is None else adjusted
        return ComparedScore(
            metric=metric,
            tag=tag,
            model_a=self._names.first,
            model_b=self._names.second,
            value_a=found.value_a,
            value_b=found.value_b,
            difference=found.value,
            se=error,
            ci_low=plain_number(interval.low),
            ci_high=plain_number(interval.high),
            ci_method=interval.method,
            n=found.n,
            n_clusters=found.n_clusters,
            left_out=found.left_out,
            wins=found.wins,
            losses=found.losses,
            ties=found.ties,
            p_value=found.p_value,
            p_method=found.p_method,
            p_mid=found.p_mid,
            p_adjusted=adjusted,
            smallest_detectable=smallest,
            equivalent=is_equivalent(found, choices.margin),
            unit=score.unit,
            scale=score.scale,
            higher_is_better=score.higher_is_better,
            conclusion=conclude(self._names, found, p_value, smallest, reading),
            reason=found.reason or interval.reason,
        )


def _worst_first(row: ComparedScore) -> tuple[bool, float, str]:
    difference = row.difference
    if difference is None:
        return True, 0.0, row.tag or ""
    oriented = -difference if row.higher_is_better is False else difference
    return False, oriented, row.tag or ""
