"""Rankings that models give, and scores of how high what is relevant stands in them.

A ranking is cut into blocks of items that are equally good: one item each, but for
those with equal scores. A score is the mean over all orders of the items of a block, so
that it does not depend on the order in which they happen to be listed (McSherry and
Najork, Computing Information Retrieval Performance Measures Efficiently in the Presence
of Tied Scores, 2008).
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Annotated, Literal

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray
from pydantic import Field

from evalkit import Metric, MetricContext, MetricError, Parameters
from evalkit_metrics_statistics.relevance import REFERENCES, as_text, relevant_items

RESPONSES = "responses"
SCORES = ("scores", "responses.score")
"""Columns with the score of each item, where the order of the list is not the ranking:
of a ranked list, and of alternatives."""

NO_GRADE = "a reference has no grade"
NEGATIVE = "the grade of a reference is below 0"
NOT_FITTING = "there is not one number for each ranked item among the scores"

Depth = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""A number of ranks."""


class RankingParameters(Parameters):
    """What counts."""

    k: Depth | None = None
    """The first so many ranks count; all by default."""


class RelevanceParameters(RankingParameters):
    """What counts, and what is relevant."""

    grade_above: float = 0.0
    """A reference is relevant where its grade is above this."""


class RankingMetric(Metric):
    """A mean over examples of how high their relevant items are ranked.

    The ranking is the prediction, where the task's answers are `ranked`, or else the
    alternatives of the response. An example without a relevant reference is none to
    which it applies; one without a prediction, or with an empty ranking, scores 0.
    """

    Parameters = RankingParameters
    answer_kinds = ("ranked", "any-of", "one")
    bounds = (0.0, 1.0)
    higher_is_better = True
    interval = "t"
    columns = (RESPONSES, REFERENCES, *SCORES)
    optional_columns = columns
    per_example = "score"
    worst_value = 0.0
    accepts_no_prediction = True

    @property
    def depth(self) -> int:
        """How many ranks count."""
        parameters = self.parameters
        assert isinstance(parameters, RankingParameters)
        return parameters.k or 2**31 - 1

    def block_scores(self, blocks: pl.DataFrame) -> pl.Series:
        """Score blocks of equally good items.

        Args:
            blocks: `start` (how many items stand before it), `size`, `relevant` (how
                many of its items are), `before` (how many of those before it are) and
                `gain` (the sum of what its items' grades are worth).

        Returns:
            What each adds to the score of its example.
        """
        raise TypeError(f"{type(self).__name__} does not define block_scores")

    def best_score(self, relevant: pl.DataFrame) -> pl.DataFrame:
        """Return what the scores of the blocks are divided by.

        Args:
            relevant: `row`, `item`, `grade` and `gain` of what is relevant.

        Returns:
            `row` and `best`, above 0; a row for each example that is scored.
        """
        return relevant.group_by("row").agg(best=pl.len().cast(pl.Float64))

    def gain(self, grade: pl.Expr) -> pl.Expr:
        """Return what an item of a grade is worth."""
        return grade

    def is_relevant(self) -> pl.Expr:
        """Tell whether an item of the column `grade` is relevant."""
        return pl.col("grade") > 0

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the score of every example that has something relevant."""
        graded = relevant_items(batch, context)
        items, misfits = _ranked_items(batch, context)
        left = _left_out(graded, misfits)
        graded = graded.with_columns(gain=self.gain(pl.col("grade")))
        relevant = graded.filter(self.is_relevant())
        blocks = _blocks(items, relevant)
        scores = blocks.with_columns(score=self.block_scores(blocks))
        found = (
            self.best_score(relevant)
            .join(left, "row", "anti")
            .join(scores.group_by("row").agg(pl.col("score").sum()), "row", "left")
            .select("row", score=pl.col("score").fill_null(0.0) / pl.col("best"))
        )
        none = pl.lit(None, dtype=pl.String)
        scored = found.with_columns(not_scored=none)
        lacking = left.select("row", "not_scored", score=pl.lit(0.0))
        joined = pl.concat([scored, lacking.select(cs.by_name(*scored.columns))])
        # rounding may put a perfect ranking above 1
        score = pl.col("score").clip(0.0, 1.0)
        return joined.sort("row").with_columns(score, examples=pl.lit(1.0))

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sum by the examples."""
        return sums.select("group", value=pl.col("score") / pl.col("examples"))


