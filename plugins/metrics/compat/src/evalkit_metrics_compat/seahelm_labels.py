"""Scores of labels as SEA-HELM makes them, in which what is no label is null."""

from __future__ import annotations

import string
from collections.abc import Sequence

import polars as pl

from evalkit import Metric, MetricContext

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_OUTER = f"{string.punctuation} \n"


def label_of(text: str) -> str:
    """Return a text in lower case, without punctuation and blanks at its ends.

    Only ASCII punctuation, blanks and line ends are taken away; blanks within are one.

    Args:
        text: What a model says where a label is asked for.
    """
    return " ".join(text.lower().strip(_OUTER).split())


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without any ASCII punctuation.

    Args:
        text: What a model says where a free answer is asked for.
    """
    return tuple(text.lower().translate(_PUNCTUATION).split())


class SeahelmLabels(Metric):
    """A score of the counts of gold labels and of the labels that predictions name.

    A prediction names the declared label that it is, or else the one that is the same
    after `label_of`, where that is one; otherwise it names none. Without declared
    labels what `label_of` makes of a text is a label.
    """

    unit = "%"
    bounds = (0.0, 1.0)
    higher_is_better = True
    scale = 100.0
    answer_kinds = ("one",)
    interval = "multinomial"
    keys = ("gold", "predicted")
    accepts_no_prediction = True

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return one count for every example, in the cell of its two labels."""
        texts = batch.select(pl.col("target", "prediction").cast(pl.String))
        distinct = pl.concat([texts["target"], texts["prediction"]]).unique()
        known = {text: _named(text, context.labels) for text in distinct.drop_nulls()}
        names = {"gold": "target", "predicted": "prediction"}
        columns = {
            name: [None if text is None else known[text] for text in texts[column]]
            for name, column in names.items()
        }
        return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String)).select(
            pl.int_range(pl.len()).alias("row"), pl.all(), count=pl.lit(1.0)
        )


def _named(text: str, labels: Sequence[str] | None) -> str | None:
    """Return the label that a text names."""
    if labels is None:
        return label_of(text)
    if text in labels:
        return text
    form = label_of(text)
    alike = [label for label in labels if label_of(label) == form]
    return alike[0] if len(alike) == 1 else None


def class_scores(sums: pl.DataFrame) -> pl.DataFrame:
    """Return F1 of every class of every group.

    Args:
        sums: `group`, `gold`, `predicted` and `count`.

    Returns:
        `group`, `label` (null for predictions that name none), `gold` and `predicted`
        (how many) and `f1`, sorted by the first two.
    """
    count, nothing = pl.col("count"), pl.lit(0.0)
    is_hit = (pl.col("gold") == pl.col("predicted")).fill_null(False)
    gold = sums.select(
        "group",
        label="gold",
        hits=pl.when(is_hit).then(count).otherwise(nothing),
        gold=count,
        predicted=nothing,
    )
    said = sums.select(
        "group", label="predicted", hits=nothing, gold=nothing, predicted=count
    )
    # sorted, so that rounding does not depend on the order of rows
    cells = pl.concat([gold, said]).sort("group", "label", "hits", "gold", "predicted")
    counted = cells.group_by("group", "label", maintain_order=True).agg(
        pl.col("hits", "gold", "predicted").sum()
    )
    both = pl.col("gold") + pl.col("predicted")
    f1 = pl.when(both > 0).then(2 * pl.col("hits") / both).otherwise(0.0)
    return counted.filter(both > 0).with_columns(f1=f1)


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
