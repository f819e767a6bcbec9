"""The worlds in which the coverage of intervals is measured, with their true values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import NamedTuple

import mean_worlds
import number_worlds
import numpy as np
import polars as pl
import probability_worlds
from numpy.typing import NDArray
from simulated_sets import (
    DeltaRatio,
    Floats,
    Integers,
    Outcomes,
    Random,
    RatioOfSums,
    Sample,
    ScoreMean,
    Tags,
    choose,
    facet_outcomes,
    paired_label_outcomes,
    paired_score_outcomes,
    set_outcomes,
)

Truths = NDArray[np.bool_]

Simulate = Callable[[Random, int, int], Mapping[str, Outcomes]]
"""Draws that many sets of that size and gives the intervals, by name."""


class Scenario(NamedTuple):
    """A kind of score in a world whose truth is known."""

    simulate: Simulate
    sizes: tuple[int, ...]
    unit: str
    """What the sizes count."""
    aim_from: int
    """The size from which 93 to 97 % is the aim."""
    examples: Callable[[int], int]
    """About how many examples a set has, by size."""
    sets: int | None = None
    """How many sets at most; None for as many as are asked for."""


N = (50, 200, 1_000)
CLUSTERS = (10, 30, 100)
CORRELATION = 0.3
CLUSTER_SIZES = (1, 19)


def _numbers_of(sets: int, n: int) -> Integers:
    return np.repeat(np.arange(sets), n)


def _share(share: float) -> Simulate:
    def simulate(random: Random, sets: int, n: int) -> Mapping[str, Outcomes]:
        right = random.random(sets * n) < share
        return {"": set_outcomes("accuracy", _answers(right, sets, n), share)}

    return simulate


def _answers(right: Truths, sets: int, n: int) -> Sample:
    return _said(right, _numbers_of(sets, n))


def _said(right: Truths, sets: Integers) -> Sample:
    predictions = choose(("no", "yes"), right.astype(np.int64))
    targets = pl.repeat("yes", len(right), eager=True)
    return Sample(predictions, targets, sets)


def equal_classes(classes: int, right: float) -> Floats:
    """Give shares of (gold, predicted) of equal classes whose F1 all are `right`."""
    wrong = (1 - right) / (classes - 1)
    table = np.full((classes, classes), wrong)
    np.fill_diagonal(table, right)
    return table / classes


def two_classes(positive: float, f1: float) -> Floats:
    """Give shares where precision and recall of the positive class are `f1`."""
    missed = positive * (1 - f1)
    return np.array([[1 - positive - missed, missed], [missed, positive * f1]])


def macro_f1_of(shares: Floats) -> float:
    """Compute macro-F1 of shares of (gold, predicted)."""
    sizes = shares.sum(axis=0) + shares.sum(axis=1)
    return float(np.mean(2 * np.diag(shares) / sizes))


def _labels(shares: Floats) -> tuple[str, ...]:
    return tuple(f"c{number:02}" for number in range(len(shares)))


def _macro_f1(shares: Floats) -> Simulate:
    def simulate(random: Random, sets: int, n: int) -> Mapping[str, Outcomes]:
        cells = random.choice(shares.size, size=sets * n, p=shares.ravel())
        gold, predicted = np.divmod(cells, len(shares))
        names = _labels(shares)
        sample = Sample(
            choose(names, predicted), choose(names, gold), _numbers_of(sets, n), names
        )
        return {"": set_outcomes("macro-f1", sample, macro_f1_of(shares))}

    return simulate


def _mixture(uniform: Floats, zeros: float = 0.4, ones: float = 0.3) -> Floats:
    """Turn uniform numbers into scores: some 0, some 1, the others even between."""
    between = (uniform - zeros) / (1 - zeros - ones)
    return np.clip(between, 0.0, 1.0)


def _mean(random: Random, sets: int, n: int) -> Mapping[str, Outcomes]:
    scores = pl.Series(_mixture(random.random(sets * n)))
    sample = Sample(scores, scores, _numbers_of(sets, n))
    return {"": set_outcomes(ScoreMean, sample, 0.45)}


def _ratio(metric: type[RatioOfSums]) -> Simulate:
    def simulate(random: Random, sets: int, n: int) -> Mapping[str, Outcomes]:
        words = 1 + random.poisson(9, sets * n)
        errors = random.binomial(words, random.beta(0.5, 2.0, sets * n))
        sample = Sample(pl.Series(errors), pl.Series(words), _numbers_of(sets, n))
        return {"": set_outcomes(metric, sample, 0.2)}

    return simulate


class _Clusters(NamedTuple):
    sets: Integers
    clusters: Integers
    rates: Floats
    """Probability to be right of each example, the same in its cluster."""


Sizes = Callable[[Random, int], Integers]
"""Draws the sizes of that many clusters."""


def _even_sizes(random: Random, count: int) -> Integers:
    low, high = CLUSTER_SIZES
    return random.integers(low, high + 1, count)


def _lognormal_sizes(random: Random, count: int) -> Integers:
    """Draw sizes of 7.4 on average, of which one in twenty is above 23."""
    sizes = np.exp(random.normal(1.5, 1.0, count))
    return np.maximum(1, np.rint(sizes)).astype(np.int64)


def _clusters(
    random: Random, sets: int, count: int, share: float, draw: Sizes = _even_sizes
) -> _Clusters:
    sizes = draw(random, sets * count)
    spread = 1 / CORRELATION - 1
    rates = random.beta(share * spread, (1 - share) * spread, sets * count)
    clusters = np.repeat(np.arange(sets * count), sizes)
    return _Clusters(clusters // count, clusters, rates[clusters])


def _clustered_share(share: float) -> Simulate:
    def simulate(random: Random, sets: int, count: int) -> Mapping[str, Outcomes]:
        drawn = _clusters(random, sets, count, share)
        right = random.random(len(drawn.rates)) < drawn.rates
        sample = _said(right, drawn.sets)._replace(clusters=drawn.clusters)
        return {"": set_outcomes("accuracy", sample, share)}

    return simulate


def _clustered_right(share: float, draw: Sizes) -> Simulate:
    """Make three equal classes whose F1 all are a share."""

    def simulate(random: Random, sets: int, count: int) -> Mapping[str, Outcomes]:
        drawn = _clusters(random, sets, count, share, draw)
        right = random.random(len(drawn.rates)) < drawn.rates
        sample = _labelled(random, right, drawn.sets)._replace(clusters=drawn.clusters)
        return {"": set_outcomes("macro-f1", sample, share)}

    return simulate


def _clustered_rare_class(positive: float, f1: float, draw: Sizes) -> Simulate:
    """Make positives anywhere, and clusters that differ in both kinds of errors."""
    false_alarms = positive * (1 - f1) / (1 - positive)
    truth = macro_f1_of(two_classes(positive, f1))

    def simulate(random: Random, sets: int, count: int) -> Mapping[str, Outcomes]:
        drawn = _clusters(random, sets, count, f1, draw)
        spread = 1 / CORRELATION - 1
        wrong = random.beta(
            false_alarms * spread, (1 - false_alarms) * spread, sets * count
        )[drawn.clusters]
        gold = random.random(len(drawn.rates)) < positive
        said = random.random(len(gold)) < np.where(gold, drawn.rates, wrong)
        names = _labels(np.zeros((2, 2)))
        sample = Sample(
            choose(names, said.astype(np.int64)),
            choose(names, gold.astype(np.int64)),
            drawn.sets,
            names,
            drawn.clusters,
        )
        return {"": set_outcomes("macro-f1", sample, truth)}

    return simulate


def _labelled(
    random: Random, right: Truths, sets: Integers, gold: Integers | None = None
) -> Sample:
    """Make answers of three equal classes of which some are right."""
    names = _labels(np.zeros((3, 3)))
    count = len(right)
    gold = random.integers(0, 3, count) if gold is None else gold
    wrong = (gold + random.integers(1, 3, count)) % 3
    predicted = np.where(right, gold, wrong)
    return Sample(choose(names, predicted), choose(names, gold), sets, names)


def _correlated(random: Random, count: int) -> tuple[Floats, Floats]:
    """Draw pairs of uniform numbers that are the same in six of ten cases."""
    shared, common = random.random(count) < 0.6, random.random(count)
    first, second = (np.where(shared, common, random.random(count)) for _ in range(2))
    return first, second


def _paired_shares(random: Random, sets: int, n: int) -> Mapping[str, Outcomes]:
    first, second = _correlated(random, sets * n)
    scores = (first < 0.75).astype(float), (second < 0.70).astype(float)
    return {"": paired_score_outcomes(*scores, _numbers_of(sets, n), 0.05)}


def _paired_means(random: Random, sets: int, n: int) -> Mapping[str, Outcomes]:
    first, second = _correlated(random, sets * n)
    scores = _mixture(first), _mixture(second, zeros=0.5, ones=0.25)
    return {"": paired_score_outcomes(*scores, _numbers_of(sets, n), 0.075)}


def _paired_macro_f1(random: Random, sets: int, n: int) -> Mapping[str, Outcomes]:
    numbers, gold = _numbers_of(sets, n), random.integers(0, 3, sets * n)
    first, second = _correlated(random, sets * n)
    samples = (
        _labelled(random, first < 0.75, numbers, gold),
        _labelled(random, second < 0.70, numbers, gold),
    )
    return {"": paired_label_outcomes("macro-f1", *samples, 0.05)}


OVERLAPPING = 8
TAG_EFFECTS = 0.1 * (np.arange(OVERLAPPING) - 3.5) / 3.5


def _overlapping(random: Random, sets: int, n: int) -> Mapping[str, Outcomes]:
    """Each of eight tags is on three of ten examples; each changes what is right."""
    has_tag = random.random((sets * n, OVERLAPPING)) < 0.3
    first = random.integers(0, OVERLAPPING, sets * n)
    has_tag[~has_tag.any(axis=1), first[~has_tag.any(axis=1)]] = True
    right = random.random(sets * n) < _rate(has_tag)
    tags = Tags(*np.nonzero(has_tag))
    sample = _answers(right, sets, n)
    return facet_outcomes("accuracy", sample, tags, _overlapping_truths())


def _rate(has_tag: Truths) -> Floats:
    rates: Floats = 0.7 + has_tag @ TAG_EFFECTS
    return rates


def _overlapping_truths() -> list[float]:
    """Add up over all sets of tags."""
    patterns = np.array(list(product([False, True], repeat=OVERLAPPING)))
    chances = np.where(patterns, 0.3, 0.7).prod(axis=1)
    for tag in range(OVERLAPPING):
        # an example without a tag gets one of them
        [alone] = np.flatnonzero((patterns.sum(axis=1) == 1) & patterns[:, tag])
        chances[alone] += chances[0] / OVERLAPPING
    chances[0] = 0.0
    right = chances * _rate(patterns)
    return [
        float(right[patterns[:, tag]].sum() / chances[patterns[:, tag]].sum())
        for tag in range(OVERLAPPING)
    ]


GROUPS = 12


def _tags(sets: int, size: int) -> Tags:
    numbers = np.tile(np.repeat(np.arange(GROUPS), size), sets)
    return Tags(np.arange(len(numbers)), numbers)


def _groups(truths: list[float]) -> Simulate:
    def simulate(random: Random, sets: int, size: int) -> Mapping[str, Outcomes]:
        rates = np.tile(np.repeat(truths, size), sets)
        right = random.random(len(rates)) < rates
        sample = _answers(right, sets, GROUPS * size)
        return facet_outcomes("accuracy", sample, _tags(sets, size), truths)

    return simulate


def _groups_of_means(random: Random, sets: int, size: int) -> Mapping[str, Outcomes]:
    n = GROUPS * size
    scores = pl.Series(_mixture(random.random(sets * n)))
    sample = Sample(scores, scores, _numbers_of(sets, n))
    return facet_outcomes(ScoreMean, sample, _tags(sets, size), [0.45] * GROUPS)


def _groups_in_clusters(random: Random, sets: int, size: int) -> Mapping[str, Outcomes]:
    """Each cluster has one example in each group, as a template has."""
    spread = 1 / CORRELATION - 1
    rates = random.beta(0.8 * spread, 0.2 * spread, (sets, 1, size))
    right = (random.random((sets, GROUPS, size)) < rates).ravel()
    clusters = np.arange(sets * size).reshape(sets, 1, size).repeat(GROUPS, axis=1)
    sample = _answers(right, sets, GROUPS * size)._replace(clusters=clusters.ravel())
    return facet_outcomes("accuracy", sample, _tags(sets, size), [0.8] * GROUPS)


def _groups_of_clusters(
    random: Random, sets: int, count: int
) -> Mapping[str, Outcomes]:
    """Each group has clusters of its own, so many of them."""
    drawn = _clusters(random, sets * GROUPS, count, 0.95)
    return _of_drawn_groups(random, drawn, 0.95)


def _groups_of_unequal_clusters(
    random: Random, sets: int, count: int
) -> Mapping[str, Outcomes]:
    """Each group has clusters of its own, one of them with half of its examples."""
    sizes = mean_worlds.half_in_one(random, count)
    drawn = _clusters(
        random,
        sets * GROUPS,
        count,
        0.8,
        lambda _, total: np.tile(sizes, total // count),
    )
    return _of_drawn_groups(random, drawn, 0.8)


def _of_drawn_groups(
    random: Random, drawn: _Clusters, share: float
) -> Mapping[str, Outcomes]:
    right = random.random(len(drawn.rates)) < drawn.rates
    numbers, groups = np.divmod(drawn.sets, GROUPS)
    sample = _said(right, numbers)._replace(clusters=drawn.clusters)
    tags = Tags(np.arange(len(groups)), groups)
    return facet_outcomes("accuracy", sample, tags, [share] * GROUPS)


def _groups_of_macro_f1(random: Random, sets: int, size: int) -> Mapping[str, Outcomes]:
    n = GROUPS * size
    right = random.random(sets * n) < 0.72
    sample = _labelled(random, right, _numbers_of(sets, n))
    return facet_outcomes("macro-f1", sample, _tags(sets, size), [0.72] * GROUPS)


FEWER = 1_000
"""Sets of worlds that take long and vary others."""


def _of_n(simulate: Simulate, sets: int | None = None) -> Scenario:
    return Scenario(simulate, N, "n", 200, int, sets)


def _of_values(simulate: Simulate) -> Scenario:
    """Statistics that keep values, whose replicates take long."""
    return Scenario(simulate, (50, 200), "n", 200, int, 200)


def _of_clusters(simulate: Simulate, sets: int | None = None) -> Scenario:
    mean = sum(CLUSTER_SIZES) // 2
    return Scenario(
        simulate, CLUSTERS, "clusters", 30, lambda count: mean * count, sets
    )


def _of_groups(
    simulate: Simulate, sizes: tuple[int, ...] = (40,), sets: int | None = FEWER
) -> Scenario:
    return Scenario(simulate, sizes, "a group", 40, lambda size: GROUPS * size, sets)


def _unequal(
    name: str, sizes: Callable[[Random, int], Integers], examples: Callable[[int], int]
) -> dict[str, Scenario]:
    """Give the worlds of clusters of unequal sizes."""
    simulations = {
        "mean": mean_worlds.unequal_means(sizes, CORRELATION),
        "mean of lognormal values": mean_worlds.unequal_means(sizes, CORRELATION, 1.0),
        "share of .9": mean_worlds.unequal_scores(sizes, 0.9, CORRELATION),
        "mean of F1 near .97": mean_worlds.unequal_scores(sizes, 0.94, 0.1, True),
    }
    return {
        f"{what} in clusters, {name}": Scenario(
            simulate, (30, 100), "clusters", 30, examples
        )
        for what, simulate in simulations.items()
    }


def _of_small_groups(simulate: Simulate, sizes: tuple[int, ...]) -> Scenario:
    return Scenario(
        simulate, sizes, "a group", sizes[-1], lambda size: GROUPS * size, FEWER
    )


SCENARIOS: Mapping[str, Scenario] = {
    "share of .5": _of_n(_share(0.5)),
    "share of .9": _of_n(_share(0.9)),
    "share of .99": _of_n(_share(0.99)),
    "macro-F1, 3 classes at .72": _of_n(_macro_f1(equal_classes(3, 0.72))),
    "macro-F1, 10 % positives at P = R = .6": _of_n(_macro_f1(two_classes(0.1, 0.6))),
    "macro-F1, 5 % positives at F1 = .9": _of_n(_macro_f1(two_classes(0.05, 0.9))),
    "macro-F1, 2 classes at .99": _of_n(_macro_f1(equal_classes(2, 0.99))),
    "macro-F1, 10 classes at .8": _of_n(_macro_f1(equal_classes(10, 0.8))),
    "mean of a score, 40 % zeros and 30 % ones": _of_n(_mean),
    "mean of F1, .97": _of_n(mean_worlds.f1(0.94)),
    "mean of F1, .99": _of_n(mean_worlds.f1(0.98)),
    "mean of F1, .999": _of_n(mean_worlds.f1(0.998)),
    "average of 5 answers, .01": _of_n(mean_worlds.AVERAGES),
    "pass@3 of 10 answers, .99": _of_n(mean_worlds.PASS_AT_3),
    "mean of lognormal values, σ = 1": _of_n(mean_worlds.lognormal(1.0)),
    "mean of lognormal values, σ = 1.5": _of_n(mean_worlds.lognormal(1.5)),
    "mean of lognormal values, σ = 2": _of_n(mean_worlds.lognormal(2.0)),
    **{name: _of_n(world, FEWER) for name, world in probability_worlds.WORLDS.items()},
    "ratio of two sums": _of_n(_ratio(RatioOfSums)),
    "ratio of two sums, as in large groups": _of_n(_ratio(DeltaRatio)),
    "root mean squared error of normal errors": _of_n(
        number_worlds.explained("rmse", 0.5)
    ),
    "root mean squared error of lognormal errors, σ = .5": _of_n(
        number_worlds.lognormal_errors("rmse", 0.5)
    ),
    "R² of .5": _of_n(number_worlds.explained("r2", 0.5)),
    "R² of .9": _of_n(number_worlds.explained("r2", 0.9)),
    "Pearson's correlation of .5": _of_n(number_worlds.correlated("pearson", 0.5)),
    "Pearson's correlation of .95": _of_n(number_worlds.correlated("pearson", 0.95)),
    "Spearman's correlation, normal with .5": _of_values(
        number_worlds.correlated("spearman", 0.5)
    ),
    "Kendall's τ, normal with .5": _of_values(number_worlds.correlated("kendall", 0.5)),
    "Krippendorff's α of .49": _of_n(number_worlds.ratings("krippendorff-alpha", 0.7)),
    "Fleiss' κ of .81": _of_n(number_worlds.ratings("fleiss-kappa", 0.9)),
    "perplexity of 7.4": _of_n(number_worlds.texts),
    "share of .5 in clusters, ICC .3": _of_clusters(_clustered_share(0.5)),
    "share of .9 in clusters, ICC .3": _of_clusters(_clustered_share(0.9)),
    **_unequal("one has half", mean_worlds.half_in_one, lambda count: 20 * count),
    **_unequal("sizes by Zipf", mean_worlds.zipf, lambda count: 1_400),
    **_unequal(
        "lognormal sizes", mean_worlds.lognormal_sizes, lambda count: 13 * count
    ),
    "macro-F1, 3 classes at .72 in clusters, ICC .3": _of_clusters(
        _clustered_right(0.72, _even_sizes)
    ),
    "macro-F1, 3 classes at .72 in clusters of lognormal sizes": _of_clusters(
        _clustered_right(0.72, _lognormal_sizes), FEWER
    ),
    "macro-F1, 3 classes at .97 in clusters, ICC .3": _of_clusters(
        _clustered_right(0.97, _even_sizes), FEWER
    ),
    "macro-F1, 5 % positives at F1 = .9 in clusters, ICC .3": _of_clusters(
        _clustered_rare_class(0.05, 0.9, _even_sizes), FEWER
    ),
    "macro-F1, 5 % positives at F1 = .9 in clusters of lognormal sizes": _of_clusters(
        _clustered_rare_class(0.05, 0.9, _lognormal_sizes), FEWER
    ),
    "paired difference of shares, .75 - .70": _of_n(_paired_shares),
    "paired difference of means, .45 - .375": _of_n(_paired_means),
    "paired difference of macro-F1, .75 - .70": _of_n(_paired_macro_f1, FEWER),
    "8 overlapping tags, shares of .63 to .77": _of_n(_overlapping),
    "12 equal groups, shares of .8": _of_groups(
        _groups([0.8] * GROUPS), (40, 200), None
    ),
    "12 equal groups, shares of .95": _of_groups(_groups([0.95] * GROUPS)),
    "12 equal small groups, shares of .95": _of_small_groups(
        _groups([0.95] * GROUPS), (10, 20)
    ),
    "12 groups, one worse: 11 shares of .85 and one of .6": _of_groups(
        _groups([0.6] + [0.85] * (GROUPS - 1)), (40, 200), None
    ),
    "12 equal groups, means of a score": _of_groups(_groups_of_means),
    "12 equal groups that share clusters, shares of .8": _of_groups(
        _groups_in_clusters
    ),
    "12 equal groups in clusters of their own, shares of .95": Scenario(
        *(_groups_of_clusters, (10, 30), "clusters a group", 30),
        *(lambda count: GROUPS * 10 * count, FEWER),
    ),
    "12 equal groups in clusters of which one has half, shares of .8": Scenario(
        *(_groups_of_unequal_clusters, (30,), "clusters a group", 30),
        *(lambda count: GROUPS * 20 * count, FEWER),
    ),
    "12 equal groups, macro-F1 at .72": _of_groups(_groups_of_macro_f1, (200,)),
    "12 equal small groups, macro-F1 at .72": _of_small_groups(
        _groups_of_macro_f1, (12, 20, 30)
    ),
}
