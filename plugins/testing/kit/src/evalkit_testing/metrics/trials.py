"""One check of a law: the metric, what was drawn, and what several laws look at."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import polars as pl
from hypothesis import strategies as st

from evalkit import EvalkitError, MetricError
from evalkit.catalog import BoundMetric, BoundTask
from evalkit.hookspecs import AnswerKind
from evalkit.scoring import (
    Groups,
    GroupScore,
    ScoringTable,
    merge_statistics,
    metric_statistics,
    why_not,
)
from evalkit_testing import checking
from evalkit_testing.checking import given_examples
from evalkit_testing.metrics.subjects import (
    Finalized,
    Part,
    Row,
    Sample,
    Scored,
    Subject,
    groups_of,
)
from evalkit_testing.model_rows import answers_of, read_values_of


class Trial(checking.Trial):
    """A metric and what was drawn for it, with what several laws look at.

    Args:
        subject: The metric.
        sample: What was drawn.

    Attributes:
        subject: The same.
        sample: The same.
        rows: The examples.
    """

    def __init__(self, subject: Subject, sample: Sample) -> None:
        self.subject = subject.prepared(sample.rows)
        self.sample = sample
        self.rows = sample.rows

    @property
    def origin(self) -> str:
        """The metric's name with its parameters and its distribution."""
        return self.subject.origin

    def again(self) -> Trial:
        """Return the same trial, of which nothing is computed yet."""
        return Trial(self.subject, self.sample)

    def shown(self) -> list[str]:
        """Return the kind of answers, the examples, and their clusters."""
        kind, labels = self.subject.context.answer_kind, self.subject.context.labels
        lines = [
            f"  answers: {kind!r}"
            + (f", labels: {', '.join(labels)}" if labels else ""),
            "  examples (prediction, target):",
            *(f"    {number}: {row!r}" for number, row in enumerate(self.rows)),
        ]
        if self.sample.clustered:
            lines.append(f"  clusters: {[row.cluster for row in self.rows]}")
        return lines

    def failures(self) -> tuple[type[BaseException], ...]:
        """Return what the engine raises where the metric fails."""
        return (MetricError,)

    def failure(self, error: BaseException) -> str | None:
        """Return what a failure is told by; None where the metric may fail."""
        return None if self.subject.allows_errors else str(error)

    @cached_property
    def table(self) -> ScoringTable:
        """The table of the examples, without clusters."""
        return self.subject.table(self.rows)

    @cached_property
    def groups(self) -> Groups:
        """The groups of the examples."""
        return groups_of(self.rows)

    @cached_property
    def adds_up(self) -> bool:
        """Whether the metric has statistics, and can score the examples."""
        return self.subject.adds_up and self.is_scorable

    @cached_property
    def is_scorable(self) -> bool:
        """Whether the metric can score the examples by what it declares."""
        return why_not(self.subject.bind(), self.table) is None

    @cached_property
    def reads_more(self) -> bool:
        """Whether a score may depend on more than prediction and answer."""
        attributes = self.subject.attributes
        needed = {*attributes["columns"]} - {*attributes["optional_columns"]}
        return bool(needed) or any(row.fields for row in self.rows)

    @cached_property
    def scored(self) -> Scored:
        """The scores without intervals."""
        metric = self.subject.bind(interval="none")
        return self.subject.score(metric, self.table, self.groups)

    @cached_property
    def with_intervals(self) -> Scored:
        """The scores with intervals, clustered where clusters were drawn."""
        table = self.subject.table(self.rows, self.sample.clustered)
        return self.subject.score(self.subject.bind(), table, self.groups)

    @cached_property
    def _metric(self) -> BoundMetric:
        """The one metric that computes and finalizes, as in an evaluation."""
        return self.subject.bind()

    @cached_property
    def statistics(self) -> pl.DataFrame:
        """The metric's statistics."""
        return metric_statistics(self._metric, self.table)

    @cached_property
    def sums(self) -> pl.DataFrame:
        """The statistics, merged by group."""
        return merge_statistics(self._metric, self.statistics, self.table, self.groups)

    @cached_property
    def values(self) -> Finalized:
        """What the metric makes of the sums."""
        return self.subject.finalize(self._metric, self.sums, self.groups)


