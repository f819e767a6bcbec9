"""Counts of gold and predicted labels, and what precision, recall and F1 make of them.

All three are null here where their denominator is zero; the metrics say what that
means for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from evalkit import Metric, MetricContext, MetricError

COUNTS = ("hits", "gold_count", "predicted_count")
"""What is counted of every class."""

_MOST_EMPTY = 4
"""Classes times groups, by rows of sums, up to which each has a place of its own."""


class ConfusionMetric(Metric):
    """Something computed from the counts of every pair of gold and predicted label.

    A prediction that is missing, or of a class that is left out, is only a miss of its
    gold class. Where labels are declared, predictions that are none of them are of one
    class, `(other)`.
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
        labels = pl.col("target", "prediction")
        types = {batch["target"].dtype, batch["prediction"].dtype}
        if len(types) > 1 and all(found.is_numeric() for found in types):
            # 1 and 1.0 are one label
            labels = labels.cast(pl.Float64)
        texts = batch.select(labels.cast(pl.String))
        predicted = pl.col("prediction")
        if context.labels and batch["target"].dtype == pl.String:
            is_label = predicted.is_in(list(context.labels)) | predicted.is_null()
            other = pl.lit(context.other_label)
            predicted = pl.when(is_label).then(predicted).otherwise(other)
        return texts.select(
            gold="target", predicted=predicted, count=pl.lit(1.0)
        ).with_row_index("row")

    def class_score(self) -> pl.Expr:
        """Return the score of one class.

        Returns:
            An expression over `COUNTS`; null where it is undefined.
        """
        raise TypeError(f"{type(self).__name__} does not define class_score")


def precision() -> pl.Expr:
    """Return hits / predicted."""
    return _ratio(pl.col("hits"), pl.col("predicted_count"))


def recall() -> pl.Expr:
    """Return hits / gold."""
    return _ratio(pl.col("hits"), pl.col("gold_count"))


def f1() -> pl.Expr:
    """Return 2 hits / (gold + predicted)."""
    both = pl.col("gold_count") + pl.col("predicted_count")
    return _ratio(2 * pl.col("hits"), both)


