"""Texts about the examples to which a metric itself gave no score.

They were handed to the metric, so neither the predictions nor a policy are the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.base.violations import shorten
from evalkit.plugins.bound import BoundMetric

NOTHING_SCORED = "no example was scored"

_SHOWN_REASONS = 3


def failure_text(metric: BoundMetric, failed: int, given: str, first: str) -> str:
    """Say for how many examples a metric failed that has scores of others.

    Args:
        metric: The metric.
        failed: For how many.
        given: Of how many, with the word for them.
        first: The first failure.

    Returns:
        The text.
    """
    origin = metric.component.origin
    own = first.removeprefix(f"{origin}: ")
    # the reason of a computed column names what computed it
    why = f", as it failed: {own}" if own != first else f": {first}"
    return f"{origin}: {failed} of {given} left out{why}"


def reasons_of(times: Mapping[str, int]) -> str:
    """List the most frequent reasons.

    Args:
        times: How often each was given.

    Returns:
        The text.
    """
    ranked = sorted(times.items(), key=lambda each: (-each[1], each[0]))
    shown = [f"{shorten(why, 60)}: {count}" for why, count in ranked[:_SHOWN_REASONS]]
    more = len(ranked) - _SHOWN_REASONS
    return ", ".join([*shown, *([f"{more} more reasons"] if more > 0 else [])])


def silence_of(metric: BoundMetric) -> str:
    """Say how a metric left out an example without a reason."""
    if metric.has("statistics"):
        return "statistics gave no row"
    return f"{metric.example_hook or 'example_statistics'} returned None"
