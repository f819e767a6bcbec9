"""Finds the pairs of an original and a copy of which a model's answer flipped."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import polars as pl

from evalkit.base.columns import encode, named
from evalkit.base.copies import FAMILY
from evalkit.base.wording import count_of
from evalkit.errors import DataError, StorageError
from evalkit.robustness.rescoring import judge_of
from evalkit.runs.folders import PERTURBED_FILE
from evalkit.runs.results import Result
from evalkit.runs.stored import examples_of, refuse_without_answers
from evalkit.runs.views import score_column_of

Flip = Literal["right-to-wrong", "wrong-to-right", "wrong-to-other-wrong"]

FLIPS: tuple[Flip, ...] = get_args(Flip)
"""All kinds, in the order in which pairs are listed."""


class Flips(NamedTuple):
    """The pairs of which the answer flipped."""

    metric: str
    """The metric that tells right from wrong."""
    rows: pl.DataFrame
    """Columns `flip`, `perturbation`, `input_id`, `id` (of the copy),
    `original_answer`, `answer` (of the copy), `original_pred`, `pred` and `tags` (of
    the copy); by the kind of flip, then in the order of the copies."""
    n: int
    """How many pairs there are, flipped or not, of which both predictions count."""

    @property
    def counts(self) -> dict[Flip, int]:
        """How many pairs there are of each kind."""
        return {flip: int((self.rows["flip"] == flip).sum()) for flip in FLIPS}


def find_flips(
    result: Result, perturbation: str | None = None, tag: str | None = None
) -> Flips:
    """Find the pairs whose correctness flipped, or whose wrong answer is another one.

    Right and wrong are what the metric says of which the run has shares of flips.

    Args:
        result: A result, stored or not, with perturbed copies.
        perturbation: Only copies by this perturbation, or `family:NAME` for those of a
            family; by default all.
        tag: Only copies with this tag.

    Returns:
        The pairs.

    Raises:
        DataError: The run has no perturbed copies, none by this perturbation or with
            this tag, or no metric that tells right from wrong.
        StorageError: The run holds no answers and predictions.
    """
    copies = _copies(result, perturbation, tag)
    metric = judge_of(result)
    if metric is None:
        has_answers = result.record.answer_kind != "none"
        advice = "; `evalkit rescore RUN -m accuracy` adds one" if has_answers else ""
        raise DataError(
            f"no metric of {_where(result)} tells right from wrong, so that nothing "
            f"flips{advice}"
        )
    pairs = _pairs(result, copies, metric)
    before, after = pl.col("__before"), pl.col("__after")
    differs = pl.Series(
        [
            encode(one) != encode(other)
            for one, other in zip(
                pairs["original_pred"].to_list(), pairs["pred"].to_list(), strict=True
            )
        ],
        dtype=pl.Boolean,
    )
    flip = (
        pl.when((before == 1) & (after == 0))
        .then(pl.lit(FLIPS[0]))
        .when((before == 0) & (after == 1))
        .then(pl.lit(FLIPS[1]))
        .when((before == 0) & (after == 0) & differs)
        .then(pl.lit(FLIPS[2]))
    )
    flipped = pairs.with_columns(flip=flip).drop_nulls("flip")
    rank = pl.col("flip").replace_strict(list(FLIPS), [0, 1, 2])
    rows = flipped.sort(rank, maintain_order=True).select(
        *("flip", "perturbation", "input_id", "id", "original_answer", "answer"),
        *("original_pred", "pred", "tags"),
    )
    return Flips(metric, rows, pairs.height)


def _copies(result: Result, perturbation: str | None, tag: str | None) -> pl.DataFrame:
    """Return the copies that are asked for."""
    if not result.record.perturbed:
        raise DataError(
            f"{_where(result)} has no perturbed copies; `evalkit eval … --perturbed "
            "FILE --perturbed-predictions FILE` makes a run that has"
        )
    copies = result.perturbed_examples
    if copies is None:
        raise StorageError(f"{_where(result)} has no {PERTURBED_FILE}")
    refuse_without_answers(copies, _where(result))
    if perturbation is not None:
        members = _members(result, perturbation)
        copies = copies.filter(pl.col("perturbation").is_in(members))
    if tag is not None:
        tagged = copies.filter(pl.col("tags").list.contains(tag))
        if tagged.is_empty():
            known = copies["tags"].explode().drop_nulls().unique().sort().to_list()
            raise DataError(f"no copy has the tag {tag!r}; {_known('tag', tag, known)}")
        copies = tagged
    return copies


def _members(result: Result, perturbation: str) -> list[str]:
    """Name the perturbations that are meant."""
    known = result.record.perturbations
    names = [found.perturbation for found in known]
    if perturbation in names:
        return [perturbation]
    families = {
        f"{FAMILY}{family}"
        for found in known
        if found.label_effect != "uncertain"
        for family in found.families
    }
    if perturbation not in families:
        everything = [*names, *sorted(families)]
        raise DataError(
            f"{_where(result)} has no copies by {perturbation!r}; "
            f"{_known('choice', perturbation, everything)}"
        )
    family = perturbation.removeprefix(FAMILY)
    return [
        found.perturbation
        for found in known
        if found.label_effect != "uncertain" and family in found.families
    ]


def _known(noun: str, name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3) or list(known[:3])
    hint = f", such as {', '.join(map(repr, near))}" if near else ""
    return f"there are {count_of(len(known), noun)}{hint}"


def _pairs(result: Result, copies: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Put copies whose prediction counts beside originals whose prediction counts."""
    counted = pl.col("status").is_in(result.record.policies.counted)
    examples = examples_of(result)
    originals = examples.filter(counted).select(
        input_id="id",
        original_answer="answer",
        original_pred="pred",
        __before=_scores(result, examples, metric),
    )
    after = _scores(result, copies, metric)
    pairs = copies.with_columns(__after=after).filter(counted)
    return pairs.join(
        originals, on="input_id", how="inner", maintain_order="left"
    ).drop_nulls(["__before", "__after"])


def _scores(result: Result, frame: pl.DataFrame, metric: str) -> pl.Expr:
    name = score_column_of(frame, metric)
    if name not in frame.columns:
        raise StorageError(f"{_where(result)} has no scores of single copies")
    return named(name)


def _where(result: Result) -> str:
    return f"the run {result.run_id}"
