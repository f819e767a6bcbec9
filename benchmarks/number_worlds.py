"""Worlds of numbers: errors, correlations, ratings, and log-probabilities of texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
from simulated_sets import Floats, Outcomes, Random, Sample, set_outcomes

Simulate = Callable[[Random, int, int], Mapping[str, Outcomes]]
DrawPairs = Callable[[Random, int], tuple[Floats, Floats]]
"""Draws that many predictions and answers."""


def _sets(sets: int, n: int) -> np.ndarray:
    return np.repeat(np.arange(sets), n)


def _pairs(metric: str, draw: DrawPairs, truth: float) -> Simulate:
    def simulate(random: Random, sets: int, n: int) -> Mapping[str, Outcomes]:
        predictions, answers = draw(random, sets * n)
        sample = Sample(pl.Series(predictions), pl.Series(answers), _sets(sets, n))
        return {"": set_outcomes(metric, sample, truth)}

    return simulate


def correlated(metric: str, rho: float) -> Simulate:
    """Make a world of normal predictions and answers with a correlation."""

    def draw(random: Random, count: int) -> tuple[Floats, Floats]:
        answers = random.normal(size=count)
        noise = random.normal(size=count)
        return rho * answers + math.sqrt(1 - rho**2) * noise, answers

    truths = {
        "pearson": rho,
        "spearman": 6 / math.pi * math.asin(rho / 2),
        "kendall": 2 / math.pi * math.asin(rho),
    }
    return _pairs(metric, draw, truths[metric])


def explained(metric: str, share: float) -> Simulate:
    """Make a world in which predictions explain a share of normal answers."""

    def draw(random: Random, count: int) -> tuple[Floats, Floats]:
        predictions = math.sqrt(share) * random.normal(size=count)
        errors = math.sqrt(1 - share) * random.normal(size=count)
        return predictions, predictions + errors

    return _pairs(metric, draw, share if metric == "r2" else math.sqrt(1 - share))


def lognormal_errors(metric: str, sigma: float) -> Simulate:
    """Make a world of a few large errors."""

    def draw(random: Random, count: int) -> tuple[Floats, Floats]:
        errors = np.exp(sigma * random.normal(size=count))
        return errors, np.zeros(count)

    truth = math.exp(sigma**2 / 2 if metric == "mae" else sigma**2)
    return _pairs(metric, draw, truth)


def ratings(metric: str, sure: float) -> Simulate:
    """Make a world of three ratings, each of them right, or else one of three names."""

    def simulate(random: Random, sets: int, n: int) -> Mapping[str, Outcomes]:
        right = random.integers(0, 3, sets * n)
        guesses = random.integers(0, 3, (sets * n, 3))
        is_sure = random.random((sets * n, 3)) < sure
        numbers = np.where(is_sure, right[:, None], guesses)
        rated = pl.Series(numbers.tolist(), dtype=pl.List(pl.Int64))
        first = rated.list.first()
        fields = {"responses": rated}
        sample = Sample(first, first, _sets(sets, n), fields=fields)
        return {"": set_outcomes(metric, sample, sure**2)}

    return simulate


def texts(random: Random, sets: int, n: int) -> Mapping[str, Outcomes]:
    """Draw texts of lognormal length, in each of which tokens cost other nats."""
    tokens = np.ceil(np.exp(3 + random.normal(size=sets * n)))
    nats = random.gamma(4, 0.5, sets * n)  # 2 a token on average
    text = pl.repeat("", sets * n, eager=True)
    fields = {"logprob": pl.Series(-nats * tokens), "num_tokens": pl.Series(tokens)}
    sample = Sample(text, text, _sets(sets, n), fields=fields)
    return {"": set_outcomes("perplexity", sample, math.exp(2))}
