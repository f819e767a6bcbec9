"""Runs a check on data that hypothesis draws, the same data each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

Sample = TypeVar("Sample")


def run_drawn(
    check: Callable[[Sample], None],
    drawn: st.SearchStrategy[Sample],
    max_examples: int,
    shrinks: bool,
) -> None:
    """Check what is drawn.

    Args:
        check: Raises where something is wrong with what was drawn.
        drawn: Draws it.
        max_examples: How often.
        shrinks: Whether to look for smaller data once it raised.

    Raises:
        Exception: What the check raised; for the smallest data where it shrinks.
    """

    @settings(
        max_examples=max_examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(sample=drawn)
    def run(sample: Sample) -> None:
        check(sample)

    run()
