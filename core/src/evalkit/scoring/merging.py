"""Merges sums that were already merged, such as those of runs over disjoint examples.

`evalkit.scoring.calls.merge_by_group` turns the statistics of examples into sums; here
sums of several parts become those of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from evalkit.base.columns import all_named, named
from evalkit.errors import MetricError
from evalkit.plugins.bound import BoundMetric

MOMENT_SUFFIXES = ("count", "mean", "m2")
"""What follows `<name>_` in the three columns of a statistic that merges by moments."""


def merge_sums(
    metric: BoundMetric, parts: Sequence[pl.DataFrame], keys: Sequence[str]
) -> pl.DataFrame:
    """Merge the sums of parts that share no example into those of the whole.

    Sums, least and greatest values and moments do not depend on the order of the
    parts, to the last bit. Lists of values are joined in the order of the parts, those
    of all columns alike.

    Moments merge by the formula of Chan, Golub and LeVeque (Algorithms for computing
    the sample variance, The American Statistician 37(3), 1983, pages 242-247), written
    for any number of parts at once:
    `m2 = sum_p (m2_p + count_p * (mean_p - mean)^2)`.

    Args:
        metric: The metric, which declares how each column merges.
        parts: The sums of each part, as `merge_by_group` gives them: the keys and the
            merged columns. A part may have no rows.
        keys: Names of the columns that name a cell: `group` and the metric's keys. A
            null is a value like any other in them.

    Returns:
        The same columns, one row a cell, sorted by the keys.

    Raises:
        MetricError: There is no part, or one has other columns.
    """
    given = [part for part in parts if part.width]
    if not given:
        raise MetricError(
            f"{metric.component.origin}: there are no statistics to merge"
        )
    columns = given[0].columns
    for part in given:
        if set(part.columns) != set(columns):
            strange = sorted({*part.columns} ^ {*columns})
            raise MetricError(
                f"{metric.component.origin}: the statistics to merge differ in their "
                f"columns: not all have {', '.join(strange)}; were they made by the "
                "same version of the metric?"
            )
    # an empty part may have columns without a type of their own
    stacked = pl.concat(
        [part.select(all_named(columns)) for part in given], how="vertical_relaxed"
    )
    values = [name for name in columns if name not in keys]
    return (
        stacked.lazy()
        .group_by(all_named(keys), maintain_order=True)
        .agg(_merge_expressions(metric, values))
        .select(all_named(columns))
        .sort(all_named(keys))
        .collect(engine="in-memory")
    )


def _merge_expressions(metric: BoundMetric, columns: Iterable[str]) -> list[pl.Expr]:
    merges = metric.merges
    moments = {
        f"{name}_{suffix}": (name, suffix)
        for name, merge in merges.items()
        if merge == "moments"
        for suffix in MOMENT_SUFFIXES
    }
    expressions = []
    for column in columns:
        if column in moments:
            expressions.append(_moment(*moments[column]).alias(column))
        else:
            expressions.append(_merge(column, merges.get(column, "sum")))
    return expressions


def _merge(column: str, merge: str) -> pl.Expr:
    values = named(column)
    if merge == "sum":
        return _sum(values).alias(column)
    if merge == "values":
        # without those of a part that has none, which would become a null
        return values.filter(values.list.len() > 0).explode().alias(column)
    merged: pl.Expr = getattr(values, merge)()
    return merged


def _moment(name: str, suffix: str) -> pl.Expr:
    given = named(f"{name}_count") > 0
    count, mean, m2 = (
        named(f"{name}_{part}").filter(given) for part in MOMENT_SUFFIXES
    )
    total = _sum(count)
    if suffix == "count":
        return total
    # from a value among the means, so that a great offset costs no precision
    origin = mean.min()
    whole = origin + _sum(count * (mean - origin)) / total
    if suffix == "mean":
        return pl.when(total > 0).then(whole)
    return _sum(m2 + count * (mean - whole) ** 2)


def _sum(values: pl.Expr) -> pl.Expr:
    """Add values, sorted and as one list, so that neither order nor threads matter."""
    return values.sort().implode().list.sum()
