"""Blocks of rows: what every reader of predictions gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.ids import RESPONSES_KEY
from evalkit.reading.rows import Row

Lines = NDArray[np.int64]


def no_row(index: int) -> Row:
    """Stand for the rows of a block that has none in its frame."""
    raise IndexError(index)


ROW_KEYS = {"error", RESPONSES_KEY}
"""Keys that no plan has and that only a look at the whole row can judge."""


class Block(NamedTuple):
    """Rows of a file, in columns as far as they have the expected types."""

    frame: pl.DataFrame = pl.DataFrame()
    """`id` and, where some row has it, `_replication_`, as texts; and the columns that
    were planned. Null where a row has none."""
    lines: Lines = np.empty(0, dtype=np.int64)
    """The line of each row of the frame."""
    row_at: Callable[[int], Row] = no_row
    """Gives a row of the frame as it stands in the file."""
    rows: Iterable[Row] = ()
    """The other rows: broken, or of other types than expected."""
    undeclared: Mapping[str, int] = {}
    """How many rows of the frame have a value under a key that nobody declared."""
