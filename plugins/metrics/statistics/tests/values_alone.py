"""Scores without intervals, which take long to draw for many random sets."""

from typing import Any

import pytest

import evalkit
from evalkit import Metric
from evalkit.catalog import Registry, Resolver


def without_interval(name: str) -> Metric:
    """Return an installed metric that gives its values alone, under its own name.

    Args:
        name: Its name, with parameters.
    """
    bound = Resolver(Registry()).metric(name)
    plain = type("Plain", (type(bound.plugin),), {"interval": "none"})
    metric: Metric = plain(bound.parameters)
    return metric


def values_by_tag(
    name: str, predictions: Any, targets: Any, **options: Any
) -> dict[str | None, evalkit.Score]:
    """Return the score of the set (None) and of each tag."""
    found = evalkit.score(without_interval(name), predictions, targets, **options)
    return {score.tag: score for score in found.scores if not score.aggregate}


def same(value: float | None, wanted: float | None) -> bool:
    """Tell whether two values agree to nine digits, or are both null."""
    if value is None or wanted is None:
        return value is wanted
    return value == pytest.approx(wanted, rel=1e-9, abs=1e-9)
