"""Bootstrap replicates of sums: whole units (examples or clusters) are drawn again.

Units with the same statistics are interchangeable, so drawing n units with replacement
is one multinomial draw over the distinct patterns of statistics (Efron 1979; for
clusters, Davison and Hinkley 1997, section 3.8). Rows are never drawn apart from their
cluster.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.intervals import Floats

MOST_CELLS = 20_000_000
"""Units times columns beyond which a group gets no interval."""

MOST_DRAWS = 10_000_000
"""Replicates times patterns that are drawn at a time."""

_ROWS = "__rows"


def replicate_sums(
    statistics: pl.DataFrame,
    keys: Sequence[str],
    columns: Sequence[str],
    replicates: int,
    generator: np.random.Generator,
) -> pl.DataFrame | None:
    """Draw bootstrap replicates of the sums of one group.

    Args:
        statistics: `unit` (what is drawn), the keys and the number columns, of the
            examples of one group.
        keys: Names of the key columns.
        columns: Names of the number columns, all of which merge by sum.
        replicates: How many to draw.
        generator: Where the numbers come from.

    Returns:
        `replicate` (from 0), the keys and the summed columns, without cells of which
        nothing was drawn; None where the group is too large.
    """
    # a count of rows tells a cell of which nothing was drawn from one that sums to zero
    statistics = statistics.with_columns(pl.lit(1.0).alias(_ROWS))
    summed = [*columns, _ROWS]
    cells = statistics.select(keys).unique().sort(keys) if keys else pl.DataFrame()
    cell_count = max(1, cells.height)
    patterns, counts = _patterns(statistics, keys, summed, cells, cell_count)
    if patterns is None:
        return None
    sums = _draw(patterns, counts, replicates, generator)
    frame = _as_frame(sums.reshape(replicates, cell_count, -1), cells, summed)
    return frame.filter(pl.col(_ROWS) > 0).drop(_ROWS)


def _draw(
    patterns: Floats,
    counts: NDArray[np.int64],
    replicates: int,
    generator: np.random.Generator,
) -> Floats:
    units = int(counts.sum())
    sums = np.empty((replicates, patterns.shape[1]))
    step = max(1, MOST_DRAWS // len(counts))
    for start in range(0, replicates, step):
        size = min(step, replicates - start)
        draws = generator.multinomial(units, counts / units, size=size)
        sums[start : start + size] = _product(draws.astype(np.float64), patterns)
    return sums


def _product(draws: Floats, patterns: Floats) -> Floats:
    if (patterns == np.rint(patterns)).all():
        # sums of whole numbers are exact, whatever the order
        whole: Floats = draws @ patterns
        return whole
    # not by BLAS, whose order of summing depends on the number of threads
    columns = np.ascontiguousarray(patterns.T)
    product: Floats = np.einsum("ij,kj->ik", draws, columns)
    return product


def _patterns(
    statistics: pl.DataFrame,
    keys: Sequence[str],
    columns: Sequence[str],
    cells: pl.DataFrame,
    cell_count: int,
) -> tuple[Floats | None, NDArray[np.int64]]:
    """Give the distinct patterns, of shape (patterns, cells * columns), and counts."""
    if keys:
        numbered = cells.with_row_index("cell")
        statistics = statistics.join(
            numbered, on=keys, nulls_equal=True, maintain_order="left"
        )
    else:
        statistics = statistics.with_columns(cell=pl.lit(0))
    if statistics["unit"].n_unique() == statistics.height:
        distinct = (
            statistics.group_by("cell", *columns)
            .agg(pl.len().alias("__count"))
            .sort("cell", *columns)
        )
        if distinct.height * cell_count * len(columns) > MOST_CELLS:
            return None, np.empty(0, np.int64)
        patterns = _spread(
            np.arange(distinct.height), distinct, columns, distinct.height, cell_count
        )
        return patterns, distinct["__count"].to_numpy().astype(np.int64)
    # sorted, so that the rounding of a unit's sums does not depend on the order of rows
    statistics = statistics.sort("cell", *columns)
    units, membership = np.unique(statistics["unit"].to_numpy(), return_inverse=True)
    if len(units) * cell_count * len(columns) > MOST_CELLS:
        return None, np.empty(0, np.int64)
    dense = _spread(membership, statistics, columns, len(units), cell_count)
    patterns, counts = np.unique(dense, axis=0, return_counts=True)
    return patterns, counts.astype(np.int64)


def _spread(
    rows: NDArray[np.int64],
    statistics: pl.DataFrame,
    columns: Sequence[str],
    row_count: int,
    cell_count: int,
) -> Floats:
    dense = np.zeros((row_count, cell_count, len(columns)))
    cell = statistics["cell"].to_numpy()
    for number, name in enumerate(columns):
        np.add.at(dense[:, :, number], (rows, cell), statistics[name].to_numpy())
    return dense.reshape(row_count, -1)


def _as_frame(
    sums: Floats, cells: pl.DataFrame, columns: Sequence[str]
) -> pl.DataFrame:
    replicates, cell_count, _ = sums.shape
    index = np.indices((replicates, cell_count)).reshape(2, -1)
    frame = pl.DataFrame({"replicate": index[0]})
    if cells.width:
        frame = frame.hstack(cells[index[1]])
    return frame.hstack(
        [
            pl.Series(name, sums[:, :, number].ravel())
            for number, name in enumerate(columns)
        ]
    )