def positions_of(trial: Trial, group: int) -> list[int]:
    """Return the positions of the examples of a group, in order."""
    members = trial.groups.members.filter(pl.col("group") == group)
    return sorted(members["position"].to_list())


VALUE_TOLERANCE = 1e-9
SUM_TOLERANCE = 1e-12


def name_part(part: Part) -> str:
    """Name a score of a group, as in "the value of the tag 'x'"."""
    tag, score = part
    where = "the whole set" if tag is None else f"the tag {tag!r}"
    return f"{where} (score {score!r})" if score else where


def is_close(one: float | None, other: float | None) -> bool:
    """Tell whether two finalized numbers agree within the tolerance."""
    if one is None or other is None:
        return one is other
    if math.isfinite(one) and math.isfinite(other):
        scale = max(1.0, abs(one), abs(other))
        return abs(one - other) <= VALUE_TOLERANCE * scale
    return one == other or (math.isnan(one) and math.isnan(other))


def difference_of_values(first: Finalized, second: Finalized) -> str | None:
    """Say where two sets of values differ; None where they agree."""
    for part in sorted(first.keys() | second.keys(), key=repr):
        one, other = first.get(part), second.get(part)
        if not is_close(one, other):
            return f"the value of {name_part(part)} is {one}, and {other}"
    return None


def difference_of_scores(
    first: Mapping[Part, GroupScore],
    second: Mapping[Part, GroupScore],
    intervals: bool = True,
) -> str | None:
    """Say where two sets of scores differ."""
    for part in sorted(first.keys() | second.keys(), key=repr):
        if part not in first or part not in second:
            only = first if part in first else second
            which = "first" if part in first else "second"
            value = only[part].value
            return f"{name_part(part)} has a value ({value}) only in the {which}"
        found = _difference_of_score(first[part], second[part], intervals)
        if found:
            return f"{found[0]} of {name_part(part)} is {found[1]}, and {found[2]}"
    return None


def _difference_of_score(
    one: GroupScore, other: GroupScore, intervals: bool
) -> tuple[str, Any, Any] | None:
    if not is_close(one.value, other.value):
        return "the value", one.value, other.value
    if one.n != other.n:
        return "n", one.n, other.n
    if (one.spread is None) != (other.spread is None) or not all(
        map(is_close, one.spread or (), other.spread or ())
    ):
        words = "the mean, deviation, least and greatest score"
        return words, one.spread, other.spread
    if not intervals:
        return None
    first, second = one.interval, other.interval
    if first.method != second.method:
        return "the method of the interval", first.method, second.method
    for word, bound, other_bound in (
        ("the lower bound", first.low, second.low),
        ("the upper bound", first.high, second.high),
        ("the standard error", first.standard_error, second.standard_error),
    ):
        if not is_close(bound, other_bound):
            return word, bound, other_bound
    return None


def difference_of_sums(
    first: pl.DataFrame,
    second: pl.DataFrame,
    keys: Sequence[str],
    scales: Mapping[str, float],
) -> str | None:
    """Say where two sets of sums differ."""
    strange = sorted({*first.columns} ^ {*second.columns})
    if strange:
        return f"the statistic {strange[0]!r} is in only one of the two"
    cells, other_cells = _by_key(first, keys), _by_key(second, keys)
    for key in sorted(cells.keys() | other_cells.keys(), key=repr):
        where = ", ".join(
            f"{name} {value!r}" for name, value in zip(keys, key, strict=True)
        )
        if key not in cells or key not in other_cells:
            which = "first" if key in cells else "second"
            return f"the statistics of {where} are only in the {which}"
        for name, one in cells[key].items():
            other = other_cells[key][name]
            if not _is_equal(one, other, scales[name]):
                return f"the statistic {name!r} of {where} is {one}, and {other}"
    return None


def _by_key(
    sums: pl.DataFrame, keys: Sequence[str]
) -> Mapping[tuple[Any, ...], Mapping[str, Any]]:
    return {
        tuple(row.pop(key) for key in keys): row for row in sums.iter_rows(named=True)
    }


