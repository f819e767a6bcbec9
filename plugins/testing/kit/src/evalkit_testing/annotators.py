"""Checks that an annotator keeps the laws of annotators."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit import EvalkitError
from evalkit.catalog import Registry, Resolver
from evalkit_annotators_columns import Answer, BoundAnnotator, ask_rows
from evalkit_testing.laws import (
    Law,
    LawBroken,
    LawError,
    NotTried,
    check_laws,
    chosen_laws,
    global_seed,
    told_alone,
)


class AnnotatorLawError(LawError):
    """An annotator breaks a law; `law` is its name, one of `ANNOTATOR_LAWS`."""


class _Trial(NamedTuple):
    annotator: BoundAnnotator
    another: BoundAnnotator
    """Another instance, where there is one."""
    rows: Sequence[Mapping[str, Any]]
    answers: Sequence[Answer]


@told_alone
def check_annotator(
    annotator: Any,
    examples: Sequence[tuple[Any, ...]],
    *,
    laws: Collection[str] | None = None,
    registry: Registry | None = None,
) -> None:
    """Check that an annotator keeps the laws of `evalkit_testing.ANNOTATOR_LAWS`.

    Nothing is read from the cache or written there. The annotator is asked for each
    example about seven times, with its `retries` and `pause`.

    Args:
        annotator: Name of an installed annotator (`judge:strict=true`), or a class or
            instance.
        examples: What it is asked for: `(prediction, target)` or
            `(prediction, target, fields)`, where `fields` is a mapping with all that
            the annotator `reads`.
        laws: Names of the laws to check; all by default.
        registry: Where plugins are found; all that are installed by default.

    Raises:
        AnnotatorLawError: It breaks a law; the message has the law and the example. It
            is an AssertionError.
        EvalkitError: There are no examples, one lacks a field, or there is no such law.
        PluginError: The annotator is unknown or broken.
    """
    chosen = chosen_laws(ANNOTATOR_LAWS, laws)
    registry = registry or Registry()
    first, another = (
        BoundAnnotator.of(Resolver(registry).bind("annotators", annotator))
        for _ in range(2)
    )
    if not examples:
        raise EvalkitError("examples must be a list that is not empty")
    rows = [_row(first, *example) for example in examples]
    trial = _Trial(first, another, rows, ask_rows(first, rows))
    check_laws(chosen, trial, first.component.origin, AnnotatorLawError)


def _row(
    annotator: BoundAnnotator,
    prediction: Any,
    target: Any,
    fields: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    known = fields or {}
    takes = annotator.arguments
    lacking = [name for name in annotator.reads if name not in known]
    if lacking and "fields" in takes:
        raise EvalkitError(
            f"{annotator.component.origin} reads the field {lacking[0]!r}, which an "
            "example does not have: give (prediction, target, fields)"
        )
    read = {name: known[name] for name in annotator.reads if name in known}
    given = {"prediction": prediction, "target": target, "fields": read}
    return {name: given[name] for name in takes}


def _check_answers(trial: _Trial) -> None:
    for row, answer in zip(trial.rows, trial.answers, strict=True):
        if answer.failed or not answer.is_final:
            raise LawBroken(f"{answer.reason}, for {_shown(row)}")
    said = [value for answer in trial.answers for value in answer.values.values()]
    if all(value is None for value in said) and trial.rows:
        raise LawBroken(
            "it says None of every row; return what it finds, or "
            "evalkit.NotScored(reason)"
        )


def _check_kinds(trial: _Trial) -> None:
    for column in trial.annotator.columns or [""]:
        kinds: dict[str, Any] = {}
        for row, answer in zip(trial.rows, trial.answers, strict=True):
            if column in answer.values:
                kinds.setdefault(_kind(answer.values[column]), row)
        kinds.pop("list", None)  # an empty one is of any kind
        if len(kinds) > 1:
            (one, first), (other, second) = [*kinds.items()][:2]
            of = f"{column!r} is " if column else ""
            raise LawBroken(
                f"{of}{one} for {_shown(first)}, {other} for {_shown(second)}"
            )


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return f"list of {_kind(value[0])}" if value else "list"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "number" if is_number else type(value).__name__


def _check_blank(trial: _Trial) -> None:
    """A response that is blank has a value of the kind of the others, or a reason."""
    given = trial.rows[0].get("prediction")
    if not isinstance(given, str):
        raise NotTried("give examples=… of which the first has a text as prediction")
    blank = [{**trial.rows[0], "prediction": text} for text in ("", " ")]
    rows = [*blank, *trial.rows]
    answers = ask_rows(trial.annotator, rows)
    others = trial._replace(rows=rows, answers=answers)
    _check_answers(others)
    try:
        _check_kinds(trial)
    except LawBroken:
        return  # which that law says
    _check_kinds(others)


def _check_repeatable(trial: _Trial) -> None:
    for seed in (7, 8):
        with global_seed(seed) as was_used:
            found = ask_rows(trial.annotator, trial.rows)
            used = was_used()
        _compare(trial, found, "asked again")
        if used:
            raise LawBroken(
                f"it drew from {used}: what it says of a row may be another each time"
            )


def _check_stateless(trial: _Trial) -> None:
    _compare(trial, ask_rows(trial.another, trial.rows), "by another instance")


def _check_order(trial: _Trial) -> None:
    found = ask_rows(trial.annotator, [*reversed(trial.rows)])
    _compare(trial, [*reversed(found)], "asked in the other order")


def _check_alone(trial: _Trial) -> None:
    found = [ask_rows(trial.annotator, [row])[0] for row in trial.rows]
    _compare(trial, found, "asked for it alone")


def _compare(trial: _Trial, others: Sequence[Answer], how: str) -> None:
    for row, answer, other in zip(trial.rows, trial.answers, others, strict=True):
        first, second = (each.values or each.reason for each in (answer, other))
        if first != second:
            raise LawBroken(f"{first!r}, and {how} {second!r}, for {_shown(row)}")


def _shown(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in row.items())


ANNOTATOR_LAWS: tuple[Law[_Trial], ...] = (
    Law(
        "answers",
        "it says something of each example, and does not fail.",
        _check_answers,
        mend="return a value for each row, or evalkit.NotScored(reason).",
    ),
    Law(
        "kinds",
        "all values of a column are of one kind.",
        _check_kinds,
        mend="return values of one type, whatever the row.",
    ),
    Law(
        "repeatable",
        "it says the same of the same row, as equal rows are asked once.",
        _check_repeatable,
        mend="make it depend on the row alone: no chance, no clock, no counter.",
    ),
    Law(
        "stateless",
        "another instance says the same.",
        _check_stateless,
        mend="keep nothing between rows.",
    ),
    Law(
        "order",
        "what it says of a row does not depend on those before it.",
        _check_order,
        mend="keep nothing between rows.",
    ),
    Law(
        "alone",
        "what it says of a row does not depend on the others of its batch.",
        _check_alone,
        mend="judge each row by itself.",
    ),
    Law(
        "blank",
        "a blank response has a value of the same kind, or a reason why it has none.",
        _check_blank,
        mend="give NotScored, or a value of the same kind.",
    ),
)
"""What holds of every annotator."""
