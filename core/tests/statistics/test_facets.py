"""The test of a facet agrees with scipy, and with all permutations one by one."""

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from evalkit.statistics import facets
from evalkit.statistics.facets import equal_tags_p

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def between(values: Floats, tags: Integers) -> float:
    mean = values.mean()
    groups = [values[tags == tag] for tag in np.unique(tags)]
    return float(sum(len(each) * (each.mean() - mean) ** 2 for each in groups))


def p_of(
    values: Floats, tags: Integers, clusters: Integers | None = None, seed: int = 0
) -> float:
    once = np.ones(len(tags), dtype=np.int64)
    return equal_tags_p(values, tags, once, clusters, np.random.default_rng(seed))


def share_as_great(values: Floats, ways: list[Integers], tags: Integers) -> float:
    observed = between(values, tags) * (1 - 1e-9)
    return float(np.mean([between(values, way) >= observed for way in ways]))


def test_shares_of_two_tags_have_the_hypergeometric_distribution() -> None:
    values = np.array([1.0] * 17 + [0.0] * 8 + [1.0] * 9 + [0.0] * 14)
    tags = np.repeat([0, 1], [25, 23])
    table = stats.hypergeom(48, 26, 25)
    outcomes = np.arange(3, 26)
    statistic = np.abs(outcomes / 25 - (26 - outcomes) / 23)
    is_as_great = statistic >= abs(17 / 25 - 9 / 23) - 1e-9
    expected = table.pmf(outcomes)[is_as_great].sum()
    assert p_of(values, tags) == pytest.approx(expected, abs=0.006)


def between_tags(*parts: Any, axis: int) -> Any:
    """Grows with F, as the sum of squares of all values stays the same."""
    return sum(part.sum(axis) ** 2 / part.shape[axis] for part in parts)


def test_scores_of_several_tags_are_permuted() -> None:
    random = np.random.default_rng(1)
    tags = random.integers(0, 4, 90)
    values = random.exponential(size=90) + 0.2 * tags
    f = stats.f_oneway(*(values[tags == tag] for tag in range(4)))
    assert p_of(values, tags) == pytest.approx(float(f.pvalue), abs=0.03)
    found = stats.permutation_test(
        [values[tags == tag] for tag in range(4)],
        between_tags,
        vectorized=True,
        alternative="greater",
        n_resamples=2_000,
        rng=np.random.default_rng(2),
    )
    assert p_of(values, tags) == pytest.approx(float(found.pvalue), abs=0.03)


def test_many_rows_have_the_f_test(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(2)
    tags = random.integers(0, 5, 400)
    values = random.normal(size=400) + 0.1 * tags
    monkeypatch.setattr(facets, "MOST_PERMUTED", 399)
    expected = stats.f_oneway(*(values[tags == tag] for tag in range(5))).pvalue
    assert p_of(values, tags) == pytest.approx(float(expected), rel=1e-9)


def test_clusters_of_one_tag_are_permuted_as_a_whole() -> None:
    values = np.array([1.0, 2, 2, 0, 0, 1, 4, 3, 5, 4, 3, 2, 2, 1])
    clusters = np.array([9, 9, 9, 2, 2, 3, 4, 4, 4, 5, 5, 6, 6, 6])
    tags = np.array([0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1])
    names, rows = np.unique(clusters, return_inverse=True)
    of_cluster = np.array([tags[clusters == name][0] for name in names])
    ways = [np.array(way)[rows] for way in permutations(of_cluster.tolist())]
    expected = share_as_great(values, ways, tags)
    assert p_of(values, tags, clusters) == pytest.approx(expected, abs=0.015)


def test_clusters_of_one_tag_and_of_several_are_permuted_together() -> None:
    values = np.array([5.0, 4, 5, 4, 3, 4, 0, 1, 0, 1, 2, 2, 1, 3])
    clusters = np.array([1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 8, 8])
    tags = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1])
    whole, sizes = [*permutations([0, 0, 0, 0, 1, 1, 1])], [2, 1, 2, 1, 2, 1, 2]
    ways = [
        np.array([*np.repeat(way, sizes), *within])
        for way in {*whole}
        for within in {*permutations([0, 0, 1])}
    ]
    expected = share_as_great(values, ways, tags)
    assert p_of(values, tags, clusters) == pytest.approx(expected, abs=0.01)


def test_rows_of_clusters_of_several_tags_are_permuted_within_them() -> None:
    values = np.array([1.0, 2, 4, 0, 1, 3, 2, 2, 5])
    clusters = np.repeat([7, 1, 3], 3)
    tags = np.tile([0, 1, 2], 3)
    every = [*permutations([0, 1, 2])]
    ways = [np.array([*a, *b, *c]) for a, b, c in product(every, every, every)]
    expected = share_as_great(values, ways, tags)
    assert p_of(values, tags, clusters) == pytest.approx(expected, abs=0.015)


@pytest.mark.parametrize("kind", ["ones", "values", "clusters", "within"])
def test_the_order_and_the_names_of_rows_do_not_matter(kind: str) -> None:
    random = np.random.default_rng(3)
    tags = np.arange(60) % 3
    values = np.round(random.normal(size=60), 1)
    if kind == "ones":
        values = (values > 0).astype(float)
    clusters = None
    if kind == "clusters":
        clusters = tags + 3 * (np.arange(60) // 12)
    if kind == "within":
        clusters = np.arange(60) // 6
    found = p_of(values, tags, clusters)
    order = random.permutation(60)
    turned = None if clusters is None else clusters[order]
    assert p_of(values[order], tags[order], turned) == found


def test_equal_scores_have_no_evidence_and_others_never_a_p_of_zero() -> None:
    tags = np.arange(40) % 2
    assert p_of(np.full(40, 0.3), tags) == 1.0
    assert p_of(tags.astype(float), tags) == 1 / 10_000


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ones", "values", "clusters", "within"])
def test_p_values_of_equal_tags_are_uniform(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets, "PERMUTATIONS", 399)
    random = np.random.default_rng(4)
    tags = np.arange(240) % 6
    clusters = {"clusters": tags + 6 * (np.arange(240) // 24)}.get(kind)
    if kind == "within":
        clusters = np.arange(240) // 8
    found = []
    for _ in range(400):
        values = random.normal(size=240)
        if clusters is not None:
            values += random.normal(size=clusters.max() + 1)[clusters]
        if kind == "ones":
            values = (values > 0.5).astype(float)
        found.append(p_of(values, tags, clusters))
    for level in (0.05, 0.2, 0.5):
        spread = (level * (1 - level) / 400) ** 0.5
        assert np.mean(np.array(found) <= level) == pytest.approx(
            level, abs=3.5 * spread + 0.01
        )
