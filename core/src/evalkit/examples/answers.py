"""Checks the answers of examples, and makes a column of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import encode, to_series
from evalkit.base.terms import AnswerKind
from evalkit.base.violations import few, shorten
from evalkit.errors import SchemaError
from evalkit.examples.answer_types import AnswerType
from evalkit.examples.conversion import LABEL_CONVERTER
from evalkit.examples.rows import ExampleRows
from evalkit.examples.scored_values import UnscorableError, value_column
from evalkit.plugins.bound import BoundDataset, BoundTask


class Reporter(NamedTuple):
    """Says which example is wrong."""

    dataset: BoundDataset
    loaded: ExampleRows
    field: str
    """What the answer is called."""

    def problem(self, position: int, field: str, rule: str) -> str:
        """Say what is wrong with a field of the example at a position."""
        uid = self.loaded.frame["uid"][position]
        return f"{self.loaded.where(position)} (uid {uid!r}): {field}: {rule}"

    def error(self, problems: Sequence[str], hint: str = "") -> SchemaError:
        """Return the error that names the file and the first few problems."""
        source = self.loaded.source(self.dataset)
        return SchemaError(f"{source}: {few(problems)}{hint}")


def map_answers(
    reporter: Reporter,
    answers: list[Any] | pl.Series,
    labels: tuple[str, ...] | None,
    mapping: Mapping[str, str] | None,
    kind: AnswerType,
) -> list[Any] | pl.Series:
    """Write answers as the task spells its labels, and check them.

    Args:
        reporter: Says which example is wrong.
        answers: The answers as stored.
        labels: The labels; None where there are none.
        mapping: From stored labels to the task's; None where they are the same.
        kind: Reads answers as what predictions are.

    Returns:
        The answers.

    Raises:
        SchemaError: One is lacking, cannot be scored, or is none of the labels.
    """
    if isinstance(answers, pl.Series):
        column = None
        if not kind.is_rich:
            column = _mapped_column(answers, labels, mapping)
        if column is not None:
            return column
        answers = answers.to_list()
    problems: list[str] = []
    strange: list[Any] = []
    results = []
    for position, stored in enumerate(answers):
        try:
            answer = kind.read(stored)
        except UnscorableError as error:
            rule = f"is {error}; a method {LABEL_CONVERTER} can make one of it"
            problems.append(reporter.problem(position, reporter.field, rule))
            continue
        if mapping is not None:
            answer = _mapped(answer, mapping)
        items = answer if isinstance(answer, list) else [answer]
        if not (items or kind.may_be_empty) or any(map(_is_lacking, items)):
            problems.append(reporter.problem(position, reporter.field, "is required"))
        elif labels is not None:
            strange.extend(item for item in items if item not in labels)
            problems.extend(
                reporter.problem(
                    position,
                    reporter.field,
                    f"must be one of the labels {', '.join(mapping or labels)}, found "
                    f"{shorten(item)}",
                )
                for item in items
                if item not in labels
            )
        results.append(answer)
    if problems:
        from evalkit.diagnosis import HOW_TO_NORMALISE, can_normalise

        known = mapping or labels or ()
        # all rows or none: what mends some would hide the others
        can_mend = len(strange) == len(problems) and can_normalise(strange, known)
        hint = f"; {HOW_TO_NORMALISE} mends all of them" if can_mend else ""
        raise reporter.error(problems, hint)
    return results


def _is_lacking(item: Any) -> bool:
    """Tell whether there is no answer; tables of pandas have NaN for that."""
    return item is None or item != item


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


def as_texts(answers: list[Any] | pl.Series) -> list[Any] | pl.Series:
    """Write answers that are no texts as texts: predictions are compared with them.

    Args:
        answers: The answers.

    Returns:
        The same; only numbers and booleans are written otherwise.
    """
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


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def answer_column(
    reporter: Reporter,
    task: BoundTask,
    answers: list[Any] | pl.Series,
    type_of_them: AnswerType,
) -> tuple[AnswerKind, pl.Series]:
    """Make a column of answers.

    Args:
        reporter: Says which example is wrong.
        task: The task.
        answers: The answers, each checked.
        type_of_them: What predictions are.

    Returns:
        Their shape, and the column `answer`.

    Raises:
        SchemaError: One does not have the shape that the task says.
    """
    kind: AnswerKind = task.answer_kind
    if isinstance(answers, pl.Series):
        wanted = type_of_them.dtype
        is_plain = wanted not in _WRITTEN or answers.dtype == wanted
        if kind in ("one", "any-of") and is_plain:
            return "one", answers.alias("answer")
        answers = answers.to_list()
    if type_of_them.is_rich:
        typed = type_of_them.column(answers)
        if typed is not None:
            return ("one" if kind == "any-of" else kind), typed
    if kind in ("one", "any-of") and any(isinstance(a, list) for a in answers):
        return _acceptable(reporter, answers, type_of_them)
    column = _single(type_of_them, answers)
    _refuse_misfits(reporter, answers, column, type_of_them)
    if kind == "any-of":
        return "one", column
    if kind == "number" and not column.dtype.is_numeric():
        raise reporter.error(
            [
                reporter.problem(
                    position, reporter.field, f"must be a number, found {answer!r}"
                )
                for position, answer in enumerate(answers)
                if isinstance(answer, bool) or not isinstance(answer, int | float)
            ]
        )
    return kind, column


def _refuse_misfits(
    reporter: Reporter,
    answers: Sequence[Any],
    column: pl.Series,
    type_of_them: AnswerType,
) -> None:
    """Refuse what no prediction can equal: other than a list, number or boolean."""
    wanted = type_of_them.dtype
    is_list = isinstance(wanted, pl.List)
    if column.dtype == wanted or not (is_list or wanted in _WRITTEN):
        return
    problems = [
        reporter.problem(
            position,
            reporter.field,
            f"must be what predictions are ({wanted}), found {shorten(answer)}",
        )
        for position, answer in enumerate(answers)
        if (is_list or not _is_written(answer, wanted))
        and type_of_them.column([answer]) is None
    ]
    if problems:
        raise reporter.error(problems)


_WRITTEN = {pl.Int64: (int,), pl.Float64: (int, float), pl.Boolean: (bool,)}
"""What a text must be as JSON to equal a value of a type."""


def _is_written(answer: Any, wanted: Any) -> bool:
    """Tell whether a text is a number or boolean, which are compared as texts then."""
    with suppress(ValueError):
        return isinstance(answer, str) and type(json.loads(answer)) in _WRITTEN[wanted]
    return False


def refuse_other_answers(
    reporter: Reporter, answers: pl.Series, choices: pl.Series
) -> None:
    """Refuse answers that are none of the options that their example has.

    Args:
        reporter: Says which example is wrong.
        answers: The column of answers; null for none.
        choices: The options of each example.

    Raises:
        SchemaError: There is one.
    """
    problems = []
    for position, (found, options) in enumerate(
        zip(answers.to_list(), choices.to_list(), strict=True)
    ):
        items = found if isinstance(answers.dtype, pl.List) else [found]
        problems += [
            reporter.problem(
                position,
                reporter.field,
                f"must be one of the example's choices ({choices.name}) "
                f"{', '.join(map(str, options or ()))}, found {shorten(item)}",
            )
            for item in items or ()
            if item is not None and item not in (options or ())
        ]
    if problems:
        raise reporter.error(problems)


def _acceptable(
    reporter: Reporter, answers: Sequence[Any], type_of_them: AnswerType
) -> tuple[AnswerKind, pl.Series]:
    """Make a column of answers of which some are lists of acceptable ones."""
    wrapped = [a if isinstance(a, list) else [a] for a in answers]
    _refuse_nested(reporter, wrapped)
    if all(len(answer) == 1 for answer in wrapped):
        only = [answer[0] for answer in wrapped]
        single = _single(type_of_them, only)
        _refuse_misfits(reporter, only, single, type_of_them)
        return "one", single
    column = type_of_them.column(wrapped, are_lists=True)
    if column is None:
        column = to_series("answer", wrapped)
        if column.dtype != pl.List(pl.String):
            rule = "must be a text, or a list of texts where several are acceptable"
            raise reporter.error(
                [
                    reporter.problem(position, reporter.field, rule)
                    for position, answer in enumerate(wrapped)
                    if not all(isinstance(item, str) for item in answer)
                ]
            )
    return "any-of", column


def _single(kind: AnswerType, answers: list[Any]) -> pl.Series:
    typed = kind.column(answers)
    return value_column("answer", answers) if typed is None else typed


def _refuse_nested(reporter: Reporter, answers: Sequence[list[Any]]) -> None:
    """Refuse lists in lists of acceptable answers, which would match nothing."""
    problems = [
        reporter.problem(
            position,
            reporter.field,
            "must be a single value, or a list of texts where several are acceptable, "
            f"found lists in a list: {shorten(answer)}",
        )
        for position, answer in enumerate(answers)
        if any(isinstance(item, list) for item in answer)
    ]
    if problems:
        raise reporter.error(problems)
