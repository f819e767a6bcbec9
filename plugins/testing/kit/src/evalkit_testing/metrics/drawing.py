"""How hypothesis draws examples.

There are few different values in each set, so that many are equal, and sets of one
class come up.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from hypothesis import strategies as st

from evalkit import EvalkitError
from evalkit.catalog import BoundTask
from evalkit.hookspecs import AnswerKind
from evalkit_testing.checking import given_examples
from evalkit_testing.drawn_responses import answers_of
from evalkit_testing.metrics.samples import Row, Sample
from evalkit_testing.model_rows import read_values_of

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
