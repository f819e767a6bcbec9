"""Coefficient of determination."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_statistics.number_pairs import NumberMetric, all_equal


class R2(NumberMetric):
    """Coefficient of determination: how much of the answers' spread is predicted.

    1 - sum (prediction - answer)^2 / sum (answer - mean answer)^2. Always predicting
    the mean answer of the group is 0, and worse predictions are below 0, without a
    bound; it is no square of a correlation, which `pearson` is of predictions that may
    be off by a factor. A tag's own mean is what its examples are compared with, so that
    tags may all be lower than the whole set. Where all answers are equal, as one is, it
    is null: scikit-learn gives 1 or 0 there. An answer or prediction that is NaN or
    infinite is not scored, and the score is null where a missing prediction counts.
    Range -infinity to 1, higher is better; the delta method's interval.

    Source: Wright, Correlation and Causation, 1921; scikit-learn's `r2_score`.

    Example:
        >>> import evalkit
        >>> evalkit.score("r2", [1.0, 2.0, 4.0], [1.0, 2.0, 3.0])["r2"].value
        0.5
    """

    bounds = (None, 1.0)
    higher_is_better = True
    interval = "delta"
    merges = {"target": "moments"}
    has_possible_range = False

    def numbers(self) -> list[pl.Expr]:
        """Return the squared error, and the answer."""
        square = (pl.col("prediction") - pl.col("target")) ** 2
        return [square.alias("square"), pl.col("target")]

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Compare the squared errors with the spread of the answers."""
        undefined = all_equal("target")
        value = 1 - pl.col("square") / pl.col("target_m2")
        return sums.select(
            "group",
            value=pl.when(~undefined).then(value),
            reason=pl.when(undefined).then(pl.lit("all answers are equal")),
        )
