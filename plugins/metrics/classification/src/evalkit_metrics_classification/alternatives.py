"""Ranked alternatives: the several answers that a response gives to one example."""

from __future__ import annotations

from math import comb
from typing import Annotated

import polars as pl
from pydantic import Field

from evalkit import Metric, MetricContext, Parameters
from evalkit_metrics_classification.accuracy import is_right

RESPONSES = "responses"
"""Column with the list of each example's alternatives, the best one first."""

AlternativeCount = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""A number of alternatives, from 1 to the most that a list can hold."""


class AlternativesMetric(Metric):
    """A proportion computed from the alternatives of each example.

    Alternatives are compared with the answer as accuracy compares predictions. One that
    is null, from which no answer could be extracted, is wrong. An example without any,
    because its list is empty or it has no usable response, scores 0. Where an example
    has a prediction but no list, the prediction is its only alternative.
    """

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    columns = (RESPONSES,)
    worst_value = 0.0
    accepts_no_prediction = True


class ShareMetric(AlternativesMetric):
    """Share of examples that one rule calls right."""

    interval = "wilson"
    per_example = "correct"

    def right_rows(self, batch: pl.DataFrame, context: MetricContext) -> pl.Series:
        """Find the right examples.

        Args:
            batch: Columns `prediction`, `target` and `responses`.
            context: Says whether answers are single or lists.

        Returns:
            Their positions in the batch, some perhaps several times.
        """
        raise TypeError(f"{type(self).__name__} does not define right_rows")

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return 1 for each right and 0 for each wrong example."""
        right = self.right_rows(batch, context).unique().implode()
        row = pl.int_range(batch.height, dtype=pl.UInt32, eager=True).alias("row")
        return row.to_frame().select(
            "row",
            correct=pl.col("row").is_in(right).cast(pl.Float64),
            examples=pl.lit(1.0),
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the right ones by all."""
        return sums.select("group", value=pl.col("correct") / pl.col("examples"))


def alternatives_of(batch: pl.DataFrame) -> pl.Series:
    """Return the alternatives of every example.

    Args:
        batch: Columns `prediction` and `responses`.

    Returns:
        Lists, none of them null.

    Raises:
        TypeError: The column `responses` holds something else.
    """
    given, prediction = batch[RESPONSES], batch["prediction"]
    if given.null_count() == len(given):
        # without values it has no type of its own
        given = pl.Series(RESPONSES, [None] * len(given), pl.List(prediction.dtype))
    if not isinstance(given.dtype, pl.List):
        raise TypeError(f"the field 'responses' must hold lists, holds {given.dtype}")
    is_alone = given.is_null() & prediction.is_not_null()
    if is_alone.any():
        alone = prediction.reshape((len(prediction), 1)).arr.to_list()
        given = given.zip_with(~is_alone, alone.cast(given.dtype))
    nothing = pl.lit([], dtype=given.dtype)
    return given.to_frame().select(pl.col(RESPONSES).fill_null(nothing)).to_series()


def ranked(alternatives: pl.Series) -> pl.DataFrame:
    """Return a row for each alternative that is not null.

    Args:
        alternatives: Lists, one for each example.

    Returns:
        `row` (the example's position in the batch), `rank` (from 0) and `prediction`,
        in the order of the examples and of their alternatives.
    """
    frame = alternatives.alias("prediction").to_frame().with_row_index("row")
    ranks = pl.int_ranges(pl.col("prediction").list.len()).alias("rank")
    exploded = frame.with_columns(ranks).explode("rank", "prediction")
    return exploded.drop_nulls("prediction").select("row", "rank", "prediction")


def only_right(
    predictions: pl.DataFrame, batch: pl.DataFrame, context: MetricContext
) -> pl.DataFrame:
    """Keep what equals an answer of its example.

    Args:
        predictions: `row` (a position in the batch) and `prediction`.
        batch: Column `target`.
        context: Says whether answers are single or lists.

    Returns:
        The rows of `predictions` that are right.
    """
    if predictions.is_empty():
        # a column without values may not be of the answers' type
        return predictions
    answers = batch["target"].gather(predictions["row"]).alias("target")
    return predictions.with_columns(answers).filter(is_right(context)).drop("target")


class TopKParameters(Parameters):
    """How many alternatives count."""

    k: AlternativeCount = 5
    """The first so many, at least 1."""


class TopKAccuracy(ShareMetric):
    """Share of examples with a right answer among the first k alternatives.

    For k = 5, the default, the complement of ImageNet's top-5 error;
    `top-k-accuracy:k=1` is accuracy. An example with fewer alternatives is judged by
    those that it has; an empty list is wrong, and so is a missing response that counts.
    Range 0 to 1, in %, higher is better; Wilson's interval.

    Source: Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge, 2015.

    Example:
        >>> import evalkit
        >>> given = {"responses": [["a", "b"], ["b", "c"]]}
        >>> name = "top-k-accuracy:k=2"
        >>> evalkit.score(name, ["a", "b"], ["b", "a"], fields=given)[name].value
        0.5
    """

    Parameters = TopKParameters

    def right_rows(self, batch: pl.DataFrame, context: MetricContext) -> pl.Series:
        """Find the examples with a right one among the first alternatives."""
        parameters = self.parameters
        assert isinstance(parameters, TopKParameters)
        first = alternatives_of(batch).list.head(parameters.k)
        return only_right(ranked(first), batch, context)["row"]


class VoteAccuracy(ShareMetric):
    """Share of examples whose most frequent alternative equals an answer.

    The majority vote, also maj@n. Of several that are equally frequent the one that
    comes first in the list is taken. Alternatives from which no answer could be
    extracted do not vote; where none votes the example is wrong, and so is a missing
    response that counts. Range 0 to 1, in %, higher is better; Wilson's interval.

    Source: Wang et al., Self-Consistency Improves Chain of Thought Reasoning in
    Language Models, 2023.

    Example:
        >>> import evalkit
        >>> given = {"responses": [["5", "4", "4"]]}
        >>> found = evalkit.score("vote-accuracy", ["5"], ["4"], fields=given)
        >>> found["vote-accuracy"].value
        1.0
    """

    def right_rows(self, batch: pl.DataFrame, context: MetricContext) -> pl.Series:
        """Find the examples whose vote is right."""
        votes = elected(ranked(alternatives_of(batch)))
        return only_right(votes, batch, context)["row"]


def elected(votes: pl.DataFrame) -> pl.DataFrame:
    """Find the most frequent prediction of every example.

    Args:
        votes: `row`, `rank` and `prediction`.

    Returns:
        `row` and `prediction`; of equally frequent ones that of the lowest rank.
    """
    counted = votes.group_by("row", "prediction").agg(
        votes=pl.len(), rank=pl.col("rank").min()
    )
    ordered = counted.sort("row", "votes", "rank", descending=[False, True, False])
    return ordered.unique("row", keep="first", maintain_order=True).select(
        "row", "prediction"
    )


_LEAST = 1e-3
"""What is counted as at least one example that has too few alternatives: gradients of
the score are taken by changing sums by less than this."""


class PassParameters(Parameters):
    """How many alternatives are drawn."""

    k: AlternativeCount = 1
    """So many, at least 1."""


class PassMetric(AlternativesMetric):
    """Mean over examples of a chance when k of their alternatives are drawn.

    Where an example has replications, they are its alternatives.
    """

    Parameters = PassParameters
    optional_columns = (RESPONSES,)
    joins_replications = True
    interval = "t"
    per_example = "chance"

    @property
    def k(self) -> int:
        """The parameter `k`."""
        parameters = self.parameters
        assert isinstance(parameters, PassParameters)
        return parameters.k

    def chance(self, n: int, right: int) -> float:
        """Return the chance for one example.

        Args:
            n: How many alternatives it has, at least `k`.
            right: How many of them are right.

        Returns:
            A number between 0 and 1.
        """
        raise TypeError(f"{type(self).__name__} does not define chance")

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the chance of every example, and which ones have too few for it."""
        counts = _counts(batch, context)
        different = counts.select("n", "right").unique()
        chances = [
            self.chance(n, right) if n >= self.k else 0.0
            for n, right in different.iter_rows()
        ]
        known = different.with_columns(pl.Series("chance", chances, dtype=pl.Float64))
        is_lacking = (pl.col("n") > 0) & (pl.col("n") < self.k)
        return counts.join(
            known, on=["n", "right"], how="left", maintain_order="left"
        ).select(
            "row", "chance", lacking=is_lacking.cast(pl.Float64), examples=pl.lit(1.0)
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Take the mean; null where an example has too few alternatives."""
        lacking = pl.col("lacking")
        is_defined = lacking < _LEAST
        count = lacking.ceil().cast(pl.Int64)
        examples = pl.when(count == 1).then(pl.lit("example has"))
        reason = pl.format(
            f"{{}} {{}} fewer than {self.k} alternatives",
            count,
            examples.otherwise(pl.lit("examples have")),
        )
        return sums.select(
            "group",
            value=pl.when(is_defined).then(pl.col("chance") / pl.col("examples")),
            reason=pl.when(~is_defined).then(reason),
        )


def _counts(batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
    """Return `row`, `n` (alternatives) and `right` (those of them) of every example."""
    alternatives = alternatives_of(batch)
    right = only_right(ranked(alternatives), batch, context)
    return (
        alternatives.list.len()
        .alias("n")
        .to_frame()
        .with_row_index("row")
        .join(
            right.group_by("row").agg(right=pl.len()),
            on="row",
            how="left",
            maintain_order="left",
        )
        .with_columns(pl.col("right").fill_null(0))
    )


class PassAtK(PassMetric):
    """Chance that at least one of k alternatives is right: `pass-at-k:k=10`.

    Per example 1 - C(n - c, k) / C(n, k), where n is the number of its alternatives and
    c that of the right ones among them, and then the mean. An empty list is wrong, and
    so is a missing response that counts; otherwise n must be at least k in every
    example, or the score is null with that reason. Range 0 to 1, in %, higher is
    better; Student's interval.

    Source: Chen et al., Evaluating Large Language Models Trained on Code, 2021,
    equation 1; `pass_at_k` of OpenAI's human-eval.

    Example:
        >>> import evalkit
        >>> given = {"responses": [["4", "5", "6", "4"]]}
        >>> found = evalkit.score("pass-at-k:k=2", ["4"], ["4"], fields=given)
        >>> round(found["pass-at-k:k=2"].value, 4)
        0.8333
    """

    def chance(self, n: int, right: int) -> float:
        """Return 1 - C(n - right, k) / C(n, k), rounded once."""
        draws = comb(n, self.k)
        return (draws - comb(n - right, self.k)) / draws


class PassHatK(PassMetric):
    """Chance that all of k alternatives are right: `pass-hat-k:k=4`.

    Per example C(c, k) / C(n, k), where n is the number of its alternatives and c that
    of the right ones among them, and then the mean. An empty list is wrong, and so is a
    missing response that counts; otherwise n must be at least k in every example, or
    the score is null with that reason. Range 0 to 1, in %, higher is better; Student's
    interval.

    Source: pass^k of Yao et al., tau-bench: A Benchmark for Tool-Agent-User Interaction
    in Real-World Domains, 2024.

    Example:
        >>> import evalkit
        >>> given = {"responses": [["4", "5", "6", "4"]]}
        >>> found = evalkit.score("pass-hat-k:k=2", ["4"], ["4"], fields=given)
        >>> round(found["pass-hat-k:k=2"].value, 4)
        0.1667
    """

    def chance(self, n: int, right: int) -> float:
        """Return C(right, k) / C(n, k), rounded once."""
        return comb(right, self.k) / comb(n, self.k)