def _is_equal(one: Any, other: Any, scale: float) -> bool:
    if isinstance(one, list):
        # values are kept in no order that a metric may rely on
        return len(one) == len(other) and all(
            _is_equal(*pair, scale)
            for pair in zip(sorted(one), sorted(other), strict=True)
        )
    if one == other or (one != one and other != other):
        return True
    return bool(abs(one - other) <= SUM_TOLERANCE * scale)


MOST_ROWS = 12
DRAWN_KINDS: tuple[AnswerKind, ...] = ("one", "any-of", "number")
"""Kinds of answers for which examples can be drawn without the author's help."""

_TEXTS = (
    "a",
    "b",
    "a red car",
    "red red red",
    "The car!",
    "Straße",
    "日本",
    "é",
    "e\u0301",
    "",
    " ",
)
_WORDS = ("red", "car")
LABELS = ("a", "b", "a red car")
"""What sets, rankings and probabilities are of, where no labels are declared."""

_OUTCOMES = ("right", "right", "right", "any", "any", "any", "any", "none")
_LEAST_ROWS = (1, 4, 8)
_TAGS = ("easy", "hard", "topic:x")
_PARTS = 3

Triple = tuple[Any, ...]
"""Prediction, target, and where a metric needs them its fields."""

Source = st.SearchStrategy[st.SearchStrategy[Triple]]
"""Draws, for each set, what its examples are drawn from."""

DRAWS = frozenset({"tags", "clusters", "order", "cuts", "parts", "silent", "others"})
"""What is drawn beside the examples, where a law needs it."""


def samples(
    source: Source, draws: Collection[str] = DRAWS
) -> st.SearchStrategy[Sample]:
    """Draw what one check of a law needs."""
    return _samples(source, draws)


@st.composite
def _samples(draw: st.DrawFn, source: Source, draws: Collection[str]) -> Sample:
    def where_needed(name: str, values: st.SearchStrategy[Any], otherwise: Any) -> Any:
        return values if name in draws else st.just(otherwise)

    tags = st.lists(st.sampled_from(_TAGS), max_size=2, unique=True)
    # all that belongs to a row at once, so that shrinking can take the row away
    drawn = draw(
        _sets(
            source,
            where_needed("tags", tags, []),
            where_needed("clusters", st.integers(0, 3), 0),
            where_needed("order", st.integers(0, 99), 0),
            where_needed("cuts", st.sampled_from((False, False, True)), False),
            where_needed("parts", st.integers(0, _PARTS - 1), 0),
            where_needed("silent", st.booleans(), False),
        )
    )
    others = draw(_sets(source)) if "others" in draws else []
    triples, tagged, clusters, ranks, cuts, parts, silent = zip(*drawn, strict=True)
    return Sample(
        rows=_rows(triples, tagged, clusters),
        clustered="clusters" in draws and draw(st.booleans()),
        order=tuple(sorted(range(len(ranks)), key=ranks.__getitem__)),
        cuts=tuple(number for number, cut in enumerate(cuts) if cut and number),
        parts=parts,
        silent=silent,
        others=_rows([row[0] for row in others], [[]] * len(others), [0] * len(others)),
    )


@st.composite
def _sets(
    draw: st.DrawFn, source: Source, *further: st.SearchStrategy[Any]
) -> list[tuple[Any, ...]]:
    row = st.tuples(draw(source), *further)
    least = draw(st.sampled_from(_LEAST_ROWS))
    return draw(st.lists(row, min_size=least, max_size=MOST_ROWS))


def _rows(
    triples: Sequence[Triple], tags: Sequence[list[str]], clusters: Sequence[int]
) -> tuple[Row, ...]:
    return tuple(
        Row(
            str(number),
            triple[0],
            triple[1],
            triple[2] if len(triple) > 2 else {},
            tuple(sorted(tags[number])),
            clusters[number],
        )
        for number, triple in enumerate(triples)
    )


