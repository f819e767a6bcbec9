"""Takes out of a run without examples what may quote the data."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING

from evalkit.base.violations import Violation
from evalkit.predictions.problems import Problem
from evalkit.runs.score_columns import Score

if TYPE_CHECKING:
    import polars as pl

    from evalkit.predictions.alignment import Alignment

WITHHELD = "withheld, as the run holds no examples"

_FAILED_WITH = re.compile(r"(failed(?: for the \w+ .*?)? with \w+): .*", re.S)
_NAMED_REASONS = re.compile(
    r"(did not score [^(]*|no example has what it asks for) \(.*\)", re.S
)
_RETURNED = re.compile(r"(left out, as it failed): (?!.*failed.* with \w+$).*", re.S)

_QUOTING_FIELDS = ("(response)", "(line)", "(row)", "error")
"""Fields whose rules may quote the response, an exception or an assertion."""


def withhold_problem(problem: Problem, declared: Container[str]) -> Problem:
    """Keep status, line, id, declared fields and rules of a problem, and no value.

    Args:
        problem: The problem.
        declared: Names of the fields that the task declares.

    Returns:
        The problem without what may quote the data.
    """
    violations = tuple(
        _withhold_violation(violation, declared) for violation in problem.violations
    )
    reason = None if problem.reason is None else WITHHELD
    return problem._replace(violations=violations, reason=reason)


def _withhold_violation(violation: Violation, declared: Container[str]) -> Violation:
    field = violation.field.partition(".")[0]
    if field in _QUOTING_FIELDS or field not in declared:
        shown = field if field in _QUOTING_FIELDS else "(undeclared)"
        return Violation(shown, WITHHELD)
    return Violation(field, violation.rule)


def withhold_text(text: str | None) -> str | None:
    """Keep who failed with which exception, without its words and those of metrics."""
    if text is None:
        return None
    for quoting in (_FAILED_WITH, _NAMED_REASONS, _RETURNED):
        text = quoting.sub(r"\1", text)
    return text


def withhold_reasons(scores: Sequence[Score]) -> list[Score]:
    """Keep the reasons of scores without the words of exceptions."""
    return [score._replace(reason=withhold_text(score.reason)) for score in scores]


def names_of_answers(
    columns: Mapping[str, pl.Series], alignment: Alignment
) -> frozenset[str]:
    """Return the columns whose values tell answers or responses.

    Args:
        columns: Columns of the examples, also `answer` and `pred`.
        alignment: The responses, with the scored fields.

    Returns:
        `answer`, `pred`, the scored fields, and each column that has one value for each
        of several answers, as the stored label has.
    """
    import polars as pl

    named = {"answer", "pred", *alignment.fields}
    answers = columns["answer"].rank("dense") if _ranks(columns["answer"]) else None
    for name, column in columns.items():
        if name in named or answers is None or not _ranks(column):
            continue
        values = column.rank("dense")
        pairs = pl.DataFrame([answers.alias("answer"), values.alias("value")])
        many = answers.n_unique()
        if 1 < many == values.n_unique() == pairs.n_unique() < len(column):
            named.add(name)
    return frozenset(named)


def _ranks(column: pl.Series) -> bool:
    return not column.dtype.is_nested() and not column.dtype.is_object()
