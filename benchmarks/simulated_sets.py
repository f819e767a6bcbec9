"""Draws many small data sets and scores them as the tags of one large one.

A tag's interval is the one that a file of its examples alone would get, so a table of
500 tags is 500 simulated data sets that are scored in one pass, by the code that
publishes intervals. Where a whole facet is the subject (a mean over tags), each
simulated set is a facet of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit import Metric
from evalkit.base.terms import IntervalKind, MetricContext
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.runs.results import Result
from evalkit.scoring.grouping import group_by_tag
from evalkit.scoring.measurement import score_metric
from evalkit.scoring.records import MetricScores, ScoringSettings
from evalkit.scoring.table import ScoringTable
from evalkit.statistics.intervals import Interval
from evalkit_analysis_compare.differences import Difference
from evalkit_analysis_compare.examples import compare_scores
from evalkit_analysis_compare.judging import judge
from evalkit_analysis_compare.pairing import PairedRuns
from evalkit_analysis_compare.sets import compare_statistics
from evalkit_analysis_compare.tables import PairedTables, Side

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Random = np.random.Generator


class Outcomes(NamedTuple):
    """The intervals of one score in many simulated sets."""

    lows: Floats
    """Lower bounds; nan where a set has no interval."""
    highs: Floats
    truths: Floats
    """The true value in each set."""
    method: str
    """What most of the intervals are called."""


class Sample(NamedTuple):
    """The examples of many sets, one set after the other, all of the same size."""

    predictions: pl.Series
    targets: pl.Series
    sets: Integers
    """Number of the set of each example, from 0."""
    labels: tuple[str, ...] | None = None
    clusters: Integers | None = None
    """Cluster of each example; no cluster is in two sets."""
    fields: Mapping[str, pl.Series] = {}
    """What the metric reads beside predictions and targets."""


class Tags(NamedTuple):
    """One entry for each tag of each example; every example has at least one."""

    examples: Integers
    numbers: Integers


class ScoreMean(Metric):
    """The mean of the predictions, which are numbers from 0 to 1."""

    interval = "t"
    per_example = "total"
    bounds = (0.0, 1.0)
    higher_is_better = True

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Give the number itself."""
        total = batch["prediction"].cast(pl.Float64)
        return pl.DataFrame({"row": range(batch.height), "total": total, "n": 1.0})

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sum by the number of examples."""
        return sums.select("group", value=pl.col("total") / pl.col("n"))


class RealMean(ScoreMean):
    """The mean of any numbers."""

    bounds = None


class RatioOfSums(Metric):
    """The sum of the predictions by the sum of the targets, as an error rate is."""

    interval: ClassVar[IntervalKind | None] = "bootstrap"

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Give both numbers."""
        return batch.select(
            above=pl.col("prediction").cast(pl.Float64),
            below=pl.col("target").cast(pl.Float64),
        ).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sums."""
        return sums.select("group", value=pl.col("above") / pl.col("below"))


class DeltaRatio(RatioOfSums):
    """The same with the interval that large groups get."""

    interval = "delta"


def score_sample(
    metric: str | type[Metric], sample: Sample, tags: pl.Series
) -> MetricScores:
    """Score a sample by its tags, through evalkit's own scoring.

    Args:
        metric: Name of an installed metric, or a class.
        sample: The examples.
        tags: The list of tags of each example.

    Returns:
        The scores and aggregates.
    """
    registry = Registry()
    bound = (
        registry.load("metrics", metric)
        if isinstance(metric, str)
        else Resolver(registry).bind("metrics", metric)
    )
    count = len(sample.predictions)
    table = ScoringTable(
        pl.DataFrame(
            {
                "position": pl.Series(np.arange(count), dtype=pl.UInt32),
                "prediction": sample.predictions,
                "target": sample.targets,
                **sample.fields,
            }
        ),
        [str(number) for number in range(count)],
        None if sample.clusters is None else pl.Series(sample.clusters),
        MetricContext(sample.labels, "one"),
    )
    # each facet is a set of its own
    settings = ScoringSettings(one_family=False)
    found = score_metric(bound, table, group_by_tag(tags), settings)
    if found.failure:
        raise found.failure
    return found


def set_outcomes(metric: str | type[Metric], sample: Sample, truth: float) -> Outcomes:
    """Score each set of a sample, and give the intervals of the main score."""
    found = score_sample(metric, sample, _set_tags(sample.sets))
    intervals = [
        score.interval for score in found.scores if score.group and not score.score
    ]
    return _outcomes(intervals, [truth] * len(intervals))


def facet_outcomes(
    metric: str | type[Metric], sample: Sample, tags: Tags, truths: Sequence[float]
) -> dict[str, Outcomes]:
    """Score each set of a sample as a facet of tags.

    Args:
        metric: The metric.
        sample: The examples.
        tags: The tags of each example.
        truths: The true score of each tag.

    Returns:
        The intervals of the mean over tags.
    """
    sets, count = int(sample.sets[-1]) + 1, len(truths)
    names = [
        f"s{number:04}:t{tag:02}" for number in range(sets) for tag in range(count)
    ]
    codes = sample.sets[tags.examples] * count + tags.numbers
    found = score_sample(metric, sample, _listed(tags.examples, choose(names, codes)))
    intervals = [
        score.interval
        for score in found.aggregates
        if score.kind.startswith("macro:") and score.value is not None
    ]
    truth = float(np.mean(truths))
    return {"macro": _outcomes(intervals, [truth] * len(intervals))}


def paired_score_outcomes(
    first: Floats, second: Floats, sets: Integers, truth: float
) -> Outcomes:
    """Compare two models' per-example scores in each set."""
    differences = compared_scores(first, second, sets)
    return _difference_outcomes(differences, truth)


