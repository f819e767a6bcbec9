"""SEA-HELM's macro-averaged F1."""

from __future__ import annotations

import polars as pl

from evalkit_metrics_compat.seahelm_labels import SeahelmLabels, class_scores


class SeahelmMacroF1(SeahelmLabels):
    """Mean of F1 over all classes of the group, of which having no label is one.

    The classes are those with gold examples or predictions; predictions that are
    missing, or no label after normalisation (lower case, without punctuation at the
    ends), are together one class more, whose F1 is 0. So it is lower than `macro-f1`,
    in which they are misses of their gold class alone, and jumps with the first of
    them. Labels are the declared ones and not, as in SEA-HELM, those of the answers
    that were loaded; where none are declared every text is a label. Range 0 to 1, in %,
    higher is better; a multinomial interval.

    Source: `macro_f1` of `F1AccMetric`, SEA-HELM 1.2.0; scikit-learn's
    `f1_score(average="macro", zero_division=0)` with the label "null".

    Example:
        >>> import evalkit
        >>> said, right = ["a", "?", "b", "?"], ["a", "a", "b", "b"]
        >>> found = evalkit.score("seahelm-macro-f1", said, right, labels=["a", "b"])
        >>> round(found["seahelm-macro-f1"].value, 4)
        0.4444
    """

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        """Take the mean over the classes of every group."""
        classes = class_scores(sums)
        return classes.group_by("group", maintain_order=True).agg(
            value=pl.col("f1").mean()
        )
