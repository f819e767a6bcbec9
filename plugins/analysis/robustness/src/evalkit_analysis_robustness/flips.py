"""Finds the pairs of an original and a copy of which a model's answer flipped."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import polars as pl

from evalkit import Result
from evalkit.base.columns import encode, named
from evalkit.errors import DataError, StorageError
from evalkit.reporting import count_of
from evalkit.runs.stored import examples_of
from evalkit.runs.views import score_column_of
from evalkit_analysis_robustness.results import Effects, find_effects, find_original

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
    is_perturbed = result.record.perturbation is not None
    original = find_original(result) if is_perturbed else result
    effects = find_effects(result)
    runs = _runs(result, effects, perturbation)
    metric = _judge(effects)
    if metric is None:
        has_answers = result.record.answer_kind != "none"
        advice = "; `evalkit eval … -m accuracy` adds one" if has_answers else ""
        raise DataError(
            f"no metric of {_where(result)} tells right from wrong, so that nothing "
            f"flips{advice}"
        )
    pairs = _tagged(pl.concat([_pairs(original, run, metric) for run in runs]), tag)
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


def _judge(effects: Effects) -> str | None:
    """Return the metric that tells right from wrong; None if there is none."""
    judged = (s.metric for s in effects.scores if s.computed_on == FLIPS[0])
    return next(judged, None)


def _runs(result: Result, effects: Effects, perturbation: str | None) -> list[Result]:
    """Return the runs of the perturbations that are asked for."""
    if not effects.runs:
        raise DataError(
            f"{_where(result)} has no perturbed copies; `evalkit eval … --perturbed "
            "FILE --perturbed-predictions FILE` makes a run that has"
        )
    if perturbation is None:
        return [*effects.runs]
    members = effects.members(perturbation)
    if not members:
        raise DataError(
            f"{_where(result)} has no copies by {perturbation!r}; "
            f"{_known('choice', perturbation, effects.names)}"
        )
    named = zip(effects.perturbations, effects.runs, strict=True)
    return [run for known, run in named if known.name in members]


def _tagged(pairs: pl.DataFrame, tag: str | None) -> pl.DataFrame:
    """Return the pairs whose perturbed example has a tag."""
    if tag is None:
        return pairs
    tagged = pairs.filter(pl.col("tags").list.contains(tag))
    if tagged.is_empty():
        known = pairs["tags"].explode().drop_nulls().unique().sort().to_list()
        raise DataError(f"no copy has the tag {tag!r}; {_known('tag', tag, known)}")
    return tagged


def _known(noun: str, name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3) or list(known[:3])
    hint = f", such as {', '.join(map(repr, near))}" if near else ""
    return f"there are {count_of(len(known), noun)}{hint}"


def _pairs(original: Result, run: Result, metric: str) -> pl.DataFrame:
    """Put perturbed examples whose prediction counts beside such originals."""
    counted = pl.col("status").is_in(original.record.policies.counted)
    before, after = examples_of(original), examples_of(run)
    originals = before.filter(counted).select(
        input_id="id",
        original_answer="answer",
        original_pred="pred",
        __before=_scores(original, before, metric),
    )
    perturbed = after.filter(counted).select(
        *("id", "input_id", "perturbation", "answer", "pred", "tags"),
        __after=_scores(run, after, metric),
    )
    return perturbed.join(
        originals, on="input_id", how="inner", maintain_order="left"
    ).drop_nulls(["__before", "__after"])


def _scores(result: Result, frame: pl.DataFrame, metric: str) -> pl.Expr:
    name = score_column_of(frame, metric)
    if name not in frame.columns:
        if not frame["status"].is_in(result.record.policies.counted).any():
            return pl.lit(None, pl.Float64)
        raise StorageError(f"{_where(result)} has no scores of single copies")
    return named(name)


def _where(result: Result) -> str:
    return f"the run {result.run_id}"
