"""Compares two runs by each of their scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.catalog import BoundMetric, Resolver, metric_of
from evalkit.errors import EvalkitError, MetricError, PluginError, StorageError
from evalkit.reporting import count_of
from evalkit.runs import bound_component
from evalkit.scoring.grouping import WHOLE
from evalkit.scoring.measurement import prepared
from evalkit.statistics.clusters import describe_sizes
from evalkit_analysis_compare.conclusions import Names
from evalkit_analysis_compare.differences import (
    Difference,
    count_as_wrong,
    without_difference,
)
from evalkit_analysis_compare.examples import compare_scores
from evalkit_analysis_compare.lists import compare_lists
from evalkit_analysis_compare.pairing import PairedRuns, name_run, score_column
from evalkit_analysis_compare.sets import compare_statistics
from evalkit_analysis_compare.tables import PairedTables

_AGAIN = "`evalkit rescore` computes it again, --allow metric compares it"


class ComparedPair:
    """Two runs, compared metric by metric."""

    def __init__(self, pair: PairedRuns, names: Names, resolver: Resolver) -> None:
        self.pair = pair
        self.names = names
        self._resolver = resolver
        self._found: dict[str, dict[str, list[Difference]]] = {}
        self.notices: list[str] = [*_notices(pair)]

    def chosen(self, metrics: Sequence[Any] | None) -> list[str]:
        """Return the names of the metrics that were asked for."""
        first, second = self.pair.first, self.pair.second
        apart = {each.name: each for each in self.pair.refused_metrics}
        both = [
            name
            for name in first.metrics
            if name in second and metric_of(name, apart) is None
        ]
        again = "".join(f"; {each} ({_AGAIN})" for each in apart.values())
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
                    f"{', '.join(second.metrics) or 'none'}{again}"
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
                    f"{', '.join(both) or 'none'}{again}"
                )
            chosen += [each for each in found if each not in chosen]
        return chosen

    def _given(self, metric: Any) -> str:
        """Take a metric that was given as an object, and give its name."""
        bound = self._resolver.metric(metric)
        self._metrics[bound.name] = bound
        return bound.name

    @cached_property
    def _metrics(self) -> dict[str, BoundMetric | PluginError]:
        """The metrics of the first run by name, or why one cannot be loaded."""
        found: dict[str, BoundMetric | PluginError] = {}
        for metric in self.pair.first.record.metrics:
            try:
                bound = BoundMetric.of(bound_component(metric, self._resolver))
                found[bound.name] = bound
            except PluginError as error:
                found[metric.name] = error
        return found

    @cached_property
    def _tables(self) -> PairedTables:
        return PairedTables(self.pair)

    def is_of_whole(self, metric: str) -> bool:
        """Tell whether a score is of the whole set alone, so that tags have none."""
        bound = self._metrics.get(self._owner(metric)[0])
        return isinstance(bound, BoundMetric) and bound.whole_only

    def differences(self, metric: str) -> list[Difference]:
        """Compare by one score, for every group."""
        first, second = self.pair.first, self.pair.second
        columns = [score_column(result, metric) for result in (first, second)]
        if columns[0] is not None and columns[1] is not None:
            return compare_scores(
                self.pair,
                self.pair.example_scores(first, columns[0]),
                self.pair.example_scores(second, columns[1]),
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
            return self._with_gaps(self._of_sets(name, part, bound))
        except (MetricError, StorageError) as error:
            return self._none(str(error))

    def _of_sets(self, name: str, part: str, metric: BoundMetric) -> list[Difference]:
        """Compare by a score that only whole sets have."""
        if not len(self._tables.examples[WHOLE]):
            reason = "no example was scored in both runs"
            left_out = self._tables.left_out
            return [without_difference(reason, 0, count, None) for count in left_out]
        if name not in self._found:
            self._found[name] = self._resampled(metric)
        found = self._found[name].get(part)
        return found or self._none("the metric gave no value")

    def _with_gaps(self, found: Sequence[Difference]) -> list[Difference]:
        """Add how many answers are lacking, and how many count as wrong."""
        tables = self._tables
        groups = zip(found, tables.lacking, tables.examples, strict=True)
        return [
            difference._replace(
                lacking=lacking, as_wrong=count_as_wrong(self.pair, examples)
            )
            for difference, lacking, examples in groups
        ]

    def _owner(self, metric: str) -> tuple[str, str, str]:
        """Split the name of a score into that of its metric and its own within it."""
        owner = metric_of(metric, self._metrics)
        if owner is None:
            return metric, "", ""
        _, mark, score = metric[len(owner) :].partition("#")
        return owner, mark, score

    def _resampled(self, metric: BoundMetric) -> dict[str, list[Difference]]:
        metric = prepared(metric, self._tables.sides[0].table)
        if metric.has("compute"):
            return {
                each.part: compare_lists(each, self._tables) for each in metric.parts()
            }
        return compare_statistics(metric, self._tables)

    def _none(self, reason: str) -> list[Difference]:
        return [without_difference(reason, 0, 0, None) for _ in self.pair.groups.tags]


def _notices(pair: PairedRuns) -> Iterator[str]:
    first, second = pair.first, pair.second
    if pair.left_out:
        left = count_of(pair.left_out, "example")
        was = "was" if pair.left_out == 1 else "were"
        yield (
            f"{left} that only one of {name_run(first)} and {name_run(second)} has "
            f"{was} left out; {pair.n} compared"
        )
    if pair.differences:
        found = "; ".join(map(str, pair.differences))
        yield f"{name_run(first)} and {name_run(second)} differ in {found}"
    for each in pair.refused_metrics:
        yield f"not compared: {each} ({_AGAIN})"
    yield from _counted_as_wrong(pair)
    for result in (first, second):
        if result.status == "partial":
            yield f"{name_run(result)} is partial: see `evalkit show {result.run_id}`"
    if warning := _cluster_warning(pair):
        yield warning


def _counted_as_wrong(pair: PairedRuns) -> Iterator[str]:
    for result, wrong in zip((pair.first, pair.second), pair.as_wrong, strict=True):
        if count := int(wrong.sum()):
            examples, verb = (
                count_of(count, "example"),
                "counts" if count == 1 else "count",
            )
            yield (
                f"{name_run(result)}: {examples} without a valid prediction {verb} as "
                "wrong"
            )


def _cluster_warning(pair: PairedRuns) -> str | None:
    """Say that the intervals depend on one large cluster, where they do."""
    if pair.clusters is None:
        return None
    _, sizes = np.unique(pair.clusters, return_counts=True)
    return describe_sizes(sizes.astype(np.float64)).warning
