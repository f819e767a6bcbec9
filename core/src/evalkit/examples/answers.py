"""Reads and checks the answers of examples, and makes a column of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_origin

import polars as pl
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from evalkit.base.columns import encode, to_series
from evalkit.base.terms import AnswerKind
from evalkit.base.violations import describe, few, from_pydantic, shorten
from evalkit.errors import SchemaError
from evalkit.examples.checking import has_text_cells
from evalkit.examples.conversion import (
    LABEL_CONVERTER,
    prediction_type,
    predictions_are_texts,
)
from evalkit.examples.rows import ExampleRows
from evalkit.examples.scored_values import UnscorableError, scored_value, value_column
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.reading.field_types import bare, holds_more_than_plain
from evalkit.reading.typed_values import MisfitError, as_mappings, fit, typed_series


class Reporter(NamedTuple):
    """Says which example is wrong."""

    dataset: BoundDataset
    loaded: ExampleRows
    field: str
    """What the answer is called."""

    def error(self, problems: Sequence[str], hint: str = "") -> SchemaError:
        """Return the error that names the file and the first few problems."""
        source = self.loaded.source(self.dataset)
        return SchemaError(f"{source}: {few(problems)}{hint}")

    def refuse(self, answers: Iterable[Any], rule: Callable[[Any], str | None]) -> None:
        """Refuse answers that break a rule, which returns what they must be."""
        problems = [
            self.loaded.problem(position, self.field, broken)
            for position, answer in enumerate(answers)
            if (broken := rule(answer))
        ]
        if problems:
            raise self.error(problems)


class _AnswerType:
    """What the answers to a data set's examples are compared with."""

    def __init__(self, dataset: BoundDataset, task: BoundTask) -> None:
        name, self.dtype = prediction_type(dataset, task)
        """The type of predictions; None where that is not known."""
        self.is_rich = holds_more_than_plain(self.dtype)
        self._kind: AnswerKind = task.answer_kind
        self.may_be_empty = self._kind in ("all-of", "spans")
        if name is not None and self.dtype is not None:
            annotation: Any = task.Output.model_fields[name].annotation
            self._annotation = annotation
            if self.is_rich:
                self.may_be_empty |= get_origin(bare(annotation)) in (dict, Mapping)
            self._adapter: TypeAdapter[Any] = TypeAdapter(annotation)

    def read(self, stored: Any) -> Any:
        """Return an answer as it is scored; several acceptable ones as a list."""
        if stored == [] and self._kind == "any-of" and self.dtype == pl.String:
            return ""  # a question without an answer, as in SQuAD 2.0
        if not self.is_rich or stored is None:
            return scored_value(stored)
        try:
            return self._one(stored)
        except (ValidationError, MisfitError) as error:
            if self._kind in ("one", "any-of") and isinstance(stored, list | tuple):
                return [self.read(item) for item in stored]
            problem = str(error)
            if isinstance(error, ValidationError):
                problem = describe(from_pydantic(error)).removeprefix("(row): ")
            raise UnscorableError(
                f"no value that a prediction may have: {problem}"
            ) from error

    def _one(self, stored: Any) -> Any:
        assert self.dtype is not None
        given = as_mappings(stored, self._annotation)
        try:
            value = self._adapter.validate_python(given)
        except ValidationError:
            value = self._adapter.validate_json(to_json(given, fallback=repr))
        return fit(self._adapter.dump_python(value), self.dtype)

    def column(
        self, answers: list[Any], *, are_lists: bool = False
    ) -> pl.Series | None:
        """Make a column of the type of predictions; None where an answer is another.

        Each is a list of acceptable ones where `are_lists`.
        """
        if self.dtype is None:
            return None
        is_list = isinstance(self.dtype, pl.List)
        is_wrapped = are_lists or (not is_list and isinstance(answers[0], list))
        dtype = pl.List(self.dtype) if is_wrapped else self.dtype
        try:
            return typed_series("answer", answers, dtype)
        except MisfitError:
            pass
        try:  # as pydantic takes them for predictions, such as 1 for "1"
            values = [
                [self._one(item) for item in answer]
                if is_wrapped and isinstance(answer, list)
                else self._one(answer)
                for answer in answers
            ]
            return typed_series("answer", values, dtype)
        except (ValidationError, MisfitError):
            return None


