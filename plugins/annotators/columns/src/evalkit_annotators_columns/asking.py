"""Asks an annotator for rows: again where that may help, else one by one."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from evalkit import NotScored, TryAgain
from evalkit.base.failures import text_of
from evalkit.base.terms import storable
from evalkit.catalog import described, hook_failures, located
from evalkit.errors import AnnotatorError, PluginError
from evalkit_annotators_columns.answers import Answer, read_answer, without_value
from evalkit_annotators_columns.bound import BoundAnnotator

_hands_on_calls = True  # what fails here is in an annotator

LONGEST_PAUSE = 60.0
"""The most seconds to wait before an annotator is asked again."""

Row = Mapping[str, Any]
"""The arguments of an annotator for one row."""


def ask_rows(annotator: BoundAnnotator, rows: Sequence[Row]) -> list[Answer]:
    """Ask an annotator for rows.

    Args:
        annotator: The annotator.
        rows: Its arguments for each row.

    Returns:
        What it said of each, in their order.

    Raises:
        AnnotatorError: It says that it cannot be asked.
    """
    size, tries = annotator.rows_at_once, annotator.retries + 1
    calls = (rows[start : start + size] for start in range(0, len(rows), size))
    return [answer for call in calls for answer in _ask(annotator, call, tries)]


def _ask(
    annotator: BoundAnnotator, rows: Sequence[Row], tries: int, asked: int = 0
) -> list[Answer]:
    """Ask for rows in one call, and one by one where it fails for several."""
    started = time.monotonic()
    for attempt in range(tries):
        try:
            with annotator.named():
                entries = annotator.ask(rows)
        except AnnotatorError:
            raise
        except NotScored as outcome:
            if len(rows) > 1:
                return _ask_alone(annotator, rows, tries, asked)
            entries = [outcome]
        except hook_failures() as error:
            passing = _may_pass(error)
            if passing is not None and attempt + 1 < tries:
                time.sleep(_pause(annotator, passing, attempt))
                continue
            if len(rows) > 1:
                # it was asked again for all of them already
                left = 1 if passing else tries
                return _ask_alone(annotator, rows, left, asked + attempt + 1)
            took = time.monotonic() - started
            times = asked + attempt + 1
            return [_failed(annotator, error, passing, times)._replace(seconds=took)]
        took = (time.monotonic() - started) / len(rows)
        return [read_answer(annotator, entry, took) for entry in entries]
    raise AssertionError("an annotator is asked at least once")


def _ask_alone(
    annotator: BoundAnnotator, rows: Sequence[Row], tries: int, asked: int
) -> list[Answer]:
    return [answer for row in rows for answer in _ask(annotator, [row], tries, asked)]


def _may_pass(error: BaseException) -> BaseException | None:
    """Return what says that an annotator may answer when it is asked again."""
    for found in (error, error.__cause__, error.__context__):
        if isinstance(found, TryAgain | TimeoutError | ConnectionError):
            return found
    return None


def _pause(annotator: BoundAnnotator, error: BaseException, attempt: int) -> float:
    after = error.after if isinstance(error, TryAgain) else None
    wanted = annotator.pause * 2.0 ** min(attempt, 60)
    if isinstance(after, int | float) and not math.isnan(after):
        wanted = after
    return min(max(wanted, 0.0), LONGEST_PAUSE)


def _failed(
    annotator: BoundAnnotator,
    error: BaseException,
    passing: BaseException | None,
    asked: int,
) -> Answer:
    if passing is None:
        where = f"{annotator.component.origin}: {annotator.hook}"
        if isinstance(error, PluginError):  # what it returned, in our own words
            return without_value(text_of(error), failed=True)
        return without_value(f"{where} failed with {located(error)}", failed=True)
    said = passing.reason if isinstance(passing, TryAgain) else described(error)
    times = f"{asked} times" if asked > 1 else "once"
    return without_value(storable(f"{said} (asked {times})"))
