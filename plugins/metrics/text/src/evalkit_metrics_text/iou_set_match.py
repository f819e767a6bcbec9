"""Overlap of two sets."""

from __future__ import annotations

import re
from typing import Literal

import polars as pl

from evalkit import MetricContext, Parameters
from evalkit_metrics_text.comparison import ComparisonMetric

Items = frozenset[str]

_FULL_STOP = re.compile(r"\.(?!\d)")
_SEPARATORS = {"and": " and ", "comma": ",", "semicolon": ";"}


class SetParameters(Parameters):
    """How a text lists the items of a set."""

    separator: Literal["and", "comma", "semicolon"] = "and"
    """What stands between two items of a text: the word and, `,` or `;`."""


class IouSetMatch(ComparisonMetric[Items]):
    """Mean intersection over union of the sets that prediction and answer name.

    Per example shared items / items of either set, and then the mean. Where answers are
    lists (of the kind `all-of`), so are predictions, and their items are compared
    exactly. A text names a set in its first line, after the last ` is ` in it if there
    is one, without full stops: `The colour is red and blue.` Items stand between the
    word and (`separator=comma` and `separator=semicolon` take `,` and `;`), without
    blanks at their ends; `nothing` and an empty text are the empty set. Of several
    acceptable answers the best counts. Two empty sets score 1; a missing prediction
    that counts is 0. Range 0 to 1, in %, higher is better; Student's interval.

    Source: Jaccard, The Distribution of the Flora in the Alpine Zone, 1912; HELM's
    `iou_set_match` (Liang et al., 2022), where a blank at the end of an item makes it
    another one.

    Example:
        >>> import evalkit
        >>> found = evalkit.score("iou-set-match", ["red and blue"], ["blue and green"])
        >>> found["iou-set-match"].value
        0.3333333333333333
    """

    Parameters = SetParameters
    interval = "t"
    answer_kinds = ("one", "any-of", "all-of")

    def __init__(self, parameters: SetParameters | None = None) -> None:
        super().__init__(parameters)
        self._separator = _SEPARATORS[(parameters or SetParameters()).separator]

    def form_of(self, text: str) -> Items:
        """Return the set that a text names."""
        line = next(iter(text.strip().splitlines()), "")
        _, _, listed = f" {_FULL_STOP.sub('', line)} ".rpartition(" is ")
        items = frozenset(item.strip() for item in listed.split(self._separator))
        return frozenset(item for item in items if item.lower() not in ("", "nothing"))

    def compare(self, prediction: Items, answer: Items) -> float:
        """Return the share of all items that both sets have; 1 for two empty ones."""
        union = prediction | answer
        return len(prediction & answer) / len(union) if union else 1.0

    def statistics(self, batch: pl.DataFrame, context: MetricContext) -> pl.DataFrame:
        """Return the score of every example."""
        if context.answer_kind != "all-of":
            return super().statistics(batch, context)
        # where no example has a prediction, they have no type of their own
        prediction = pl.col("prediction").cast(batch["target"].dtype)
        target = pl.col("target")
        shared = prediction.list.set_intersection(target).list.len()
        union = prediction.list.set_union(target).list.len()
        score = pl.when(union > 0).then(shared / union).otherwise(1.0)
        is_given = prediction.is_not_null()
        return batch.select(
            score=pl.when(is_given).then(score).otherwise(0.0).fill_null(0.0),
            examples=pl.lit(1.0),
        ).with_row_index("row")
