"""F1 of spans."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

import polars as pl
import polars.selectors as cs

from evalkit import Metric, MetricError, Parameters

Place = tuple[Any, Any]
"""Where a span starts, and where it ends: the place after it."""


def count_overlapping(found: Sequence[Place], wanted: Sequence[Place]) -> int:
    """Count the most pairs of spans that overlap, each span in one pair at most.

    Of all spans the one that ends first is paired first. Its partners all hold its last
    place, so that the one of them that ends first is never a worse choice.

    Args:
        found: Predicted spans; those without start, end or length overlap nothing.
        wanted: Gold spans.

    Returns:
        The number of pairs of a predicted and a gold span.
    """
    left = sorted(
        (end, start, side)
        for side, spans in enumerate((found, wanted))
        for start, end in spans
        if start is not None and end is not None and start < end
    )
    pairs = 0
    while left:
        end, _, side = left.pop(0)
        for place, (_, start, other) in enumerate(left):
            if other != side and start < end:
                del left[place]
                pairs += 1
                break
    return pairs


_TAG = re.compile(r"O|([BIES])(?:-(.+))?", re.DOTALL)


def spans_of_tags(tags: Sequence[str]) -> Iterator[tuple[int, int, str | None]]:
    """Find the spans in tags such as `B-PER`, `I-PER` and `O`.

    A span also begins where the type changes, and with an `I` that follows no span;
    `E` ends a span and `S` is one of a single token (IOBES).

    Args:
        tags: The tags of a text's tokens.

    Yields:
        Its first token, the place after its last one, and its type.

    Raises:
        MetricError: A tag is of another form.
    """
    start: int | None = None
    before, type_before = "O", None
    for place, tag in enumerate([*tags, "O"]):
        match = _TAG.fullmatch(tag)
        if match is None:
            raise MetricError(f"expected a tag such as B-PER, I-PER or O, got {tag!r}")
        kind, type_ = match[1] or "O", match[2]
        begins = kind in "BS" or before in "OES" or type_ != type_before
        if start is not None and (kind == "O" or begins):
            yield start, place, type_before
            start = None
        if kind != "O" and start is None:
            start = place
        before, type_before = kind, type_


NO_TYPE = ""
"""Type of spans that have none."""

OWN_SCORES = ("precision", "recall", "partial")

Spans = Sequence[Any]
"""Mappings, or the tags of a text's tokens."""


class SpanParameters(Parameters):
    """What the parts of a span are called."""

    start: str = "start"
    """The field with the place where a span begins."""
    end: str = "end"
    """The field with the place after its last character."""
    label: str = "label"
    """The field with its type; spans without it are of no type."""


class Counts(NamedTuple):
    """What is counted for one type in one example."""

    row: int
    type: str
    hits: float
    credit: float
    gold: float
    predicted: float
    not_scored: str | None = None


