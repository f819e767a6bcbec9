"""HELM's distance of two whole numbers."""

from __future__ import annotations

from typing import Any

import polars as pl

from evalkit import Metric
from evalkit_metrics_compat.text_comparison import answers_of, as_text


class HelmAbsoluteValueDifference(Metric):
    """Mean distance of whole numbers, in which what is no number counts as no distance.

    Commas are taken out. Where prediction or answer is no whole number the distance is
    0, the best that there is: HELM's definition, and the reason to prefer `mae`. The
    score is flagged with how many examples these are. Of several acceptable answers
    the closest counts (HELM: the farthest, as it takes the greatest value of every
    metric). A missing prediction that counts has no worst value, so that the score is
    null then. Range 0 to infinity, lower is better; Student's t.

    Source: `absolute_value_difference` of HELM 0.5.16.

    Example:
        >>> import evalkit
        >>> name = "helm-absolute-value-difference"
        >>> found = evalkit.score(name, ["1,003", "many"], ["1000", "1000"])[name]
        >>> found.value, found.flag
        (1.5, '1 example has no whole number and counts 0; fewer than 10 examples')
    """

    unit = ""
    bounds = (0.0, None)
    higher_is_better = False
    answer_kinds = ("one", "any-of", "number")
    interval = "t"
    per_example = "distance"

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return the distance of every example, and whether there is none."""
        rows = batch.select("prediction", "target").iter_rows()
        found = [_distance(prediction, target) for prediction, target in rows]
        distances = pl.Series(found, dtype=pl.Float64)
        return pl.DataFrame(
            {
                "distance": distances.fill_null(0.0),
                "lacking": distances.is_null().cast(pl.Float64),
            }
        ).with_columns(pl.int_range(pl.len()).alias("row"), examples=pl.lit(1.0))

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Take the mean, and say how many examples have no distance."""
        lacking = pl.col("lacking")
        count = lacking.round().cast(pl.Int64)
        word = pl.when(count == 1).then(pl.lit("example has"))
        text = pl.format(
            "{} {} no whole number and {} 0",
            count,
            word.otherwise(pl.lit("examples have")),
            pl.when(count == 1).then(pl.lit("counts")).otherwise(pl.lit("count")),
        )
        return sums.select(
            "group",
            value=pl.col("distance") / pl.col("examples"),
            flag=pl.when(count > 0).then(text),
        )


def _distance(prediction: Any, target: Any) -> float | None:
    said = _whole_number(as_text(prediction))
    right = [_whole_number(answer) for answer in answers_of(target)]
    known = [number for number in right if number is not None]
    if said is None or not known:
        return None
    return min(float(abs(said - number)) for number in known)


def _whole_number(text: str) -> int | None:
    try:
        return int(text.replace(",", ""))
    except ValueError:
        return None
