"""Places rows in cells, one for each example and replication."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.ids import REPLICATION_KEY
from evalkit.errors import DataError
from evalkit.predictions.matching import NOWHERE, IdIndex, Places, pair

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")

_FEW_CELLS = 1 << 20
_MOST_CELLS_A_ROW = 16
"""More cells than this for each example and row are a mistake: row numbers, say."""


class Cells(NamedTuple):
    """The cells of rows."""

    replications: tuple[str, ...]
    """The replications that rows name, numbers by value before other texts; empty where
    no row names one."""
    of_rows: Places
    """The cell of each row: example by example, replication by replication; `NOWHERE`
    for a row of no example, or one too many that names no replication."""
    is_lacking: NDArray[np.bool_]
    """Which rows name no replication while others do."""

    @property
    def width(self) -> int:
        """How many cells an example has."""
        return max(len(self.replications), 1)


def place(
    examples: Places,
    replications: pl.Series | None,
    count: int,
    is_last_first: bool = False,
) -> Cells:
    """Place rows in cells.

    A row that names no replication while others do is placed in the first cell of its
    example that no other row names, where there is one.

    Args:
        examples: The example of each row, `NOWHERE` for none.
        replications: The replication that each row names, null for none; None where no
            row names any.
        count: How many examples there are.
        is_last_first: Whether the last of several rows without replication is placed
            first.
    """
    nobody = np.zeros(len(examples), dtype=bool)
    is_known = examples != NOWHERE
    named = () if replications is None else _distinct(replications, is_known)
    if not named or replications is None:
        return Cells((), examples, nobody)
    _refuse_too_many(len(named), count, len(examples))
    codes = IdIndex(pl.Series(named)).find(replications)
    cells = np.where(is_known, examples * len(named) + codes, NOWHERE)
    is_lacking = is_known & (codes == NOWHERE)
    if is_lacking.any():
        is_taken = np.zeros(count * len(named), dtype=bool)
        is_taken[cells[is_known & ~is_lacking]] = True
        free = np.flatnonzero(~is_taken)
        rows = np.flatnonzero(is_lacking)
        rows = rows[::-1] if is_last_first else rows
        cells[rows] = pair(examples[rows], free // len(named), free)
    return Cells(named, cells, is_lacking)


def _distinct(replications: pl.Series, is_known: NDArray[np.bool_]) -> tuple[str, ...]:
    found = replications.filter(is_known).drop_nulls().unique().to_list()
    return tuple(sorted(found, key=_by_value))


def _by_value(text: str) -> tuple[bool, float, str]:
    is_number = _NUMBER.fullmatch(text) is not None
    return not is_number, float(text) if is_number else 0.0, text


def _refuse_too_many(replications: int, examples: int, rows: int) -> None:
    cells = replications * examples
    if cells > max(_FEW_CELLS, _MOST_CELLS_A_ROW * (examples + rows)):
        raise DataError(
            f"the predictions name {replications} replications for {examples} "
            f"examples, but have only {rows} rows; {REPLICATION_KEY} must say in which "
            "repetition of the whole set a row was made, not number the rows"
        )