def _ratio(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    return pl.when(below > 0).then(above / below)


def class_counts(sums: pl.DataFrame) -> pl.DataFrame:
    """Count hits, gold examples and predictions of every class seen in a group.

    Args:
        sums: `group`, `gold`, `predicted` and `count`.

    Returns:
        `group`, `label` and `COUNTS`, sorted by the first two.
    """
    if sums.is_empty() or sums["gold"].null_count():
        return _few_of_many(sums)
    labels = pl.concat([sums["gold"].unique(), sums["predicted"].unique()])
    labels = labels.unique().drop_nulls().sort()
    groups, place = _numbered(sums["group"].to_numpy())
    cells = len(groups) * len(labels)
    if cells > _MOST_EMPTY * len(sums):
        return _few_of_many(sums)
    codes = sums.select(pl.col("gold", "predicted").cast(pl.Enum(labels)).to_physical())
    count = sums["count"].cast(pl.Float64).to_numpy()
    said = codes["predicted"].is_not_null().to_numpy()
    gold = place * len(labels) + codes["gold"].to_numpy()
    predicted = place * len(labels) + codes["predicted"].fill_null(0).to_numpy()
    is_hit = said & (gold == predicted)
    counts = {
        "hits": _totals(gold[is_hit], count[is_hit], cells),
        "gold_count": _totals(gold, count, cells),
        "predicted_count": _totals(predicted[said], count[said], cells),
    }
    seen = np.zeros(cells, dtype=bool)
    seen[gold] = True
    seen[predicted[said]] = True
    [chosen] = np.nonzero(seen)
    group = pl.Series("group", groups[chosen // len(labels)], sums["group"].dtype)
    label = labels.gather(chosen % len(labels)).alias("label")
    return pl.DataFrame([group, label]).with_columns(
        pl.Series(name, numbers[chosen]) for name, numbers in counts.items()
    )


class CountArrays(NamedTuple):
    """Counts of the classes in many samples; arrays of shape (samples, classes)."""

    labels: list[str | None]
    """The classes, sorted."""
    hits: NDArray[np.float64]
    gold_count: NDArray[np.float64]
    predicted_count: NDArray[np.float64]

    def of(self, labels: Sequence[str]) -> CountArrays:
        """Return the counts of some classes, 0 where one is not seen."""
        place = {label: number for number, label in enumerate(self.labels)}
        chosen = [place.get(label, len(place)) for label in labels]
        nothing = np.zeros((len(self.hits), 1))
        arrays = (np.hstack([array, nothing])[:, chosen] for array in self[1:])
        return CountArrays(list(labels), *arrays)

    def table(self, chosen: NDArray[np.bool_]) -> pl.DataFrame:
        """Return the counts of some classes of each sample, sample after sample.

        Args:
            chosen: Which of them, of shape (samples, classes).

        Returns:
            `COUNTS`, a row for each.
        """
        columns = zip(COUNTS, self[1:], strict=True)
        return pl.DataFrame({name: array[chosen] for name, array in columns})

    def scores(self, score: pl.Expr) -> NDArray[np.float64]:
        """Return a score of every class and sample, nan where it is undefined.

        Args:
            score: An expression over `COUNTS`.
        """
        columns = zip(COUNTS, self[1:], strict=True)
        frame = pl.DataFrame({name: array.ravel() for name, array in columns})
        values = frame.select(score.cast(pl.Float64)).to_series().to_numpy()
        return values.reshape(self.hits.shape)


def count_arrays(counts: NDArray[np.float64], cells: pl.DataFrame) -> CountArrays:
    """Count hits, gold examples and predictions of every class, as `class_counts` does.

    Args:
        counts: The count of every cell, of shape (samples, cells).
        cells: `gold` and `predicted` of each cell.

    Returns:
        The counts.
    """
    labels = pl.concat([cells["gold"], cells["predicted"].drop_nulls()]).unique().sort()
    known = labels.to_list()
    by_cell = np.ascontiguousarray(counts.T)
    gold, predicted = cells["gold"].to_list(), cells["predicted"].to_list()
    pairs = zip(gold, predicted, strict=True)
    hits = [said if said == label else None for label, said in pairs]
    return CountArrays(
        known,
        _totals_of_classes(by_cell, hits, known),
        _totals_of_classes(by_cell, gold, known, with_nothing=True),
        _totals_of_classes(by_cell, predicted, known),
    )


def _totals_of_classes(
    by_cell: NDArray[np.float64],
    classes: Sequence[str | None],
    labels: Sequence[str | None],
    with_nothing: bool = False,
) -> NDArray[np.float64]:
    """Add up the counts of each class, of shape (samples, labels).

    Args:
        by_cell: The counts, of shape (cells, samples).
        classes: The class of each cell.
        labels: The classes.
        with_nothing: Whether None is a class, too.
    """
    place = {label: number for number, label in enumerate(labels)}
    totals = np.zeros((len(labels), by_cell.shape[1]))
    for cell, label in enumerate(classes):
        if label is not None or with_nothing:
            totals[place[label]] += by_cell[cell]
    return np.ascontiguousarray(totals.T)


def _totals(
    places: NDArray[np.int64], counts: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    # of nothing, numpy's sums are whole numbers
    return np.bincount(places, counts, size).astype(np.float64)


def _numbered(groups: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the groups, sorted, and the place of each row's group among them."""
    steps = np.diff(groups)
    if (steps < 0).any():
        found, place = np.unique(groups, return_inverse=True)
        return found, place.astype(np.int64)
    place = np.concatenate([[0], np.cumsum(steps > 0)]).astype(np.int64)
    return groups[np.flatnonzero(np.diff(place, prepend=-1))], place


def _few_of_many(sums: pl.DataFrame) -> pl.DataFrame:
    """Count the same where few of very many classes occur in a group."""
    count, nothing = pl.col("count"), pl.lit(0.0)
    is_hit = (pl.col("gold") == pl.col("predicted")).fill_null(False)
    gold = sums.select(
        "group",
        label="gold",
        hits=pl.when(is_hit).then(count).otherwise(nothing),
        gold_count=count,
        predicted_count=nothing,
    )
    predicted = sums.drop_nulls("predicted").select(
        "group",
        label="predicted",
        hits=nothing,
        gold_count=nothing,
        predicted_count=count,
    )
    keys = ("group", "label")
    ordered = pl.concat([gold, predicted]).sort(*keys, *COUNTS)
    starts = first_rows(ordered, keys)
    if not len(starts):
        return ordered
    # numpy adds in the order of rows, unlike groups that threads add up
    totals = np.add.reduceat(ordered.select(COUNTS).to_numpy(), starts, axis=0)
    return ordered.select(keys)[starts].with_columns(
        pl.Series(name, totals[:, place]) for place, name in enumerate(COUNTS)
    )


def first_rows(ordered: pl.DataFrame, keys: Sequence[str]) -> NDArray[np.int64]:
    """Return the place of the first row of each key in a table sorted by keys."""
    places = (
        ordered.select(pl.struct(cs.by_name(*keys)).rle_id()).to_series().to_numpy()
    )
    return np.flatnonzero(np.diff(places.astype(np.int64), prepend=-1))


def counts_of(counts: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return the counts of the same classes for every group, 0 where one is not seen.

    Args:
        counts: What `class_counts` returned.
        labels: The classes.

    Returns:
        `group`, `label` and `COUNTS`, sorted by the first two.
    """
    wanted = pl.DataFrame({"label": pl.Series(labels, dtype=pl.String)})
    cells = counts.select("group").unique().join(wanted, how="cross")
    return (
        cells.join(counts, on=["group", "label"], how="left")
        .with_columns(pl.col(COUNTS).fill_null(0.0))
        .sort("group", "label")
    )


def check_labels(
    parameter: str, given: Sequence[str], declared: Sequence[str] | None
) -> None:
    """Check that labels named by a user are the data set's, where it declares some.

    Args:
        parameter: Name of the parameter that named them.
        given: The labels.
        declared: The data set's.

    Raises:
        MetricError: One is none of them.
    """
    unknown = [label for label in given if declared and label not in declared]
    if unknown:
        raise MetricError(
            f"{parameter}: {unknown[0]!r} is none of the declared labels, which are: "
            f"{', '.join(declared or ())}"
        )
