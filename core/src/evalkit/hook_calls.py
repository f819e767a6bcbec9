"""Calls into a metric, and turns whatever it raises into an error that names it."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from typing import Any

import polars as pl

from evalkit.errors import MetricError
from evalkit.registry import Bound

HOOK_FAILURES = (Exception, SystemExit, pl.exceptions.PanicException)
"""What a hook may raise that is its own failure; an interrupt by the user is none."""


def described(error: BaseException) -> str:
    """Give the type of an exception, and its text where it has one."""
    text = f": {error}" if str(error) else ""
    return f"{type(error).__name__}{text}"


def failure(metric: Bound, step: str, error: BaseException) -> MetricError:
    """Wrap an exception of a metric.

    Args:
        metric: The metric.
        step: What it was doing.
        error: What it raised.

    Returns:
        An error that names the metric; chain it with `from`.
    """
    return MetricError(
        f"{metric.component.origin}: {step} failed with {described(error)}"
    )


def call(metric: Bound, step: str, function: Callable[[], Any]) -> Any:
    """Call into a metric and wrap whatever it raises.

    Args:
        metric: The metric.
        step: What it is doing.
        function: The call.

    Returns:
        What the call returned.

    Raises:
        MetricError: The call raised.
    """
    try:
        return function()
    except MetricError:
        raise
    except HOOK_FAILURES as error:
        raise failure(metric, step, error) from error


def failed_statement(error: BaseException) -> str | None:
    """Give the source line that raised an exception, where it is known."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    for frame in last:
        lines = linecache.getlines(frame.filename)
        part = lines[(frame.lineno or 1) - 1 : frame.end_lineno]
        return " ".join(line.strip() for line in part) or None
    return None
