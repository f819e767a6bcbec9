"""Puts together what was made of rows that were judged in several ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from evalkit.base.ids import RESPONSES_KEY
from evalkit.predictions.alternatives import alternatives_column
from evalkit.reading.field_types import holds_more_than_plain
from evalkit.reading.typed_values import MisfitError, typed_series

_MOST_REASONS = 20
"""Reasons why answers could not be extracted that are told apart."""

OTHER_REASONS = "other reasons"
"""Stands for those that are not."""


def counted(reasons: Iterable[str]) -> dict[str, int]:
    """Count reasons, the rare ones of many together.

    Args:
        reasons: Why answers could not be extracted.

    Returns:
        The counts, the most frequent first.
    """
    counts = sorted(Counter(reasons).items(), key=lambda item: (-item[1], item[0]))
    rare = sum(count for _, count in counts[_MOST_REASONS:])
    return dict(counts[:_MOST_REASONS]) | ({OTHER_REASONS: rare} if rare else {})


def typed_values(
    name: str, parts: Sequence[pl.Series], values: list[Any], dtype: pl.DataType | None
) -> pl.Series | None:
    """Join columns and values of the type that a field has; None where some have not.

    Answers of several parts are lists of values of that type.

    Args:
        name: Name of the column.
        parts: Columns.
        values: Values, which come after them.
        dtype: The type.
    """
    if dtype is None:
        return None
    are_lists = any(isinstance(value, list) for value in values)
    if are_lists and not isinstance(dtype, pl.List):
        dtype = pl.List(dtype)
    try:
        found = typed_series(name, values, dtype)
    except MisfitError:
        return None
    if any(part.dtype != dtype for part in parts):
        return None
    return pl.concat([*parts, found]) if parts else found


def alone(prediction: Any) -> list[Any]:
    """Return the one answer of a response as a list, none for none.

    Args:
        prediction: The answer.
    """
    return [] if prediction is None else [prediction]


def ranked_column(
    values: Sequence[Sequence[Any]], dtype: pl.DataType | None
) -> pl.Series:
    """Return the predictions of all alternatives as a column.

    Args:
        values: Those of each response.
        dtype: The type of a prediction; None where that is not known.
    """
    if holds_more_than_plain(dtype) and dtype is not None:
        typed = typed_values(RESPONSES_KEY, [], [*values], pl.List(dtype))
        if typed is not None:
            return typed
    return alternatives_column(values)


def lists_of(
    columns: Sequence[pl.DataFrame],
    predictions: Iterable[Any],
    alternatives: Iterable[Sequence[Any] | None],
) -> list[Any]:
    """Return the alternatives of all rows, in which a plain prediction is the one.

    Args:
        columns: Rows that were judged as columns, with `prediction`.
        predictions: Predictions of the rows that were judged one by one.
        alternatives: Those of the same rows; None for a row without any.

    Returns:
        A list for each row, None where it has no prediction.
    """
    given = zip(predictions, alternatives, strict=True)
    return [
        *(alone(value) for part in columns for value in part["prediction"]),
        *(alone(one) if ranked is None else ranked for one, ranked in given),
    ]
