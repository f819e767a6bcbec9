"""Chooses what of runs is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalkit import Result


def only_metrics(results: Sequence[Result], metrics: Sequence[str]) -> list[Result]:
    """Leave out the scores of other metrics."""
    from evalkit import DataError

    if not metrics:
        return list(results)
    known = dict.fromkeys(name for result in results for name in result.metrics)
    for name in metrics:
        if name not in known:
            raise DataError(
                f"no run has a score {name!r}; there are: {', '.join(known) or 'none'}"
            )
    for result in results:
        # a run that was read here is of nobody else
        result.scores = tuple(
            score for score in result.scores if score.metric in metrics
        )
    return list(results)
