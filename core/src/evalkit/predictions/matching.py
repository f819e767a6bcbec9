"""Finds ids among other ids, and places rows in cells."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.ids import REPLICATION_KEY
from evalkit.errors import DataError

Places = NDArray[np.int64]

NOWHERE = -1
"""The position of an id that is not there."""


class IdIndex:
    """Ids sorted by a hash, to look others up.

    Equal hashes only propose a position; the ids themselves are compared.
    """

    def __init__(self, ids: pl.Series) -> None:
        self._ids = ids.rechunk().alias("id")
        hashes = _hashes(self._ids)
        self._order = pl.Series(hashes).arg_sort().to_numpy()
        self._hashes = hashes[self._order]

    def find(self, wanted: pl.Series) -> Places:
        """Find texts."""
        positions = np.full(len(wanted), NOWHERE, dtype=np.int64)
        if not len(self._ids) or not len(wanted):
            return positions
        wanted = wanted.rechunk().alias("id")
        in_order = self._in_order(wanted)
        if in_order is not None:
            return in_order
        proposed, is_likely = self._propose(wanted)
        is_same = (self._ids.gather(proposed) == wanted).fill_null(False).to_numpy()
        is_found = is_likely & is_same
        positions[is_found] = proposed[is_found]
        doubtful = np.flatnonzero(is_likely & ~is_same)
        if len(doubtful):
            positions[doubtful] = self._join(wanted.gather(doubtful))
        return positions

    def _in_order(self, wanted: pl.Series) -> Places | None:
        """Return the positions of texts that follow each other as the ids do."""
        first = _hashes(wanted[:1])
        place = min(int(np.searchsorted(self._hashes, first)[0]), len(self._ids) - 1)
        start = int(self._order[place])
        known = self._ids.slice(start, len(wanted))
        if len(known) != len(wanted) or not (known == wanted).fill_null(False).all():
            return None
        return np.arange(start, start + len(wanted))

    def _propose(self, wanted: pl.Series) -> tuple[Places, NDArray[np.bool_]]:
        """Return for each text the first id with its hash, and whether there is one."""
        hashes = _hashes(wanted)
        order = np.argsort(hashes)
        in_order = hashes[order]
        # looking up sorted values is several times faster
        places = np.searchsorted(self._hashes, in_order)
        places = np.minimum(places, len(self._hashes) - 1)
        proposed = np.empty(len(wanted), dtype=np.int64)
        is_likely = np.empty(len(wanted), dtype=bool)
        proposed[order] = self._order[places]
        is_likely[order] = self._hashes[places] == in_order
        return proposed, is_likely

    def _join(self, wanted: pl.Series) -> Places:
        """Find texts whose hash several ids share."""
        known = self._ids.to_frame().with_row_index("position")
        joined = wanted.to_frame().join(
            known, on="id", how="left", maintain_order="left"
        )
        return joined["position"].cast(pl.Int64).fill_null(NOWHERE).to_numpy()


def _hashes(texts: pl.Series) -> NDArray[np.uint64]:
    return texts.hash().to_numpy()


def pair(wanted: Places, owners: Places, free: Places) -> Places:
    """Give the k-th row of each example the k-th free cell of it."""
    rank = pl.int_range(pl.len()).over("example").alias("rank")
    rows = pl.DataFrame({"example": wanted}).with_columns(rank)
    cells = pl.DataFrame({"example": owners, "cell": free}).with_columns(rank)
    joined = rows.join(cells, on=["example", "rank"], how="left", maintain_order="left")
    return joined["cell"].fill_null(NOWHERE).to_numpy()


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
    known: tuple[str, ...] | None = None,
) -> Cells:
    """Place rows in cells.

    A row that names no replication while others do is placed in the first cell of its
    example that no other row names, where there is one. Of a part of the rows, `known`
    are the replications that all rows name.
    """
    nobody = np.zeros(len(examples), dtype=bool)
    is_known = examples != NOWHERE
    if replications is None:
        replications = pl.Series([None], dtype=pl.String).new_from_index(0, len(nobody))
    distinct = replications.filter(is_known).drop_nulls().unique()
    named = sorted_replications(distinct) if known is None else known
    if not named:
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


def sorted_replications(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of replications, numbers by value before other texts."""
    return tuple(sorted(names, key=_by_value))


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
