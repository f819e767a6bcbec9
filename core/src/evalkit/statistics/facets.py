"""Test that the tags of a facet are equal, for per-example scores and disjoint tags.

The statistic is the sum of squares between tags. The p-value is that of a permutation
test (Pitman 1937; Good 2005), which for zeros and ones is the permutation χ² test; with
many rows it is that of the F test of a one-way analysis of variance (Fisher 1925).
Clusters that lie within one tag are permuted as a whole, rows of clusters of several
tags within their clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evalkit.statistics.clusters import Floats, Integers
from evalkit.statistics.student_t import f_tail

PERMUTATIONS = 9_999

MOST_PERMUTED = 10_000
"""Rows above which the test without clusters is asymptotic."""

_FEWEST_PERMUTATIONS = 999

_MOST_DRAWN = 5_000_000
"""Rows times permutations of a test; more rows have fewer permutations."""

_BLOCK = 2_000_000
"""Rows times permutations that are held at a time."""

_SLACK = 1e-12


def equal_tags_p(
    values: Floats,
    tags: Integers,
    times: Integers,
    clusters: Integers | None,
    random: np.random.Generator,
) -> float:
    """Test that the mean scores of disjoint tags are equal.

    Tags are numbered from 0, and two or more occur. Clusters are None for independent
    examples. The p-value is `(1 + hits) / (1 + permutations)`, or that of F.
    """
    order = np.lexsort((values, tags, *([] if clusters is None else [clusters])))
    values, tags, times = values[order], tags[order], times[order]
    # brought to -1 to 1, so that squares are neither too large nor too small
    values = values / max(float(np.abs(values).max()), 1e-300)
    n = int(times.sum())
    values = values - math.fsum(values * times) / n
    if np.ptp(values) <= _SLACK:
        return 1.0
    if clusters is not None:
        return _clustered(values, tags, clusters[order], random)
    if n > MOST_PERMUTED:
        return _anova(values, tags, times)
    values, tags = np.repeat(values, times), np.repeat(tags, times)
    sizes = np.bincount(tags)
    if len(np.unique(values)) == 2:
        return _hypergeometric(values, tags, random)
    return _permuted(np.sort(values), _between(values, tags), sizes, random)


def _between(values: Floats, tags: Integers, times: Integers | int = 1) -> float:
    """Return the sum of squares between tags of values that add up to 0."""
    totals = np.bincount(tags, values * times)
    sizes = np.bincount(tags, np.broadcast_to(times, len(tags)))
    known = sizes > 0
    return float((totals[known] ** 2 / sizes[known]).sum())


def _anova(values: Floats, tags: Integers, times: Integers) -> float:
    between, n = _between(values, tags, times), int(times.sum())
    groups = len(np.unique(tags))
    within = float((values**2 * times).sum()) - between
    if within <= _SLACK * between:
        return 0.0
    ratio = (between / (groups - 1)) / (within / (n - groups))
    return f_tail(ratio, groups - 1, n - groups)


def _hypergeometric(
    values: Floats, tags: Integers, random: np.random.Generator
) -> float:
    """Permute two different values: how many of the higher each tag gets is drawn."""
    sizes = np.bincount(tags)
    low, high = values.min(), values.max()
    count = int(np.count_nonzero(values == high))
    permutations = sum(_blocks(10 * len(sizes)))
    drawn = random.multivariate_hypergeometric(sizes, count, size=permutations)
    known = sizes > 0
    totals = sizes * low + drawn * (high - low)
    between = (totals[:, known] ** 2 / sizes[known]).sum(axis=1)
    return _p_value(between, _between(values, tags))


def _permuted(
    values: Floats, observed: float, sizes: Integers, random: np.random.Generator
) -> float:
    """Permute rows and cut them into parts of the tags' sizes."""
    sizes = sizes[sizes > 0]
    starts = np.cumsum(sizes) - sizes
    parts = []
    for count in _blocks(len(values)):
        drawn = random.permuted(np.tile(values, (count, 1)), axis=1)
        parts.append((np.add.reduceat(drawn, starts, axis=1) ** 2 / sizes).sum(axis=1))
    return _p_value(np.concatenate(parts), observed)


def _clustered(
    values: Floats, tags: Integers, clusters: Integers, random: np.random.Generator
) -> float:
    """Permute clusters of one tag as a whole, and rows within clusters of several."""
    starts = np.flatnonzero(np.diff(clusters, prepend=clusters[0] - 1))
    sizes = np.diff(np.append(starts, len(values)))
    is_whole = np.logical_and.reduceat(np.repeat(tags[starts], sizes) == tags, starts)
    totals, first = np.add.reduceat(values, starts)[is_whole], tags[starts][is_whole]
    lengths, is_mixed = sizes[is_whole], np.repeat(~is_whole, sizes)
    # sorted by content, so that no name of a cluster matters
    order = np.lexsort((first, lengths, totals))
    first = first[order]
    mixed, cluster = tags[is_mixed], np.repeat(np.arange(len(sizes)), sizes)[is_mixed]
    sums = np.concatenate([totals[order], values[is_mixed]])
    counts = np.concatenate([lengths[order], np.ones(len(mixed), dtype=np.int64)])
    groups = int(tags.max()) + 1
    parts = []
    for count in _blocks(len(sums)):
        whole = random.permuted(np.tile(first, (count, 1)), axis=1)
        # within each cluster, the tags in a random order
        keys = cluster + random.random((count, len(mixed)))
        drawn = np.hstack([whole, mixed[np.argsort(keys, axis=1)]])
        parts.append(_between_drawn(drawn, sums, counts, groups))
    return _p_value(np.concatenate(parts), _between(values, tags))


def _between_drawn(
    drawn: Integers, totals: Floats, sizes: Integers, groups: int
) -> Floats:
    """Return the sum of squares between tags of each permutation."""
    count = len(drawn)
    cells = (drawn + groups * np.arange(count)[:, None]).ravel()
    shape = count, groups
    length = count * groups
    sums = np.bincount(cells, np.tile(totals, count), length).reshape(shape)
    rows = np.bincount(cells, np.tile(sizes, count), length).reshape(shape)
    between = np.divide(sums**2, rows, out=np.zeros(shape), where=rows > 0)
    found: Floats = between.sum(axis=1)
    return found


def _blocks(rows: int) -> list[int]:
    """Return how many permutations are made at a time."""
    wanted = min(PERMUTATIONS, max(_FEWEST_PERMUTATIONS, _MOST_DRAWN // rows))
    size = max(1, _BLOCK // rows)
    return [min(size, wanted - start) for start in range(0, wanted, size)]


def _p_value(drawn: Floats, observed: float) -> float:
    hits = int(np.count_nonzero(drawn >= observed * (1 - _SLACK)))
    return (1 + hits) / (1 + len(drawn))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that the chance of any false finding is at most alpha.

    The i-th smallest of m becomes the greatest of `min(1, (m - j + 1) p_j)` over all j
    up to i (Holm 1979), however the tests depend on each other.
    """
    adjusted = [0.0] * len(p_values)
    greatest = 0.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for place, index in enumerate(order):
        greatest = max(greatest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = greatest
    return adjusted
