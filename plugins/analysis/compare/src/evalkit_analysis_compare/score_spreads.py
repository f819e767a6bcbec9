"""How far scores are spread: between examples, within clusters, within answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit import Result
from evalkit.base.columns import named
from evalkit.errors import EvalkitError
from evalkit.statistics.clusters import ClusterSizes, Floats, Integers, describe_sizes
from evalkit_analysis_compare.power import Goal, difference_found, units_needed


class Factors(NamedTuple):
    """By what the variances of a spread are multiplied."""

    between: float
    """The variance between examples."""
    within: float
    """The variance of the answers to one example."""


AS_IT_IS = Factors(1.0, 1.0)
"""Of a mean of the scores, or of the differences, themselves."""


def of_difference(correlation: float) -> Factors:
    """Return the factors of a difference of two models, by their correlation."""
    return Factors(2 * (1 - correlation), 2.0)


class ScoreVariance(NamedTuple):
    """The spread of one model's scores, or of the differences between two models'."""

    n: int
    """Examples."""
    variance: float
    """Of an example's score, the mean over its answers."""
    binary: bool = False
    """Whether single examples are right or wrong."""
    disagreement: float | None = None
    """Of two models: the share of examples that exactly one is right on."""
    clusters: int | None = None
    cluster_size: float = 1.0
    """Mean number of examples in a cluster."""
    seen_size: float = 1.0
    """Mean number of examples in the cluster of an example, which large ones raise."""
    between_clusters: float | None = 0.0
    """Variance of the clusters' means, a part of the variance; None if not known."""
    replications: int | None = None
    within: float | None = None
    """Variance of an example's answers; of two models the sum of both."""
    cluster_sizes: ClusterSizes | None = None
    """How unequal the clusters are, where single examples are known."""

    @property
    def intraclass_correlation(self) -> float | None:
        """The share of the variance that lies between clusters."""
        if self.clusters is None or self.between_clusters is None:
            return None
        return self.between_clusters / self.variance

    @property
    def design_effect(self) -> float | None:
        """The factor by which clusters raise the variance of a mean (Kish 1965)."""
        correlation = self.intraclass_correlation
        return None if correlation is None else 1 + (self.seen_size - 1) * correlation

    def units_needed(self, goal: Goal, factors: Factors, answers: int | None) -> int:
        """Return the units (clusters, or else examples) that find a difference."""
        variance = self.variance_of_unit(factors, answers)
        least = goal.difference - goal.difference**2
        return units_needed(goal, variance * max(1.0, self._raise(least, factors)))

    def difference_found(
        self, goal: Goal, factors: Factors, answers: int | None
    ) -> float | None:
        """Return the smallest difference that as many units as now find."""
        units = self.n if self.clusters is None else self.clusters
        variance = self.variance_of_unit(factors, answers)
        found = difference_found(goal, variance, units)
        if found is None or not self.binary:
            return found
        # where models disagree on d only: d² = found² · (d - d²) / variance
        least = found**2 * self._raise(1.0, factors)
        found = max(found, least / (1 + least))
        return found if found <= 1 else None

    def disagreement_at(self, difference: float, factors: Factors) -> float | None:
        """Return the share of examples that exactly one of two models is right on."""
        if not self.binary:
            return None
        if self.disagreement is not None:
            return max(self.disagreement, difference)
        variance = factors.between * self.variance
        return min(1.0, max(variance + difference**2, difference))

    def _raise(self, least: float, factors: Factors) -> float:
        """Return a variance of right or wrong, divided by this one; 0 for others."""
        return least / (factors.between * self.variance) if self.binary else 0.0

    def variance_of_unit(self, factors: Factors, answers: int | None) -> float:
        """Return the variance of a mean over units, times their number."""
        alike = (self.seen_size - 1) * (self.between_clusters or 0.0)
        total = self.variance_of_example(factors, answers) + factors.between * alike
        return total / self.cluster_size

    def variance_of_example(self, factors: Factors, answers: int | None) -> float:
        """Return the variance of the score of one example."""
        if self.within is None or self.replications is None or answers is None:
            return factors.between * self.variance
        between = max(0.0, self.variance - self.within / self.replications)
        return factors.between * between + factors.within * self.within / answers


