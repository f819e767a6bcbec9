"""What a reference to a benchmark stands for, and the mean over its variants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from evalkit import Registry, Result, Score
from evalkit.base.names import score_name
from evalkit.catalog import import_component
from evalkit.plugins.components import AS_READ


class Expansion(NamedTuple):
    """The data sets that a reference stands for."""

    evaluated: Mapping[str, Sequence[str]]
    """What replies are evaluated as, by what a model is asked: one data set for each
    extractor of a variant."""
    name: str = ""
    """Name of the benchmark."""
    axis: str | None = None
    """The axis of variants whose mean is wanted."""
    size: int = 0
    """Number of variants on that axis."""

    def means(self, results: Sequence[Result]) -> list[Mean]:
        """Compute the mean over the axis that the benchmark names.

        Args:
            results: Evaluations, of other data sets too.

        Returns:
            A mean for each model and extractor; null, with the reason, where a variant
            has no score.
        """
        return [] if self.axis is None else _means(results, self, self.axis)


def expand(reference: str, registry: Registry) -> Expansion:
    """Find the variants and extractors of a benchmark that a reference leaves open.

    Args:
        reference: How a user names a data set.
        registry: Where plugins are found.

    Returns:
        All that the reference allows. What is no benchmark stands for itself.

    Raises:
        PluginError: There is no such data set, or its file cannot be read.
    """
    declared = {each.name for each in registry.catalog.components if each.own_kind}
    plain = reference.partition(":")[0].partition("@")[0]
    if plain not in declared and registry.catalog.reader_of(reference) is None:
        return Expansion({reference: (reference,)})
    # a name that is no benchmark needs no schema
    from evalkit_benchmarks_declared.variants import EXTRACT, axes_of

    chosen = registry.select("datasets", reference)
    component, given = chosen.component, dict(chosen.parameters)
    is_read = component.distribution == AS_READ
    place = component.value if is_read else reference.partition(":")[0]
    written: Any = import_component(component)
    axes = axes_of(written.benchmark)
    values = [(given[each],) if each in given else axes[each] for each in axes]
    found: dict[str, list[str]] = {}
    for combination in product(*values):
        settings = given | dict(zip(axes, combination, strict=True))
        evaluated = score_name(place, settings)
        settings.pop(EXTRACT, None)
        found.setdefault(score_name(place, settings), []).append(evaluated)
    _, _, wanted = (written.benchmark.aggregate or "").partition(":")
    size = len(axes[wanted]) if wanted in axes.keys() - given else 0
    return Expansion(found, component.name, wanted if size > 1 else None, size)


class Mean(NamedTuple):
    """The mean of one model's main scores over the variants of a benchmark."""

    dataset: str
    """The benchmark, with the parameters that the variants share."""
    model: str
    score: Score
    variants: tuple[str, ...]
    """The data sets."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**self._asdict(), "score": self.score._asdict()}


def _means(results: Sequence[Result], expansion: Expansion, axis: str) -> list[Mean]:
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        dataset = result.record.components[0]
        if dataset.name != expansion.name:
            continue
        shared = {k: v for k, v in dataset.parameters.items() if k != axis}
        name = score_name(dataset.name, shared)
        groups.setdefault((name, str(result.model)), []).append(result)
    return [
        Mean(
            *names,
            _mean([result.headline for result in several], axis, expansion.size),
            tuple(str(result.dataset) for result in several),
        )
        for names, several in groups.items()
        if any(result.headline for result in several)
    ]


def _mean(scores: Sequence[Score | None], axis: str, wanted: int) -> Score:
    known = [score for score in scores if score is not None and score.value is not None]
    first = next(score for score in scores if score is not None)
    kinds = {(each.metric, each.unit, each.higher_is_better) for each in known}
    reason = None
    if len(known) < wanted:
        reason = f"{wanted - len(known)} of {wanted} variants have no score"
    elif len(kinds) > 1:
        reason = "the variants have different main scores"
    values = [score.value for score in known if score.value is not None]
    value = None if reason else math.fsum(values) / len(values)
    from evalkit.statistics.intervals import Interval, mean_of_intervals

    interval = Interval(reason=reason)
    if value is not None:
        parts = [
            Interval(each.ci_low, each.ci_high, each.se, reason=each.reason)
            for each in known
        ]
        interval = mean_of_intervals(values, parts)
    of_examples: dict[str, Any] = dict.fromkeys(_OF_EXAMPLES)
    return first._replace(
        value=value,
        se=interval.standard_error,
        ci_low=interval.low,
        ci_high=interval.high,
        ci_method=interval.method,
        n=sum(score.n for score in known),
        n_clusters=None,
        coverage=None,
        reason=interval.reason,
        flag="; ".join(interval.flags) or None,
        aggregate=f"macro:{axis}",
        **of_examples,
    )


_OF_EXAMPLES = (
    *("bound_low", "bound_high", "mean", "stddev", "min", "max", "replications"),
    *("stddev_within", "stddev_replications", "largest_cluster", "effective_clusters"),
)
"""Fields of a score that a mean over data sets does not have."""
