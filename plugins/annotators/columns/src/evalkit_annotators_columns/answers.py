"""What an annotator said of a row: a value, or why there is none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from evalkit import Annotation, NotScored
from evalkit.base.columns import list_column, native
from evalkit.base.terms import storable
from evalkit.base.violations import shorten
from evalkit.catalog import described, hook_failures
from evalkit_annotators_columns.bound import BoundAnnotator

_LARGEST = 2**63
"""Integers from here on fit into no column."""

_VALUES = "a number, a boolean, a text, or a list of numbers or of texts"

_TYPES: Mapping[str, Any] = {
    "a boolean": pl.Boolean,
    "a text": pl.String,
    "a list of numbers": pl.List(pl.Float64),
}


class Answer(NamedTuple):
    """What an annotator said of one row."""

    values: Mapping[str, Any]
    """By column, "" for an annotator with one; empty where there is a reason."""
    text: str | None = None
    cost: float | None = None
    seconds: float | None = None
    """How long it took, with the waits before it was asked again; of rows that it was
    asked for at once their share of it."""
    reason: str | None = None
    """Why there is no value."""
    failed: bool = False
    """Whether the annotator failed, and did not say so on purpose."""
    is_final: bool = True
    """Whether it is a value, or the annotator says on purpose that there is none."""
    is_repeated: bool = False
    """Whether it is the answer to an equal row."""


def without_value(reason: str, failed: bool = False, final: bool = False) -> Answer:
    """Return the answer of a row that has no value."""
    return Answer({}, reason=reason, failed=failed, is_final=final)


def read_answer(annotator: BoundAnnotator, entry: Any, seconds: float) -> Answer:
    """Check what an annotator returned for a row."""
    try:
        return _read(annotator, entry, seconds)
    except hook_failures() as error:  # an object's own methods may raise anything
        where = f"{annotator.component.origin}: {annotator.hook}"
        why = f"{where}: what it gave cannot be read: {described(error)}"
        return without_value(why, failed=True)


def _read(annotator: BoundAnnotator, entry: Any, seconds: float) -> Answer:
    if isinstance(entry, NotScored):
        reason = entry.reason.strip() or "no reason given"
        return without_value(reason, final=True)._replace(seconds=seconds)
    said = entry if isinstance(entry, Annotation) else Annotation(entry)
    values, problem = _values(annotator.columns, said.value)
    if problem is None and not isinstance(said.text, str | None):
        problem = f"its text must be a text, is {shorten(said.text)}"
    cost = said.cost if said.cost is None else native(said.cost)
    if problem is None and not (cost is None or kind_of(cost) == "a number"):
        problem = f"its cost must be a number, is {shorten(said.cost)}"
    if problem is not None:
        origin = annotator.component.origin
        return without_value(f"{origin}: {annotator.hook}: {problem}", failed=True)
    text = None if said.text is None else storable(str.__str__(said.text))
    cost = None if cost is None else float(cost)
    return Answer(values, text, cost, seconds)


def _values(columns: Sequence[str], value: Any) -> tuple[dict[str, Any], str | None]:
    """Return the value of each column, and what is wrong with them."""
    if columns and not (isinstance(value, Mapping) and value.keys() == {*columns}):
        names = ", ".join(columns)
        return {}, f"it must give a dict of {names}, gave {shorten(value)}"
    given = value if columns else {"": value}
    values = {}
    for name in columns or [""]:
        plain = native(given[name])
        if plain is not None and kind_of(plain) is None:
            what = f"{name!r} must be" if name else "it must give"
            return {}, f"{what} {_VALUES}, found {shorten(given[name])}"
        values[name] = plain
    return values, None


def kind_of(value: Any) -> str | None:
    """Name the kind of a plain value; None for one that no column holds."""
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        fits = math.isfinite(value) if isinstance(value, float) else _fits(value)
        return "a number" if fits else None
    if isinstance(value, str):
        return "a text" if storable(value) == value else None
    if isinstance(value, list):
        kinds = {kind_of(item) for item in value}
        if kinds <= {"a number"}:
            return "a list of numbers" if value else _EMPTY
        return "a list of texts" if kinds == {"a text"} else None
    return None


def _fits(number: int) -> bool:
    return -_LARGEST <= number < _LARGEST


def of_one_kind(
    annotator: BoundAnnotator, answers: Sequence[Answer]
) -> tuple[list[Answer], dict[str, pl.Series]]:
    """Make a column of each value that an annotator gives."""
    checked, columns = list(answers), {}
    for name in annotator.columns or [""]:
        kinds = [kind_of(answer.values.get(name)) for answer in checked]
        # an empty list is one of numbers and one of texts
        counts = Counter(kind for kind in kinds if kind and kind != _EMPTY)
        usual = next(iter(counts.most_common(1)), (_EMPTY if _EMPTY in kinds else "",))[
            0
        ]
        for row, kind in enumerate(kinds):
            is_empty = kind == _EMPTY and usual.startswith(_EMPTY)
            if kind not in (None, usual) and not is_empty:
                where = f"{annotator.component.origin}: {annotator.hook}"
                of = f"{name!r} is" if name else "it gave"
                text = f"{where}: {of} {kind} where it is {usual} for other rows"
                checked[row] = without_value(text, failed=True)
        columns[name] = _column([each.values.get(name) for each in checked], usual)
    # a row that has no value in one column has none in the others
    for row, answer in enumerate(checked):
        if answers[row].values and not answer.values:
            for name, column in columns.items():
                columns[name] = column.scatter(row, None)
    return checked, columns


_EMPTY = "a list"


def _column(values: Sequence[Any], kind: str) -> pl.Series:
    if kind in ("a list of texts", _EMPTY):
        return list_column("", values)
    dtype = _TYPES.get(kind, pl.Float64)
    is_whole = all(isinstance(value, int | None) for value in values)
    if kind == "a number" and is_whole:
        dtype = pl.Int64
    if dtype == pl.Float64:
        values = [None if value is None else float(value) for value in values]
    return pl.Series("", values, dtype=dtype)