def _map_answers(
    reporter: Reporter,
    answers: list[Any] | pl.Series,
    labels: tuple[str, ...] | None,
    mapping: Mapping[str, str] | None,
    kind: _AnswerType,
) -> list[Any] | pl.Series:
    """Write answers as the task spells its labels, and check them."""
    if isinstance(answers, pl.Series):
        column = None
        if not kind.is_rich:
            column = _mapped_column(answers, labels, mapping)
        if column is not None:
            return column
        answers = answers.to_list()
    problems: list[str] = []
    strange: list[Any] = []
    known = mapping or labels or ()
    of_labels = f"must be one of the labels {', '.join(known)}, found "
    results = []
    for position, stored in enumerate(answers):
        try:
            answer = kind.read(stored)
        except UnscorableError as error:
            rule = f"is {error}; a method {LABEL_CONVERTER} can make one of it"
            problems.append(reporter.loaded.problem(position, reporter.field, rule))
            continue
        if mapping is not None:
            answer = _mapped(answer, mapping)
        items = answer if isinstance(answer, list) else [answer]
        # tables of pandas have NaN for no answer
        is_lacking = any(item is None or item != item for item in items)
        if is_lacking or not (items or kind.may_be_empty):
            problems.append(
                reporter.loaded.problem(position, reporter.field, "is required")
            )
        elif labels is not None:
            others = [item for item in items if item not in labels]
            strange += others
            problems += [
                reporter.loaded.problem(
                    position, reporter.field, of_labels + shorten(item)
                )
                for item in others
            ]
        results.append(answer)
    if problems:
        from evalkit.diagnosis import HOW_TO_NORMALISE, can_normalise

        # all rows or none: what mends some would hide the others
        can_mend = len(strange) == len(problems) and can_normalise(strange, known)
        hint = f"; {HOW_TO_NORMALISE} mends all of them" if can_mend else ""
        raise reporter.error(problems, hint)
    return results


def _mapped_column(
    answers: pl.Series,
    labels: tuple[str, ...] | None,
    mapping: Mapping[str, str] | None,
) -> pl.Series | None:
    """Map a column of single answers; None where one of them is not as it must be."""
    if mapping is not None and answers.dtype.is_integer():
        answers = answers.cast(pl.String)
    if answers.dtype != pl.String or answers.null_count():
        return None
    if mapping is not None:
        answers = answers.replace(dict(mapping))
    if labels is not None and not answers.is_in(list(labels)).all():
        return None
    return answers


def _mapped(answer: Any, mapping: Mapping[str, str]) -> Any:
    if isinstance(answer, list):
        return [mapping.get(str(item), item) for item in answer]
    return mapping.get(str(answer), answer)


def _as_texts(answers: list[Any] | pl.Series) -> list[Any] | pl.Series:
    """Write numbers and booleans as texts, as predictions are texts."""
    if isinstance(answers, pl.Series):
        if answers.dtype in (pl.String, pl.List(pl.String)):
            return answers
        answers = answers.to_list()
    return [
        [encode(item) for item in answer]
        if isinstance(answer, list) and all(map(_is_plain, answer))
        else encode(answer)
        if _is_plain(answer)
        else answer
        for answer in answers
    ]


def _infinite(answer: Any) -> str | None:
    for item in _items(answer):
        if isinstance(item, float) and math.isinf(item):
            return f"must be a finite number, got {item}"
    return None


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def answer_column(
    reporter: Reporter,
    task: BoundTask,
    answers: list[Any] | pl.Series,
    labels: tuple[str, ...] | None,
    mapping: Mapping[str, str] | None,
    choices: pl.Series | None,
) -> tuple[AnswerKind, pl.Series]:
    """Check answers, write them as they are scored, and make a column of them."""
    type_of_them = _AnswerType(reporter.dataset, task)
    if not isinstance(answers, pl.Series) or answers.dtype.is_float():
        reporter.refuse(answers, _infinite)
    answers = _map_answers(reporter, answers, labels, mapping, type_of_them)
    are_texts = task.answer_kind in ("one", "any-of") and (
        predictions_are_texts(reporter.dataset, task)
    )
    if are_texts or type_of_them.dtype == pl.List(pl.String):
        answers = _as_texts(answers)
    kind, column = _column(reporter, task, answers, type_of_them)
    if choices is not None:
        _refuse_other_answers(reporter, column, choices)
        _refuse_unclear_places(reporter, task.answer_field or "", column, choices)
    return kind, column


