"""Root mean squared error."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_statistics.number_pairs import NumberMetric


class RMSE(NumberMetric):
    """Root mean squared error: the root of the mean of (prediction - answer)^2.

    It is in the unit of the answers, and never below `mae`: few large errors count for
    more than many small ones. An answer or prediction that is NaN or infinite is not
    scored; where a missing prediction counts, the score is null, as no error is the
    worst. Range 0 to infinity, lower is better; the delta method's interval.

    Source: Hyndman and Koehler, Another Look at Measures of Forecast Accuracy, 2006;
    scikit-learn's `root_mean_squared_error`.

    Example:
        >>> import evalkit
        >>> evalkit.score("rmse", [2.0, 5.0], [1.0, 12.0])["rmse"].value
        5.0
    """

    bounds = (0.0, None)
    higher_is_better = False
    interval = "delta"

    def numbers(self) -> list[pl.Expr]:
        """Return the squared error, and 1 to count by."""
        square = (pl.col("prediction") - pl.col("target")) ** 2
        return [square.alias("square"), pl.lit(1.0).alias("examples")]

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Take the root of the mean."""
        mean = pl.col("square") / pl.col("examples")
        return sums.select("group", value=pl.when(mean >= 0).then(mean.sqrt()))
