"""Accuracy of answers to questions about images."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from evalkit import MetricContext
from evalkit_metrics_text.comparison import ComparisonMetric
from evalkit_metrics_text.vqa_normalisation import normalise_answer

AGREEING = 3
"""How many people must have given an answer for it to be right."""

TOO_FEW = "examples with 2 or 3 answers, where 1 cannot be reached"


class VqaAccuracy(ComparisonMetric[str]):
    """Mean agreement with ten people's answers, of which three make one right.

    Per example the mean over the m answers of min(1, equal ones among the others / 3),
    and then the mean: with ten answers 0, 30, 60, 90 and 100 % for 0, 1, 2, 3 and 4
    equal ones. A single answer, given as a text or a list of one, is simply compared;
    with two or three 33 and 67 % are the most, and the score is flagged with the number
    of such examples. All are normalised: lower case, number words as digits, common
    contractions with their apostrophe, without articles and most punctuation. A missing
    prediction that counts is 0. Range 0 to 1, in %, higher is better; Student's
    interval.

    Source: Antol et al., VQA: Visual Question Answering, 2015, section 3, and its
    evaluation script, which leaves texts as they are where all answers are the same;
    Dynabench's `vqa_accuracy`, where a single answer scores 0.

    Example:
        >>> import evalkit
        >>> people = ["2"] * 3 + ["two dogs"] * 7
        >>> evalkit.score("vqa-accuracy", ["Two"], [people])["vqa-accuracy"].value
        0.9
    """

    interval = "t"

    def form_of(self, text: str) -> str:
        """Return the normalised text."""
        return normalise_answer(text)

    def score_of(self, prediction: str, answers: Sequence[str]) -> float:
        """Return the mean over the answers, each left out in turn."""
        equal, count = answers.count(prediction), len(answers)
        if count == 1:
            return float(equal)
        of_equal = equal * min(AGREEING, equal - 1)
        of_others = (count - equal) * min(AGREEING, equal)
        return (of_equal + of_others) / (AGREEING * count)

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the score of every example, and whether it could not be 1."""
        rows = super().statistics(batch, context)
        if context.answer_kind != "any-of":
            return rows.with_columns(few=pl.lit(0.0))
        count = batch["target"].list.drop_nulls().list.len()
        return rows.with_columns(few=count.is_in([2, 3]).cast(pl.Float64))

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sum of the scores by the number of examples."""
        few = pl.col("few")
        flag = pl.format(f"{TOO_FEW}: {{}}", few.round().cast(pl.Int64))
        return sums.select(
            "group",
            value=pl.col("score") / pl.col("examples"),
            flag=pl.when(few > 0).then(flag),
        )
