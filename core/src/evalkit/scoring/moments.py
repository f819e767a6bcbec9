"""Means, second moments and co-moments: how sums of them change with each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from evalkit.base.terms import MergeKind
from evalkit.statistics.clusters import Floats, Integers


def pairs_of_moments(
    columns: Sequence[str], merges: Mapping[str, MergeKind]
) -> list[tuple[str, str]]:
    """Return the pairs of columns that have a co-moment.

    Args:
        columns: The number columns of statistics.
        merges: How each merges, where not by `sum`.

    Returns:
        Those that merge by moments, two by two, in alphabetical order.
    """
    moments = sorted(name for name in columns if merges.get(name) == "moments")
    return list(combinations(moments, 2))


def added_by_rows(
    values: Mapping[str, Floats],
    merges: Mapping[str, MergeKind],
    cells: pl.DataFrame,
    cell_of_row: Integers,
) -> Floats:
    """Return what each row adds to the merged columns of its cell.

    That is how these change by a row's weight: a sum by the row's number, a mean by its
    distance from it, shared by all rows, and a moment by the product of distances.

    Args:
        values: The numbers of each row, by name of the column; all merge by `sum` or
            `moments`.
        merges: How each merges, where not by `sum`.
        cells: The merged columns of each cell.
        cell_of_row: The cell of each row.

    Returns:
        An array of shape (rows, merged columns), in the order of the latter.
    """
    columns: list[Floats] = []
    distances: dict[str, Floats] = {}
    for name, own in values.items():
        if merges.get(name) != "moments":
            columns.append(own)
            continue
        mean, count = (
            cells[f"{name}_{part}"].to_numpy()[cell_of_row]
            for part in ("mean", "count")
        )
        distances[name] = own - mean
        columns += [
            np.ones(len(own)),
            distances[name] / count,
            distances[name] ** 2,
        ]
    columns += [
        distances[one] * distances[other]
        for one, other in pairs_of_moments([*values], merges)
    ]
    return np.column_stack(columns)
