"""Worlds of models that give each label a probability."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import NormalDist

import numpy as np
import polars as pl
from simulated_sets import Floats, Outcomes, Random, Sample, choose, set_outcomes

Simulate = Callable[[Random, int, int], Mapping[str, Outcomes]]

TWO = pl.Series(["no", "yes"])
_MANY = 400_000


def _two(random: Random, positives: float, apart: float, count: int) -> Sample:
    """Draw normal scores of two classes, whose means are so far apart."""
    is_yes = (random.random(count) < positives).astype(np.int64)
    scores = random.normal(apart * is_yes)
    yes = 1 / (1 + np.exp(-scores))
    return _sample(is_yes, np.column_stack([1 - yes, yes]), TWO)


def _sample(gold: np.ndarray, shares: Floats, names: pl.Series) -> Sample:
    columns = dict(zip(names.to_list(), shares.T, strict=True))
    return Sample(
        choose(names, shares.argmax(axis=1)),
        choose(names, gold),
        np.zeros(len(gold), dtype=np.int64),
        fields={"prob": pl.DataFrame(columns).to_struct("prob")},
    )


def _world(
    metric: str, draw: Callable[[Random, int], Sample], truth: float
) -> Simulate:
    def simulate(random: Random, sets: int, n: int) -> Mapping[str, Outcomes]:
        sample = draw(random, sets * n)
        numbered = sample._replace(sets=np.repeat(np.arange(sets), n))
        return {"": set_outcomes(metric, numbered, truth)}

    return simulate


def _auroc(positives: float, truth: float) -> Simulate:
    apart = math.sqrt(2) * NormalDist().inv_cdf(truth)
    return _world("auroc", lambda random, n: _two(random, positives, apart, n), truth)


def _average_precision(positives: float, apart: float) -> Simulate:
    """Give the world of a class, whose truth is a sum over a fine grid of scores."""
    grid = np.linspace(-6, 6 + apart, _MANY)
    normal = NormalDist()
    missed = np.array([normal.cdf(x - apart) for x in grid[::400]])
    below = np.array([normal.cdf(x) for x in grid[::400]])
    right, wrong = positives * (1 - missed), (1 - positives) * (1 - below)
    precision = right[:-1] / (right[:-1] + wrong[:-1])
    truth = float((precision * np.diff(missed)).sum())
    return _world(
        "average-precision:label=yes",
        lambda random, n: _two(random, positives, apart, n),
        truth,
    )


def _sure(random: Random, count: int) -> Sample:
    """Draw a calibrated model, of confidences between one half and 1."""
    confidence = random.uniform(0.5, 1.0, count)
    said = random.integers(2, size=count)
    gold = np.where(random.random(count) < confidence, said, 1 - said)
    yes = np.where(said == 1, confidence, 1 - confidence)
    return _sample(gold, np.column_stack([1 - yes, yes]), TWO)


def _three(random: Random, count: int) -> Sample:
    """Draw three classes that are told apart one by one with an AUROC of .85."""
    gold = random.integers(3, size=count)
    scores = random.normal(size=(count, 3))
    scores[np.arange(count), gold] += math.sqrt(2) * NormalDist().inv_cdf(0.85)
    # each score is a probability, of which the sum is of no matter to the ranks
    shares = 1 / (1 + np.exp(-scores))
    return _sample(gold, shares, pl.Series(["a", "b", "c"]))


WORLDS: Mapping[str, Simulate] = {
    "AUROC of .75, 30 % positives": _auroc(0.3, 0.75),
    "AUROC of .95, 10 % positives": _auroc(0.1, 0.95),
    "AUROC of .85, 3 classes": _world("auroc", _three, 0.85),
    "average precision, 10 % positives, AUROC of .92": _average_precision(0.1, 2.0),
    "average precision, 30 % positives, AUROC of .76": _average_precision(0.3, 1.0),
    "selective accuracy of the surer half, .875": _world(
        "selective-accuracy", _sure, 0.875
    ),
    "area under accuracy by coverage, .875": _world(
        "coverage-accuracy-area", _sure, 0.875
    ),
}