class RelevanceMetric(RankingMetric):
    """A metric of items that are relevant or not, whatever their grade."""

    Parameters = RelevanceParameters

    def is_relevant(self) -> pl.Expr:
        """Tell whether an item of the column `grade` is relevant."""
        parameters = self.parameters
        assert isinstance(parameters, RelevanceParameters)
        return pl.col("grade") > parameters.grade_above


def _left_out(graded: pl.DataFrame, misfits: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that cannot be scored, and why: `row` and `not_scored`."""
    reason = (
        pl.when(pl.col("grade").is_null() | pl.col("grade").is_nan())
        .then(pl.lit(NO_GRADE))
        .when(pl.col("grade") < 0)
        .then(pl.lit(NEGATIVE))
    )
    of_grades = graded.select("row", not_scored=reason).drop_nulls()
    both = pl.concat([misfits, of_grades.sort("row", "not_scored")])
    return both.unique("row", keep="first", maintain_order=True)


def _ranked_items(
    batch: pl.DataFrame, context: MetricContext
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `row`, `item` and `level` of all that is ranked; the best level is least.

    Also the rows whose scores do not fit: `row` and `not_scored`.
    """
    lists, scores = _lists(batch, context)
    frame = pl.DataFrame([lists.alias("item"), scores.alias("level")])
    frame = frame.with_row_index("row").with_columns(
        pl.col("item").fill_null(pl.lit([], dtype=lists.dtype)),
        level=pl.when(pl.col("item").is_not_null()).then("level"),
    )
    known = pl.col("level").list.eval(pl.element().is_finite()).list.sum()
    is_unfit = pl.col("level").is_not_null() & (
        (pl.col("level").list.len() != pl.col("item").list.len())
        | (known.fill_null(0) != pl.col("item").list.len())
    )
    misfits = frame.filter(is_unfit).select("row", not_scored=pl.lit(NOT_FITTING))
    places = pl.int_ranges(pl.col("item").list.len()).cast(pl.List(pl.Float64))
    level = pl.coalesce(pl.col("level").list.eval(-pl.element()), places)
    fitting = frame.filter(~is_unfit, pl.col("item").list.len() > 0)
    flat = fitting.with_columns(level=level).explode("item", "level")
    return flat.with_columns(item=as_text(flat["item"])), misfits


def _lists(batch: pl.DataFrame, context: MetricContext) -> tuple[pl.Series, pl.Series]:
    """Return the ranked list of each example, and the scores of its items."""
    prediction = batch["prediction"]
    if context.answer_kind == "ranked" and isinstance(prediction.dtype, pl.List):
        return prediction, _scores(batch, SCORES[0])
    given = batch[RESPONSES]
    alone = prediction.reshape((-1, 1)).arr.to_list()
    is_alone = prediction.is_not_null() & given.is_null()
    nothing = pl.Series([None], dtype=alone.dtype).new_from_index(0, len(alone))
    alone = alone.zip_with(is_alone, nothing)
    if given.null_count() == len(given):
        return alone, _scores(batch, SCORES[1])
    lists = given.zip_with(~is_alone, alone.cast(given.dtype))
    return lists, _scores(batch, SCORES[1])


def _scores(batch: pl.DataFrame, name: str) -> pl.Series:
    scores = batch[name]
    if not isinstance(scores.dtype, pl.List):
        if scores.null_count() < len(scores):
            raise MetricError(f"the field {name!r} must hold lists of numbers")
        return pl.Series(name, [None] * len(scores), dtype=pl.List(pl.Float64))
    return scores.cast(pl.List(pl.Float64))


def _blocks(items: pl.DataFrame, relevant: pl.DataFrame) -> pl.DataFrame:
    """Return the blocks that hold something relevant; see `block_scores`.

    An item that is listed twice is relevant where it stands first.
    """
    order = ["row", "level", "item"]
    known = relevant.select("row", "item", "gain", is_relevant=pl.lit(1))
    found = items.sort(order).join(
        known, ["row", "item"], "left", maintain_order="left"
    )
    again = ~pl.struct("row", "item").is_first_distinct()
    values = pl.when(~again).then(pl.col("gain", "is_relevant")).fill_null(0)
    return (
        found.with_columns(values)
        .group_by("row", "level", maintain_order=True)
        .agg(
            size=pl.len().cast(pl.Int64),
            relevant=pl.col("is_relevant").sum().cast(pl.Int64),
            gain=pl.col("gain").sort().sum(),
        )
        .with_columns(
            start=pl.col("size").cum_sum().over("row") - pl.col("size"),
            before=pl.col("relevant").cum_sum().over("row") - pl.col("relevant"),
        )
        .filter(pl.col("relevant") > 0)
    )


def by_kind_of_block(
    blocks: pl.DataFrame, score: Callable[[int, int, int, int], float]
) -> pl.Series:
    """Score blocks by a function of whole numbers, once for each kind of block.

    Args:
        blocks: The blocks.
        score: A function of `start`, `size`, `relevant` and `before`.

    Returns:
        The scores, in the order of the blocks.
    """
    names = ["start", "size", "relevant", "before"]
    kinds = blocks.select(names).unique()
    values = pl.Series("__score", [score(*kind) for kind in kinds.rows()], pl.Float64)
    known = kinds.with_columns(values)
    return blocks.join(known, names, "left", maintain_order="left")["__score"]


class MAP(RelevanceMetric):
    """Mean average precision of rankings.

    Per example the precision at the rank of each relevant item, added up and divided by
    the number of relevant references, also of those that are not ranked, and then the
    mean. `map:k=10` looks at the first ten ranks alone, and divides by the same number.
    The ranking is the prediction, where the task's answers are ranked lists, or else
    the alternatives in `responses`. Items are relevant that equal an answer; where
    there are `references` with a grade, those whose grade is above `grade_above`. Items
    with equal `scores` count as the mean over their orders. An example without anything
    relevant is left out, and a notice counts it; a missing prediction is 0. Range 0 to
    1, higher is better; Student's interval.

    Source: Buckley and Voorhees, Evaluating Evaluation Measure Stability, 2000;
    trec_eval's `map` and `map_cut`.

    Example:
        >>> import evalkit
        >>> ranked = {"responses": [["a", "c", "b"]]}
        >>> found = evalkit.score("map", ["a"], [["a", "b"]], fields=ranked)
        >>> found["map"].value
        0.8333333333333333
    """

    def block_scores(self, blocks: pl.DataFrame) -> pl.Series:
        """Return the precisions at the relevant items, as a mean over orders."""
        return by_kind_of_block(blocks, self._expected)

    def _expected(self, start: int, size: int, relevant: int, before: int) -> float:
        # of the items before a relevant one in the block so many are relevant, too
        share = (relevant - 1) / (size - 1) if size > 1 else 0.0
        places = range(1, min(size, self.depth - start) + 1)
        precisions = (
            (before + 1 + (place - 1) * share) / (start + place) for place in places
        )
        return relevant / size * sum(precisions)


class MRR(RelevanceMetric):
    """Mean reciprocal rank: the mean of 1 / rank of the first relevant item.

    It is 0 where none is ranked, and `mrr:k=10` looks at the first ten ranks alone. The
    ranking is the prediction, where the task's answers are ranked lists, or else the
    alternatives in `responses`, and a prediction alone is a ranking of one. Items are
    relevant that equal an answer; where there are `references` with a grade, those
    whose grade is above `grade_above`. Items with equal `scores` count as the mean over
    their orders. An example without anything relevant is left out, and a notice counts
    it; a missing prediction is 0. Range 0 to 1, higher is better; Student's interval.

    Source: Voorhees, The TREC-8 Question Answering Track Report, 1999; trec_eval's
    `recip_rank`.

    Example:
        >>> import evalkit
        >>> ranked = {"responses": [["b", "a"], ["c", "d"]]}
        >>> evalkit.score("mrr", ["b", "c"], ["a", "c"], fields=ranked)["mrr"].value
        0.75
    """

    def best_score(self, relevant: pl.DataFrame) -> pl.DataFrame:
        """Return 1 for each example with something relevant."""
        return relevant.select("row").unique().with_columns(best=pl.lit(1.0))

    def block_scores(self, blocks: pl.DataFrame) -> pl.Series:
        """Return the mean reciprocal rank of the first relevant item of the first."""
        return by_kind_of_block(blocks, self._expected)

    def _expected(self, start: int, size: int, relevant: int, before: int) -> float:
        if before:
            return 0.0
        orders = comb(size, relevant)
        return sum(
            comb(size - place, relevant - 1) / orders / (start + place)
            for place in range(1, size - relevant + 2)
            if start + place <= self.depth
        )


class NDCGParameters(RankingParameters):
    """What counts, and for how much."""

    k: Depth | None = 10
    """The first so many ranks count; null for all."""
    gain: Literal["linear", "exponential"] = "linear"
    """What a grade g is worth: g, or 2^g - 1."""


class NDCG(RankingMetric):
    """Discounted gain of the first k ranks, by that of the best ranking: `ndcg:k=10`.

    Per example the sum of gain / log2(rank + 1) over the first k ranks, by the sum for
    all references in the order of their grades, and then the mean. The gain is the
    grade, with `gain=exponential` 2^grade - 1. Grades come from the field `grade` of
    `references`, or from their tags (`relevance=2`, `correct`); an answer without such
    a reference has the grade 1. The ranking is the prediction, where the task's answers
    are ranked lists, or else the alternatives in `responses`. Items with equal `scores`
    count as the mean over their orders. An example without a grade above 0 is left out,
    and a notice counts it; a missing prediction is 0. Range 0 to 1, higher is better;
    Student's interval.

    Source: Järvelin and Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques,
    2002; Burges et al., Learning to Rank using Gradient Descent, 2005, for
    `gain=exponential`; scikit-learn's `ndcg_score`, trec_eval's `ndcg_cut`.

    Example:
        >>> import evalkit
        >>> ranked = {"responses": [["b", "a"]]}
        >>> found = evalkit.score("ndcg", ["b"], ["a"], fields=ranked)
        >>> round(found["ndcg"].value, 6)
        0.63093
    """

    Parameters = NDCGParameters

    def gain(self, grade: pl.Expr) -> pl.Expr:
        """Return what an item of a grade is worth."""
        parameters = self.parameters
        assert isinstance(parameters, NDCGParameters)
        if parameters.gain == "linear":
            return grade
        return pl.lit(2.0).pow(grade) - 1

    def block_scores(self, blocks: pl.DataFrame) -> pl.Series:
        """Return the discounted gains, as if each item had the block's mean."""
        start, size = blocks["start"].to_numpy(), blocks["size"].to_numpy()
        first, last = (np.minimum(end, self.depth) for end in (start, start + size))
        discounts = summed_discounts(int(last.max(initial=0)))
        gains = blocks["gain"].to_numpy() / size
        return pl.Series("score", gains * (discounts[last] - discounts[first]))

    def best_score(self, relevant: pl.DataFrame) -> pl.DataFrame:
        """Return the discounted gain of the best ranking."""
        rank = pl.int_range(pl.len()).over("row")
        ranked = relevant.sort(["row", "gain"], descending=[False, True])
        first = ranked.with_columns(rank=rank).filter(pl.col("rank") < self.depth)
        discounted = pl.col("gain") / (pl.col("rank") + 2).log(2)
        return first.group_by("row").agg(best=discounted.sum())


def summed_discounts(ranks: int) -> NDArray[np.float64]:
    """Return the sum of 1 / log2(rank + 1) over the first 0, 1, ... ranks.

    Args:
        ranks: How many ranks there are.
    """
    discounts = 1 / np.log2(np.arange(ranks) + 2)
    return np.concatenate([[0.0], np.cumsum(discounts)])


class RecallParameters(RelevanceParameters):
    """What counts."""

    k: Depth | None = 10
    """The first so many ranks count, at least 1."""


class RecallAtK(RelevanceMetric):
    """Share of what is relevant that stands in the first k ranks: `recall-at-k:k=10`.

    Per example the relevant items among the first k by all relevant references, and
    then the mean; where more than k are relevant it cannot be 1. The ranking is the
    prediction, where the task's answers are ranked lists, or else the alternatives in
    `responses`. Items are relevant that equal an answer; where there are `references`
    with a grade, those whose grade is above `grade_above`. Items with equal `scores`
    count as the mean over their orders. An example without anything relevant is left
    out, and a notice counts it; a missing prediction is 0. Range 0 to 1, in %, higher
    is better; Student's interval.

    Source: Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008,
    chapter 8; trec_eval's `recall`.

    Example:
        >>> import evalkit
        >>> ranked = {"responses": [["a", "c", "b"]]}
        >>> found = evalkit.score("recall-at-k:k=2", ["a"], [["a", "b"]], fields=ranked)
        >>> found["recall-at-k:k=2"].value
        0.5
    """

    Parameters = RecallParameters
    unit = "%"
    scale = 100.0

    def block_scores(self, blocks: pl.DataFrame) -> pl.Series:
        """Return how many relevant items stand in the first ranks."""
        within = pl.min_horizontal("size", self.depth - pl.col("start")).clip(0)
        share = pl.col("relevant") / pl.col("size")
        return blocks.select((share * within).alias("score")).to_series()