def score_variance(result: Result, metric: str, column: str) -> ScoreVariance:
    """Measure the spread of one model's scores."""
    assert result.examples is not None
    score = result[metric]
    means = (
        result.examples.select("id", "cluster", score=named(column))
        .drop_nulls("score")
        .group_by("id", maintain_order=True)
        .agg(pl.col("cluster").first(), pl.col("score").cast(pl.Float64).mean())
    )
    clusters = None
    if means["cluster"].null_count() < means.height:
        clusters = (means["cluster"].rank("dense").cast(pl.Int64) - 1).to_numpy()
    values = means["score"].to_numpy()
    within = None if score.stddev_within is None else score.stddev_within**2
    found = _measure(values, clusters)._replace(
        replications=score.replications, within=within
    )
    if score.replications is not None or not np.isin(values, (0.0, 1.0)).all():
        return found
    if clusters is not None:
        return found._replace(binary=True)
    share = float(values.mean())
    return found._replace(binary=True, variance=share * (1 - share))


def spread_of_differences(
    first: Floats,
    second: Floats,
    clusters: Integers | None,
    within: Sequence[float | None],
    replications: Sequence[int | None],
) -> ScoreVariance:
    """Measure the spread of the differences between two models' scores."""
    both = np.isfinite(first) & np.isfinite(second)
    differences = first[both] - second[both]
    found = _measure(differences, None if clusters is None else clusters[both])
    deviations = [deviation for deviation in within if deviation is not None]
    if len(deviations) == len(within) and replications[0] == replications[1]:
        variance = math.fsum(deviation**2 for deviation in deviations)
        found = found._replace(replications=replications[0], within=variance)
    binary = replications[0] is replications[1] is None
    scores = np.concatenate([first[both], second[both]])
    if not (binary and np.isin(scores, (0.0, 1.0)).all()):
        return found
    return found._replace(binary=True, disagreement=float((differences != 0).mean()))


def spread_of_set(
    error: float, n: int, clusters: int | None, replications: int | None
) -> ScoreVariance:
    """Take the spread of a score of whole sets, such as macro-F1, from its error."""
    size = 1.0 if clusters is None else n / clusters
    return ScoreVariance(
        n,
        # all of it per cluster, as nothing tells how alike a cluster's examples are
        error**2 * n,
        clusters=clusters,
        cluster_size=size,
        between_clusters=0.0 if clusters is None else None,
        replications=replications,
    )


def _measure(values: Floats, clusters: Integers | None) -> ScoreVariance:
    """Split a variance into that between clusters and the rest, by their mean squares.

    That is the analysis of variance of one random factor with groups of unequal sizes
    (Donner 1986).
    """
    n = len(values)
    if n < 2:
        raise EvalkitError("a spread needs two or more scored examples")
    if clusters is None:
        return ScoreVariance(n, float(np.var(values, ddof=1)))
    sizes = np.bincount(clusters)
    sizes = sizes[sizes > 0]
    count = len(sizes)
    if count < 2:
        raise EvalkitError("all examples are in one cluster: nothing tells its spread")
    _, codes = np.unique(clusters, return_inverse=True)
    means = np.bincount(codes, weights=values) / sizes
    among = float((sizes * (means - values.mean()) ** 2).sum()) / (count - 1)
    rest = float(((values - means[codes]) ** 2).sum())
    inside = rest / (n - count) if n > count else 0.0
    typical = (n - float((sizes**2).sum()) / n) / (count - 1)
    between = max(0.0, (among - inside) / typical) if n > count else 0.0
    return ScoreVariance(
        n,
        between + inside if n > count else among,
        clusters=count,
        cluster_size=n / count,
        seen_size=float((sizes**2).sum()) / n,
        between_clusters=between,
        cluster_sizes=describe_sizes(sizes.astype(np.float64)),
    )
