"""Calls into a metric, and turns whatever it raises into an error that names it."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from typing import Any

from evalkit.base.failures import described, hook_failures
from evalkit.errors import MetricError
from evalkit.plugins.registry import Bound


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

    A metric raises `MetricError` itself to say what is wrong in its own words, such as
    a parameter that does not fit the data; the metric's name is added.

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
    except MetricError as error:
        origin = metric.component.origin
        if origin in str(error):
            raise
        raise MetricError(f"{origin}: {error}") from error
    except hook_failures() as error:
        raise failure(metric, step, error) from error


def failed_statement(error: BaseException) -> str | None:
    """Give the source line that raised an exception, where it is known."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    for frame in last:
        lines = linecache.getlines(frame.filename)
        part = lines[(frame.lineno or 1) - 1 : frame.end_lineno]
        return " ".join(line.strip() for line in part) or None
    return None