def compared_scores(
    first: Floats, second: Floats, sets: Integers, clusters: Integers | None = None
) -> list[Difference]:
    """Compare two models' scores, which are shares, in all sets and in each."""
    pair = _pair(sets, clusters)
    return compare_scores(pair, first, second, True)


class _SimulatedTables(PairedTables):
    """What a metric scores in two simulated runs on the same examples."""

    def __init__(
        self, pair: PairedRuns, tables: Sequence[ScoringTable], *, swappable: bool
    ) -> None:
        self.pair = pair
        rows = pl.DataFrame(
            {
                "position": pl.Series(np.arange(pair.n), dtype=pl.UInt32),
                "example": np.arange(pair.n),
                "replication": np.zeros(pair.n, dtype=np.int64),
            }
        )
        self.sides = tuple(Side(table, rows) for table in tables)
        self.swappable = swappable
        members = pair.groups.members.sort("group", "position")
        ends = np.cumsum(pair.groups.sizes)[:-1]
        positions = members["position"].to_numpy().astype(np.int64)
        self.examples = list(np.split(positions, ends))
        self.left_out = [0] * len(self.examples)


def paired_label_outcomes(
    metric: str, first: Sample, second: Sample, truth: float
) -> Outcomes:
    """Compare two models by a metric of whole sets in each set."""
    # the test is not the subject here
    differences = compared_labels(metric, first, second, tested=False)
    return _difference_outcomes(differences, truth)


def compared_labels(
    metric: str, first: Sample, second: Sample, *, tested: bool
) -> list[Difference]:
    """Compare two models by a metric of whole sets, in all sets and in each."""
    assert first.labels is not None
    tables = [
        ScoringTable(
            pl.DataFrame(
                {
                    "position": pl.Series(np.arange(len(first.sets)), dtype=pl.UInt32),
                    "prediction": side.predictions,
                    "target": side.targets,
                }
            ),
            [str(number) for number in range(len(first.sets))],
            None,
            MetricContext(first.labels, "one"),
        )
        for side in (first, second)
    ]
    bound = Registry().load("metrics", metric)
    pair = _pair(first.sets, first.clusters)
    tables_of_both = _SimulatedTables(pair, tables, swappable=tested)
    return compare_statistics(bound, tables_of_both)[""]


def _pair(sets: Integers, clusters: Integers | None = None) -> PairedRuns:
    examples = np.arange(len(sets))
    shared = pl.DataFrame(
        {
            "example": examples,
            "id": [str(number) for number in examples],
            "tags": _set_tags(sets),
            "cluster": pl.Series(
                [None] * len(sets) if clusters is None else clusters, dtype=pl.Int64
            ),
        }
    )
    no_run = cast(Result, None)
    pair = PairedRuns(no_run, no_run, shared, 0, 0, (), ())
    nothing = np.zeros(shared.height, np.bool_)
    pair.__dict__["as_wrong"] = (nothing, nothing)  # which it would ask the runs for
    return pair


def _difference_outcomes(differences: Sequence[Difference], truth: float) -> Outcomes:
    intervals = [judge(found, 1, 0.95, None).interval for found in differences[1:]]
    return _outcomes(intervals, [truth] * len(intervals))


def _set_tags(sets: Integers) -> pl.Series:
    names = [f"s{number:04}" for number in range(int(sets[-1]) + 1)]
    return _listed(np.arange(len(sets)), choose(names, sets))


def _listed(examples: Integers, names: pl.Series) -> pl.Series:
    """Give the list of names of each example; each has one at least."""
    frame = pl.DataFrame({"example": examples, "names": names})
    listed = frame.group_by("example", maintain_order=True).agg("names")
    return listed.sort("example")["names"]


def choose(names: Sequence[str], codes: Integers) -> pl.Series:
    """Give the name of each code."""
    return pl.Series(names).gather(codes)


def _outcomes(intervals: Sequence[Interval], truths: Sequence[float]) -> Outcomes:
    methods = [interval.method for interval in intervals if interval.low is not None]
    return Outcomes(
        _numbers([interval.low for interval in intervals]),
        _numbers([interval.high for interval in intervals]),
        np.array(truths),
        max(sorted(set(methods)), key=methods.count) if methods else "none",
    )


def _numbers(values: Sequence[Any]) -> Floats:
    return np.array([np.nan if value is None else float(value) for value in values])


def join_outcomes(parts: Sequence[Outcomes]) -> Outcomes:
    """Join the intervals of several tables."""
    return Outcomes(
        np.concatenate([part.lows for part in parts]),
        np.concatenate([part.highs for part in parts]),
        np.concatenate([part.truths for part in parts]),
        parts[0].method,
    )
