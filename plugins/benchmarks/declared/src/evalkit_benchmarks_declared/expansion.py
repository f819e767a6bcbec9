"""What a reference to a benchmark stands for, and the mean over its variants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from evalkit import Registry, Result, Score
from evalkit.base.names import score_name
from evalkit.catalog import AS_READ, import_component

_SHARED = ("metric", "split", "computed_on", "unit", "scale", "higher_is_better")
"""Fields of a score that a mean has from its parts."""


class Mean(NamedTuple):
    """The mean of one model's main scores over the variants of a benchmark."""

    dataset: str
    """The benchmark, with the parameters that the variants share."""
    model: str
    score: Score
    variants: tuple[str, ...]
    size: int
    """The data sets, and how many there should be."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**self._asdict(), "score": self.score._asdict()}


class Expansion(NamedTuple):
    """The data sets that a reference stands for."""

    evaluated: Mapping[str, Sequence[str]]
    """What replies are evaluated as, by what a model is asked: one data set for each
    extractor of a variant."""
    name: str = ""
    """Name of the benchmark."""
    axis: str | None = None
    size: int = 0
    """The axis of variants whose mean is wanted, and their number on that axis."""
    source: str = ""
    """What names just this benchmark: its file, or its name and distribution."""

    def means(self, results: Sequence[Result]) -> list[Mean]:
        """Compute the mean over the axis for each model and extractor.

        It is null, with the reason, if a variant has no score.
        """
        if self.axis is None:
            return []
        groups: dict[tuple[str, str], dict[str, Score]] = {}
        for result in results:
            dataset, score = result.record.components[0], result.headline
            if dataset.reference == self.source and score is not None:
                shared = {k: v for k, v in dataset.parameters.items() if k != self.axis}
                key = score_name(self.name, shared), str(result.model)
                groups.setdefault(key, {})[str(result.dataset)] = score
        return [
            Mean(*key, _mean([*own.values()], self.axis, self.size), (*own,), self.size)
            for key, own in groups.items()
        ]


def expand(reference: str, registry: Registry) -> Expansion:
    """Find the variants and extractors of a benchmark that a reference leaves open.

    What is no benchmark stands for itself. A `PluginError` says that it is unknown.
    """
    declared = {each.name for each in registry.catalog.components if each.own_kind}
    plain = reference.partition(":")[0].partition("@")[0]
    if plain not in declared and registry.catalog.reader_of(reference) is None:
        return Expansion({reference: (reference,)})
    # a name that is no benchmark needs no schema
    from evalkit_benchmarks_declared.datasets import EXTRACT, axes_of

    chosen = registry.select("datasets", reference)
    component, given = chosen.component, dict(chosen.parameters)
    name, origin = component.name, component.distribution
    is_read = origin == AS_READ
    place = component.value if is_read else reference.partition(":")[0]
    written: Any = import_component(component)
    axes = axes_of(written.benchmark)
    found: dict[str, list[str]] = {}
    for combination in product(*([given[a]] if a in given else axes[a] for a in axes)):
        settings = given | dict(zip(axes, combination, strict=True))
        evaluated = score_name(place, settings)
        settings.pop(EXTRACT, None)
        found.setdefault(score_name(place, settings), []).append(evaluated)
    _, _, wanted = (written.benchmark.aggregate or "").partition(":")
    size = len(axes[wanted]) if wanted in axes.keys() - given else 0
    source = component.value if is_read else f"{name}@{origin}"
    return Expansion(found, name, wanted if size > 1 else None, size, source)


def _mean(scores: Sequence[Score], axis: str, size: int) -> Score:
    from evalkit.statistics.intervals import Interval, mean_of_intervals

    known = [score for score in scores if score.value is not None]
    values = [score.value for score in known if score.value is not None]
    kinds = {(score.metric, score.unit, score.higher_is_better) for score in known}
    value = None
    if len(known) < size:
        reason = f"{size - len(known)} of {size} variants have no score"
        interval = Interval(reason=reason)
    elif len(kinds) > 1:
        interval = Interval(reason="the variants have different main scores")
    else:
        value = math.fsum(values) / len(values)
        parts = [Interval(s.ci_low, s.ci_high, s.se, reason=s.reason) for s in known]
        interval = mean_of_intervals(values, parts)
    empty: dict[str, Any] = dict.fromkeys(Score._fields)
    shared = {name: getattr(scores[0], name) for name in _SHARED}
    return Score(**empty | shared)._replace(
        value=value,
        se=interval.standard_error,
        ci_low=interval.low,
        ci_high=interval.high,
        ci_method=interval.method,
        n=sum(score.n for score in known),
        reason=interval.reason,
        flag="; ".join(interval.flags) or None,
        aggregate=f"macro:{axis}",
    )
