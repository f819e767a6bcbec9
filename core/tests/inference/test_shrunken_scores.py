from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from evalkit.inference.shrunken_scores import shrink, variance_between


def test_the_variance_between_groups_solves_the_equation_of_paule_and_mandel() -> None:
    random = np.random.default_rng(0)
    noise = random.uniform(0.001, 0.01, 15)
    values = random.normal(0.7, 0.1, 15) + np.sqrt(noise) * random.normal(size=15)

    def excess(between: float) -> float:
        weights = 1 / (noise + between)
        centre = np.average(values, weights=weights)
        return float((weights * (values - centre) ** 2).sum()) - 14

    expected = optimize.brentq(excess, 0, 1, xtol=1e-15)
    assert variance_between(values, noise) == pytest.approx(expected, rel=1e-9)


def test_scores_are_drawn_to_the_mean_by_the_share_that_is_chance() -> None:
    values, noise = np.array([0.2, 0.5, 0.8]), np.array([0.01, 0.02, 0.04])
    between = variance_between(values, noise)
    assert between > 0
    weights = 1 / (noise + between)
    centre = np.average(values, weights=weights)
    expected = [
        # the mean of the posterior of a normal score with a normal prior
        (between * value + own * centre) / (between + own)
        for value, own in zip(values, noise, strict=True)
    ]
    assert shrink(values, noise).tolist() == pytest.approx(expected)


def test_groups_that_vary_by_chance_alone_have_one_score() -> None:
    values, noise = np.array([0.5, 0.52, 0.48, 0.51]), np.full(4, 0.01)
    assert shrink(values, noise).tolist() == pytest.approx([0.5025] * 4)


def test_groups_without_a_variance_or_two_alone_are_not_drawn() -> None:
    found = shrink(np.array([0.1, 0.5, 0.9, 0.4]), np.array([0.01, np.nan, 0.01, 0.01]))
    assert np.isnan(found).tolist() == [False, True, False, False]
    assert np.isnan(shrink(np.array([0.1, 0.9]), np.array([0.01, 0.01]))).all()


def test_shrunken_scores_are_closer_to_the_truth_than_raw_ones() -> None:
    """Tags of 8: what looks worst at .64 is .85 in truth."""
    random = np.random.default_rng(1)
    raw_error = shrunken_error = raw_worst = shrunken_worst = 0.0
    sets = 300
    for _ in range(sets):
        truths = np.clip(random.normal(0.85, 0.05, 20), 0, 1)
        right = random.binomial(8, truths)
        values = right / 8
        pooled = right.mean() / 8
        shrunken = shrink(values, np.full(20, pooled * (1 - pooled) / 8))
        raw_error += ((values - truths) ** 2).mean() / sets
        shrunken_error += ((shrunken - truths) ** 2).mean() / sets
        worst = int(np.argmin(values))
        raw_worst += (truths[worst] - values[worst]) / sets
        shrunken_worst += (truths[worst] - shrunken[worst]) / sets
    assert shrunken_error < 0.3 * raw_error
    assert raw_worst > 0.18
    assert abs(shrunken_worst) < 0.03
