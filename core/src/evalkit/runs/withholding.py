"""Takes out of a run without examples what may quote the data."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING

from evalkit.base.violations import Violation
from evalkit.errors import EvalkitError
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
    """Keep status, line, id, declared fields and rules of a problem; no value."""
    violations = []
    for violation in problem.violations:
        field = violation.field.partition(".")[0]
        is_shown = field in declared and field not in _QUOTING_FIELDS
        if not is_shown:
            field = field if field in _QUOTING_FIELDS else "(undeclared)"
        violations.append(Violation(field, violation.rule if is_shown else WITHHELD))
    reason = None if problem.reason is None else WITHHELD
    return problem._replace(violations=tuple(violations), reason=reason)


def withhold_text(text: str) -> str:
    """Keep who failed with which exception, without its words and those of metrics."""
    for quoting in (_FAILED_WITH, _NAMED_REASONS, _RETURNED):
        text = quoting.sub(r"\1", text)
    return text


def withhold_reasons(scores: Sequence[Score]) -> list[Score]:
    """Keep the reasons of scores without the words of exceptions."""
    return [
        score._replace(reason=score.reason and withhold_text(score.reason))
        for score in scores
    ]


def names_of_answers(
    columns: Mapping[str, pl.Series], alignment: Alignment
) -> frozenset[str]:
    """Return the columns whose values tell answers or responses.

    Each that has one value for each of several answers is among them, as a label.
    """
    named = {"answer", "pred", *alignment.fields}
    others = {name: each for name, each in columns.items() if name not in named}
    return frozenset(named | _telling(others, columns["answer"]))


def refuse_facets_of_answers(facets: Mapping[str, str], examples: pl.DataFrame) -> None:
    """Refuse facets with one tag for each of several answers."""
    tags = examples["tags"]
    columns = {facet: _tags_of(facet, tags) for facet in facets}
    for facet in sorted(_telling(columns, examples["answer"])):
        raise EvalkitError(
            f"--map facet:{facet}={facets[facet]}: its tags would be named after "
            "answers, which --no-examples leaves out of the run; leave out one of the "
            "two"
        )


def _tags_of(facet: str, tags: pl.Series) -> pl.Series:
    import polars as pl

    is_of_facet = pl.element().str.starts_with(f"{facet}:")
    return tags.list.eval(pl.element().filter(is_of_facet)).list.join("\n")


def _telling(columns: Mapping[str, pl.Series], answer: pl.Series) -> set[str]:
    """Return the columns that have one value for each of several answers."""
    import polars as pl

    from evalkit.base.columns import unnamed

    if not _ranks(answer):
        return set()
    answers = answer.rank("dense")
    many = answers.n_unique()
    found = set()
    for name, column in columns.items():
        if not _ranks(column):
            continue
        values = unnamed(column).rank("dense")
        pairs = pl.DataFrame([answers.alias("answer"), values.alias("value")])
        if 1 < many == values.n_unique() == pairs.n_unique() < len(column):
            found.add(name)
    return found


def _ranks(column: pl.Series) -> bool:
    return not column.dtype.is_nested() and not column.dtype.is_object()
