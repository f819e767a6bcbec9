"""Clusters find what a comparison says that they would."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

import evalkit_analysis_compare.examples as examples
from evalkit.inference.cluster_sizes import cluster_sums, variance_components
from evalkit_analysis_compare import ComparedScore, compare
from evalkit_analysis_compare.cluster_power import UnitModel, detectable_with
from evalkit_analysis_compare.sample_sizes import Goal
from evalkit_analysis_compare.sign_flips import flip_test
from evalkit_analysis_compare.spreads import agreeing, spread_of

from .comparison_runs import make_run

LEVEL, POWER = 0.05, 0.8
CLUSTERS = 15
SIZES = {
    "equal": np.full(CLUSTERS, 6),
    "geometric": np.geomspace(2, 60, CLUSTERS).round().astype(int),
    "one has half": np.array([140] + [10] * (CLUSTERS - 1)),
}


def drawn(
    random: np.random.Generator,
    sizes: NDArray[np.int64],
    difference: float,
    *,
    is_share: bool,
) -> NDArray[np.float64]:
    """Draw differences of two models whose answers are alike within clusters.

    They come from normal variables, another world than the one that is supposed.
    """
    hidden = []
    for _ in range(3):
        of_cluster = random.normal(size=len(sizes)).repeat(sizes)
        of_example = random.normal(size=sizes.sum())
        hidden.append(np.sqrt(0.3) * of_cluster + np.sqrt(0.7) * of_example)
    scores = [np.sqrt(0.5) * (own + hidden[2]) for own in hidden[:2]]
    if not is_share:
        return difference + scores[0] - scores[1]
    share = 0.5 if difference > 0.5 else 0.7
    limits = [NormalDist().inv_cdf(share + sign * difference / 2) for sign in (1, -1)]
    return np.subtract(
        *(score < limit for score, limit in zip(scores, limits, strict=True)),
        dtype=float,
    )


@pytest.mark.parametrize("is_share", [True, False], ids=["share", "real"])
@pytest.mark.parametrize("name", SIZES)
def test_a_difference_is_found_as_often_as_is_said(
    name: str, *, is_share: bool
) -> None:
    """What the formula gave for shares was found in 44 to 65 % of such sets."""
    random = np.random.default_rng(7)
    sizes = SIZES[name]
    pilot = drawn(random, np.tile(sizes, 150), 0.0, is_share=is_share)
    numbers = np.arange(150 * CLUSTERS).repeat(np.tile(sizes, 150))
    totals, counts = cluster_sums(pilot, numbers)
    squares, _ = cluster_sums(pilot**2, numbers)
    between, within = map(float, variance_components(totals, squares, counts))
    unequal = float(np.abs(pilot).mean())

    def model_of(difference: float) -> UnitModel:
        correlation = between / (between + within)
        model = UnitModel(counts[:CLUSTERS], correlation, None, between + within)
        if not is_share:
            return model
        share = min(1.0, max(difference, unequal + difference**2))
        return model._replace(disagreement=share, variance=None)

    goal = Goal(0.1, LEVEL, POWER)
    most = 1.0 if is_share else 9.0
    size = detectable_with(model_of, goal, None, 0.3, most)
    assert size is not None
    numbers, sets, found = numbers[: sizes.sum()], 120, 0
    keys = np.arange(CLUSTERS, dtype=np.uint64)
    for _ in range(sets):
        differences = drawn(random, sizes, size, is_share=is_share)
        spread = spread_of(differences, numbers, shares=is_share)
        tested = flip_test(cluster_sums(differences, numbers)[0], keys)
        if spread.is_skewed:
            tested = agreeing(tested, spread.intervals)
        low = spread.intervals(1 - LEVEL).low
        found += tested.p_value < LEVEL and low is not None and low > 0
    # a standard error of the sets to either side of .75 to .90
    assert 0.71 < found / sets < 0.93


def compared(sizes: list[int], *, equal: bool = False) -> ComparedScore:
    random = np.random.default_rng(1)
    numbers = np.arange(len(sizes)).repeat(sizes).tolist()
    first = (random.random(sum(sizes)) < 0.7).astype(float)
    second = first if equal else (random.random(sum(sizes)) < 0.7).astype(float)
    runs = [
        make_run(model, per_example={"m": values.tolist()}, clusters=numbers)
        for model, values in (("a", first), ("b", second))
    ]
    [row] = compare(*runs, tags=False).rows
    return row


def test_the_sentence_of_few_clusters_has_what_they_find() -> None:
    row = compared([6] * 30)
    assert row.smallest_detectable is not None
    points = f"{100 * row.smallest_detectable:.1f} points"
    assert f"a true difference of {points} would be found" in row.conclusion
    again = compared([6] * 30)
    assert again.smallest_detectable == row.smallest_detectable


def test_nothing_is_promised_where_too_many_unequal_clusters_would_be_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(examples, "_MOST_DRAWN", 20)
    row = compared([300] + [2] * 29)
    assert row.smallest_detectable is None
    assert row.conclusion.endswith(
        "; in clusters as few or as unequal as these no true difference is known that "
        "would be found with a probability of about 80 %"
    )