class SpanF1(Metric):
    """F1 of the spans found in all texts: 2 right / (gold + predicted).

    A span is right where start, end and type are those of a gold span, which counts
    once; all are added up over the whole set before they are divided. Besides
    `span-f1#precision` and `span-f1#recall`, `span-f1#partial` counts one half for a
    span that overlaps a gold one of its type, where neither has a better partner, and
    `span-f1#TYPE` is the F1 of a type. The fields of a span are called `start`, `end`
    (the place after it) and `label` unless parameters say otherwise. A list of tags of
    tokens (`B-PER`, `I-PER`, `O`) stands for the spans that it marks. A text without
    spans, of which none was predicted, is right: a group of only such scores 1, and the
    score says so. A missing prediction finds nothing; where the answer has no span it
    counts as a wrong one. Precision is null where nothing was predicted, recall where
    there is no gold span. Range 0 to 1, in %, higher is better; the delta method's
    interval.

    Source: Tjong Kim Sang and De Meulder, Introduction to the CoNLL-2003 Shared Task,
    2003 (seqeval's `f1_score`); the half credit of Segura-Bedmar et al., SemEval-2013
    Task 9, 2013, within a type.

    Example:
        >>> import evalkit
        >>> gold = [{"start": 0, "end": 3, "label": "person"}]
        >>> said = [*gold, {"start": 9, "end": 14, "label": "place"}]
        >>> found = evalkit.score("span-f1", [said], [gold], answer_kind="spans")
        >>> found["span-f1"].value, found["span-f1#person"].value
        (0.6666666666666666, 1.0)
    """

    Parameters = SpanParameters
    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("spans",)
    interval = "delta"
    keys = ("type",)
    accepts_no_prediction = True
    # wrong spans lower it more than none do
    has_possible_range = False

    def __init__(self, parameters: SpanParameters | None = None) -> None:
        super().__init__(parameters)
        self._fields = parameters or SpanParameters()

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return what is right, gold and predicted in every example, by type."""
        columns = batch.select("prediction", "target").iter_rows()
        rows = [
            counts
            for row, (prediction, target) in enumerate(columns)
            for counts in self._counts(row, prediction, target or ())
        ]
        numbers = dict.fromkeys(("hits", "credit", "gold", "predicted"), pl.Float64)
        reason = {"not_scored": pl.String}
        schema = {"row": pl.Int64, "type": pl.String, **numbers, **reason}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sums over all types, and those of each."""
        numbers = pl.col("hits", "credit", "gold", "predicted")
        whole = sums.group_by("group", maintain_order=True).agg(
            # as a list, because the partial sums of polars depend on the threads
            numbers.implode().list.sum()
        )
        types = sums.filter(pl.col("type") != NO_TYPE).select(
            "group", score=_score_name(pl.col("type")), value=_f1("hits")
        )
        return pl.concat([*_of_all_types(whole), types], how="diagonal")

    def _counts(self, row: int, prediction: Spans | None, gold: Spans) -> list[Counts]:
        """Count by type; a row of zeros where there is nothing."""
        if _are_tags(gold) and _are_tags(prediction) and len(gold) != len(prediction):
            reason = f"{len(prediction)} tags, expected {len(gold)}"
            return [Counts(row, NO_TYPE, 0.0, 0.0, 0.0, 0.0, reason)]
        wanted, found = self._by_type(gold), self._by_type(prediction or ())
        types = sorted({*wanted, *found})
        rows = [
            _count(row, each, found.get(each, []), wanted.get(each, []))
            for each in types
        ]
        is_wrong = prediction is None and not gold
        return rows or [Counts(row, NO_TYPE, 0.0, 0.0, 0.0, float(is_wrong))]

    def _by_type(self, spans: Spans) -> dict[str, list[Place]]:
        fields = self._fields
        found: dict[str, list[Place]] = {}
        if _are_tags(spans):
            for start, end, label in spans_of_tags(spans):
                found.setdefault(label or NO_TYPE, []).append((start, end))
            return found
        for span in spans:
            if not isinstance(span, Mapping) or not {fields.start, fields.end} <= {
                *span
            }:
                raise MetricError(
                    f"spans must have the fields {fields.start!r} and {fields.end!r}; "
                    "parameters say what else they are called"
                )
            label = span.get(fields.label)
            name = NO_TYPE if label is None else str(label)
            found.setdefault(name, []).append((span[fields.start], span[fields.end]))
        return found


def _are_tags(spans: Spans | None) -> TypeGuard[Sequence[str]]:
    return spans is not None and len(spans) > 0 and isinstance(spans[0], str)


def _count(row: int, name: str, found: list[Place], wanted: list[Place]) -> Counts:
    right = Counter(found) & Counter(wanted)
    hits = right.total()
    others = [list((Counter(each) - right).elements()) for each in (found, wanted)]
    credit = hits + count_overlapping(*others) / 2
    return Counts(row, name, hits, credit, len(wanted), len(found))


def _f1(hits: str) -> pl.Expr:
    return 2 * cs.by_name(hits).as_expr() / (pl.col("gold") + pl.col("predicted"))


def _of_all_types(whole: pl.DataFrame) -> Iterator[pl.DataFrame]:
    is_empty = pl.col("gold") + pl.col("predicted") == 0
    flag = pl.lit("no answer and no prediction has a span, which counts as right")
    for score, hits in (("", "hits"), ("partial", "credit")):
        yield whole.select(
            "group",
            score=pl.lit(score),
            value=pl.when(is_empty).then(1.0).otherwise(_f1(hits)),
            flag=pl.when(is_empty).then(flag),
        )
    for score, of, lacking in (
        ("precision", "predicted", "no span was predicted"),
        ("recall", "gold", "no answer has a span"),
    ):
        count = cs.by_name(of).as_expr()
        is_defined = count > 0
        yield whole.select(
            "group",
            score=pl.lit(score),
            value=pl.when(is_defined).then(pl.col("hits") / count),
            reason=pl.when(~is_defined).then(pl.lit(lacking)),
        )


def _score_name(name: pl.Expr) -> pl.Expr:
    """Name the score of a type; in quotation marks where it would be another's name."""
    bare = name.str.strip_chars('"')
    is_taken = bare.is_in(OWN_SCORES)
    return pl.when(is_taken).then(pl.format('"{}"', name)).otherwise(name)
