"""Pearson's correlation coefficient."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_statistics.number_pairs import PairsMetric, all_equal

_ROUNDING = 1e-12


class Pearson(PairsMetric):
    """Correlation of predictions and answers: how far they lie on a rising line.

    With p and t their distances from the means of the group: sum p t / sqrt(sum p^2 sum
    t^2). Predictions that are all twice the answer, or all off by 3, are 1. Where all
    predictions, or all answers, are equal it is 0 / 0, and null. An answer or
    prediction that is NaN or infinite is not scored, and the score is null where a
    missing prediction counts. Range -1 to 1, 0 is chance, higher is better; the delta
    method's interval on Fisher's z.

    Source: Pearson, Note on Regression and Inheritance in the Case of Two Parents,
    1895; `scipy.stats.pearsonr`.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("pearson", [1, 2, 3], [10, 30, 20])
        >>> round(found["pearson"].value, 12)
        0.5
    """

    interval = "correlation"
    merges = {"prediction": "moments", "target": "moments"}

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Divide the co-moment by the roots of both second moments."""
        no_answers, no_predictions = all_equal("target"), all_equal("prediction")
        roots = pl.col("prediction_m2").sqrt() * pl.col("target_m2").sqrt()
        value = pl.col("prediction_target_comoment") / roots
        is_rounded = (value.abs() > 1) & (value.abs() < 1 + _ROUNDING)
        reason = pl.when(no_answers).then(pl.lit("all answers are equal"))
        return sums.select(
            "group",
            value=pl.when(~(no_answers | no_predictions)).then(
                pl.when(is_rounded).then(value.sign()).otherwise(value)
            ),
            reason=reason.when(no_predictions).then(
                pl.lit("all predictions are equal")
            ),
        )
