"""Brings predictions and answers into types that metrics can compare.

Numbers and texts become texts, so that 1 and "1" are equal; a list predicted where
answers are single values becomes its JSON text, which the run says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from evalkit.base.columns import encode
from evalkit.base.terms import AnswerKind
from evalkit.base.violations import shorten
from evalkit.base.wording import count_of


def comparable(frame: pl.DataFrame, kind: AnswerKind) -> pl.DataFrame:
    """Write predictions and answers as texts where their types cannot be compared.

    Args:
        frame: Columns `prediction` and `target`, and others.
        kind: Shape of the answers; only single ones are written as texts.

    Returns:
        The frame, with the two columns as texts where one of them holds texts or lists
        and the other one does not; a text stays, another value is written as JSON.
    """
    target = frame.schema["target"]
    single = target.inner if isinstance(target, pl.List) else target
    if kind not in ("one", "any-of") or _are_alike(frame.schema["prediction"], single):
        return frame
    found = [_texts(frame["prediction"])]
    if not isinstance(target, pl.List):
        found.append(_texts(frame["target"]))
    return frame.with_columns(found)


def _are_alike(first: Any, second: Any) -> bool:
    if first == second or pl.Null in (first, second):
        return True
    return _is_number(first) and _is_number(second)


def _is_number(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype == pl.Boolean


def _texts(values: pl.Series) -> pl.Series:
    if values.dtype == pl.String:
        return values
    texts = [encode(value) for value in values.to_list()]
    return pl.Series(values.name, texts, dtype=pl.String)


def list_notices(
    predictions: pl.Series,
    kind: AnswerKind,
    ids: Sequence[str] | pl.Series,
    show: bool = True,
) -> Iterator[str]:
    """Say that lists were predicted where answers are single values.

    Args:
        predictions: The predictions as they were given.
        kind: Shape of the answers.
        ids: The id of each prediction's example.
        show: Whether a prediction may be quoted.

    Yields:
        A sentence; none where no list is compared as its JSON text.
    """
    if kind not in ("one", "any-of") or not isinstance(predictions.dtype, pl.List):
        return
    given = predictions.is_not_null()
    if not given.any():
        return
    place = int(given.arg_true()[0])
    text = encode(predictions[place : place + 1].to_list()[0])
    example = f"{shorten(text)} (id {ids[place]!r})" if show else f"id {ids[place]!r}"
    yield (
        f"{count_of(int(given.sum()), 'prediction')} given as a list where answers are "
        f"single values: each is compared as its JSON text, such as {example}"
    )
