"""Comparison of a prediction with its acceptable answers, which both metrics do."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from evalkit import Metric, MetricContext
from evalkit_metrics_text.tokens import Tokens, tokenize

NO_ANSWER = [""]
"""What an empty list of acceptable answers stands for."""


class ComparisonMetric(Metric):
    """Mean over examples of the best score that an acceptable answer gives.

    A missing prediction counts 0, also where the right answer is an empty one.
    """

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("one", "any-of")
    per_example = "score"
    worst_value = 0.0
    accepts_no_prediction = True

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the score of every example."""
        texts = _as_texts(batch, context)
        known: dict[str, Tokens] = {}
        scores = [
            self._best(prediction, answers, known)
            for prediction, answers in texts.iter_rows()
        ]
        return (
            pl.DataFrame({"score": pl.Series(scores, dtype=pl.Float64)})
            .with_row_index("row")
            .with_columns(examples=pl.lit(1.0))
        )

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the sum of the scores by the number of examples."""
        return sums.select("group", value=pl.col("score") / pl.col("examples"))

    def compare(self, prediction: Tokens, answer: Tokens) -> float:
        """Score a prediction against one answer.

        Args:
            prediction: Tokens of the prediction.
            answer: Tokens of the answer.

        Returns:
            0 to 1.
        """
        raise TypeError(f"{type(self).__name__} does not define compare")

    def _best(
        self,
        prediction: str | None,
        answers: Sequence[str | None],
        known: dict[str, Tokens],
    ) -> float:
        if prediction is None:
            return 0.0
        given = _tokens(prediction, known)
        return max(
            (
                self.compare(given, _tokens(answer, known))
                for answer in answers or NO_ANSWER
                if answer is not None
            ),
            default=0.0,
        )


def _tokens(text: str, known: dict[str, Tokens]) -> Tokens:
    """Normalise a text once, because answers are often repeated."""
    found = known.get(text)
    if found is None:
        found = known[text] = tokenize(text)
    return found


def _as_texts(batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
    """Return predictions as texts, and answers as lists of texts."""
    prediction, target = pl.col("prediction"), pl.col("target")
    if context.answer_kind == "any-of":
        return batch.select(prediction.cast(pl.String), target)
    types = {batch["prediction"].dtype, batch["target"].dtype}
    if len(types) > 1 and all(found.is_numeric() for found in types):
        # 1 and 1.0 are one answer
        prediction, target = prediction.cast(pl.Float64), target.cast(pl.Float64)
    return batch.select(
        prediction.cast(pl.String), pl.concat_list(target.cast(pl.String))
    )