def drawn_source(kind: AnswerKind, labels: Sequence[str] | None, nulls: bool) -> Source:
    """Draw predictions and targets."""
    values: list[st.SearchStrategy[Any]]
    if kind == "number":
        decimals = st.floats(-1e6, 1e6).map(lambda number: round(number, 6))
        values = [st.integers(-9, 9), decimals]
    elif labels is not None:
        values = [st.sampled_from(labels)]
    else:
        values = [
            st.sampled_from(_TEXTS),
            st.sampled_from(_TEXTS) | st.text(max_size=6),
            # of words that come again, in a text and in others
            st.lists(st.sampled_from(_WORDS), max_size=4).map(" ".join),
        ]
    pools = [st.lists(value, min_size=1, max_size=4, unique=True) for value in values]
    pool: st.SearchStrategy[list[Any]] = st.sampled_from(pools).flatmap(lambda p: p)
    return pool.map(lambda drawn: _pairs(drawn, kind, nulls))


def _pairs(
    pool: Sequence[Any], kind: AnswerKind, nulls: bool
) -> st.SearchStrategy[Triple]:
    values = st.sampled_from(pool)
    targets = st.lists(values, max_size=3) if kind == "any-of" else values
    outcomes = st.sampled_from(_OUTCOMES)
    return st.tuples(outcomes, targets, values).map(
        lambda drawn: (_prediction(*drawn, nulls, kind == "any-of"), drawn[1])
    )


def _prediction(
    outcome: str, target: Any, value: Any, nulls: bool, is_choice: bool
) -> Any:
    if outcome == "none" and nulls:
        return None
    if outcome == "right" and target != []:
        return target[0] if is_choice else target
    return value


def given_source(examples: Any) -> Source:
    """Draw sets of examples from what an author gives."""
    form = "(prediction, target) or (prediction, target, fields)"
    found = given_examples(examples, form, _checked)
    return st.just(st.sampled_from(found) if isinstance(found, list) else found)


def _checked(example: Any) -> Triple:
    is_fitting = isinstance(example, Sequence) and len(example) in (2, 3)
    if not is_fitting or isinstance(example, str):
        raise EvalkitError(
            "an example must be (prediction, target) or (prediction, target, fields), "
            f"is {example!r}"
        )
    return tuple(example)


def source_of_sets(labels: Sequence[str] | None) -> Source:
    """Draw predictions and targets that are sets of labels."""
    several = st.lists(st.sampled_from(labels or LABELS), max_size=3, unique=True)
    pairs = st.tuples(several, several)
    return st.just(st.one_of(pairs, several.map(lambda drawn: (drawn, drawn))))


def source_of_columns(
    kind: AnswerKind, columns: Sequence[str], labels: Sequence[str] | None
) -> Source | None:
    """Draw examples with the columns that are the same in every task that has them."""
    if kind != "one" or len(columns) != 1:
        return None
    chosen = st.sampled_from(labels or LABELS)
    if columns[0] == "responses":
        ranked = st.lists(chosen, min_size=1, max_size=4)
        return st.just(
            st.tuples(ranked, chosen).map(
                lambda drawn: (drawn[0][0], drawn[1], {"responses": drawn[0]})
            )
        )
    if columns[0] == "prob":
        weights = st.lists(
            st.integers(0, 9),
            min_size=len(labels or LABELS),
            max_size=len(labels or LABELS),
        ).filter(any)
        return st.just(
            st.tuples(weights, chosen, chosen).map(
                lambda drawn: _probable(*drawn, labels or LABELS)
            )
        )
    return None


def source_of_task(
    task: BoundTask,
    kind: AnswerKind,
    columns: Collection[str],
    optional: Collection[str],
) -> Source | None:
    """Draw examples with the answers and the fields that a task declares."""
    answers = answers_of(task)
    fields = {**task.Output.model_fields, **task.Input.model_fields}
    known = {name: read_values_of(fields[name]) for name in columns if name in fields}
    needed = {*columns} - {*optional}
    if answers is None or not needed <= {*known} or (columns and not known):
        return None
    given = st.fixed_dictionaries(
        {name: known[name] for name in known if name not in optional},
        optional={name: known[name] for name in known if name in optional},
    )
    pool = st.lists(answers, min_size=1, max_size=4)
    return pool.map(
        lambda drawn: st.builds(
            lambda pair, more: (*pair, more), _pairs(drawn, kind, nulls=False), given
        )
    )


def _probable(
    weights: Sequence[int], prediction: str, target: str, labels: Sequence[str]
) -> Triple:
    shares = [weight / sum(weights) for weight in weights]
    return prediction, target, {"prob": dict(zip(labels, shares, strict=True))}