def _column(
    reporter: Reporter,
    task: BoundTask,
    answers: list[Any] | pl.Series,
    type_of_them: _AnswerType,
) -> tuple[AnswerKind, pl.Series]:
    kind: AnswerKind = task.answer_kind
    is_single, expected = kind in ("one", "any-of"), type_of_them.dtype
    if is_single:
        kind = "one"
    if isinstance(answers, pl.Series):
        if is_single and (expected not in _TYPED or answers.dtype == expected):
            return kind, answers.alias("answer")
        answers = answers.to_list()
    column = type_of_them.column(answers) if type_of_them.is_rich else None
    if column is not None:
        return kind, column
    if is_single and any(isinstance(answer, list) for answer in answers):
        answers = [a if isinstance(a, list) else [a] for a in answers]
        reporter.refuse(answers, _nested)
        if any(len(answer) != 1 for answer in answers):
            return "any-of", _acceptable(reporter, answers, type_of_them)
        answers = [answer[0] for answer in answers]
    column = type_of_them.column(answers)
    if column is None:
        column = value_column("answer", answers)
        if expected in _TYPED or isinstance(expected, pl.List):
            # no prediction can equal it
            reporter.refuse(
                answers,
                lambda answer: (
                    f"must be what predictions are ({expected}), found "
                    f"{shorten(answer)}"
                    if type_of_them.column([answer]) is None
                    else None
                ),
            )
    if kind == "number" and not column.dtype.is_numeric():
        reporter.refuse(
            answers,
            lambda answer: (
                None
                if type(answer) in (int, float)
                else f"must be a number, found {answer!r}"
            ),
        )
    return kind, column


_TYPED = (pl.Int64, pl.Float64, pl.Boolean)
"""Types of predictions as which answers are read, also those that are texts."""


def _refuse_other_answers(
    reporter: Reporter, answers: pl.Series, choices: pl.Series
) -> None:
    """Refuse answers that are none of the options that their example has."""

    def broken(pair: tuple[Any, Any]) -> str | None:
        found, options = pair
        items = found if isinstance(answers.dtype, pl.List) else [found]
        strange = [each for each in items or () if each not in (None, *(options or ()))]
        if not strange:
            return None
        return (
            f"must be one of the example's choices ({choices.name}) "
            f"{', '.join(map(str, options or ()))}, found {shorten(strange[0])}"
        )

    reporter.refuse(zip(answers.to_list(), choices.to_list(), strict=True), broken)


def _refuse_unclear_places(
    reporter: Reporter, field: str, answers: pl.Series, choices: pl.Series
) -> None:
    """Refuse a text that was read as a choice where texts may be places of choices.

    They may in files of texts, and wherever one of them is a place.
    """
    frame = reporter.loaded.frame
    if field not in frame.columns:
        return
    rows = [
        [
            (raw, read, options[int(raw) : int(raw) + 1])
            for raw, read in zip(_items(cell), _items(answer), strict=False)
            if isinstance(raw, str) and re.fullmatch("[0-9]{1,3}", raw)
        ]
        for cell, answer, options in zip(
            frame[field].to_list(), answers.to_list(), choices.to_list(), strict=True
        )
    ]
    are_places = has_text_cells(reporter.dataset, reporter.loaded) or any(
        read != raw and [read] == place for row in rows for raw, read, place in row
    )

    def broken(row: list[tuple[str, Any, list[str]]]) -> str | None:
        for raw, read, place in row:
            if are_places and raw == read and place not in ([], [raw]):
                return (
                    f"{raw} is a choice, and the place of the choice {place[0]}: write "
                    "its letter (A is the first choice)"
                )
        return None

    reporter.refuse(rows, broken)


def _items(answer: Any) -> list[Any]:
    return answer if isinstance(answer, list) else [answer]


def _acceptable(
    reporter: Reporter, answers: list[list[Any]], type_of_them: _AnswerType
) -> pl.Series:
    """Make a column of lists of acceptable answers."""
    column = type_of_them.column(answers, are_lists=True)
    if column is not None:
        return column
    rule = "must be a text, or a list of texts where several are acceptable"
    reporter.refuse(
        answers, lambda each: None if all(type(i) is str for i in each) else rule
    )
    return to_series("answer", answers)


def _nested(answer: list[Any]) -> str | None:
    """Refuse a list in a list of acceptable answers, which would match nothing."""
    if not any(isinstance(item, list) for item in answer):
        return None
    return (
        "must be a single value, or a list of texts where several are acceptable, "
        f"found lists in a list: {shorten(answer)}"
    )
