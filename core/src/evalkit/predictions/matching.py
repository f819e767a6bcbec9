"""Finds ids among other ids, a million at a time."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
        self._order = np.argsort(hashes)
        self._hashes = hashes[self._order]

    def find(self, wanted: pl.Series) -> Places:
        """Find texts.

        Args:
            wanted: The texts; null is found nowhere.

        Returns:
            The position of each among the ids, or `NOWHERE`.
        """
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
    """Give the k-th row of each example the k-th free cell of it.

    Returns:
        The cell of each row; `NOWHERE` where its example has no more.
    """
    rank = pl.int_range(pl.len()).over("example").alias("rank")
    rows = pl.DataFrame({"example": wanted}).with_columns(rank)
    cells = pl.DataFrame({"example": owners, "cell": free}).with_columns(rank)
    joined = rows.join(cells, on=["example", "rank"], how="left", maintain_order="left")
    return joined["cell"].fill_null(NOWHERE).to_numpy()
