"""Scores of a run in the form of Dynabench's: `perf` and `perf_by_tag`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def perf_of(
    scores: Iterable[Mapping[str, Any]], metric: str, scale: float, unit: str
) -> dict[str, Any]:
    """Return the headline of a run as Dynabench's `scores` have it.

    Args:
        scores: Rows of the table of scores, as far as they may be shown.
        metric: The headline metric.
        scale: Factor of its values as shown.
        unit: Unit of its values as shown.

    Returns:
        `perf`, `pretty_perf` and `perf_by_tag`; `perf` is None without a score.
    """
    found = {
        score["tag"]: _perf(score["value"], scale, unit)
        for score in scores
        if score["metric"] == metric
    }
    whole = found.pop("", _perf(None, scale, unit))
    tags = [
        {"tag": tag, **perf, "perf_dict": {metric: perf["perf"]}}
        for tag, perf in sorted(found.items())
    ]
    return {**whole, "perf_by_tag": tags}


def _perf(value: float | None, scale: float, unit: str) -> dict[str, Any]:
    if value is None:
        return {"perf": None, "pretty_perf": None}
    perf = round(value * scale, 2)
    return {"perf": perf, "pretty_perf": f"{perf} {unit}".rstrip()}
