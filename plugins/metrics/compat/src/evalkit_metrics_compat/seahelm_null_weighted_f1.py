"""SEA-HELM's F1 that is lowered by answers without a label."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_compat.seahelm_labels import SeahelmLabels, class_scores


class SeahelmNullWeightedF1(SeahelmLabels):
    """Mean of F1 over the classes with gold examples, times the share with a label.

    Predictions that are missing, or no label after normalisation (lower case, without
    punctuation at the ends), have none. They count twice: as misses of their gold class
    and in the share, which sets this apart from `macro-f1`. Labels are the declared
    ones and not, as in SEA-HELM, those of the answers that were loaded; where none are
    declared every text is a label. Range 0 to 1, in %, higher is better; a multinomial
    interval.

    Source: `null_weighted_f1` of `F1AccMetric`, SEA-HELM 1.2.0.

    Example:
        >>> import evalkit
        >>> said, right = ["a", "?", "b", "?"], ["a", "a", "b", "b"]
        >>> name = "seahelm-null-weighted-f1"
        >>> round(evalkit.score(name, said, right, labels=["a", "b"])[name].value, 4)
        0.3333
    """

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Take the mean over the gold classes, and the share with a label."""
        classes = class_scores(sums)
        is_gold = pl.col("gold") > 0
        lacking = pl.col("predicted").filter(pl.col("label").is_null()).sum()
        share = 1 - lacking / pl.col("gold").sum()
        mean = pl.col("f1").filter(is_gold).mean()
        return classes.group_by("group", maintain_order=True).agg(value=mean * share)
