"""Whether no two rows have one id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from evalkit.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_SHOWN = 5


class UniqueIds:
    """Hashes of ids and where they stand, 16 bytes for each row.

    Args:
        names: The fields that make an id together.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._hashes: list[NDArray[np.uint64]] = []

    def add(self, table: pa.Table) -> None:
        """Note the ids of further rows."""
        self._hashes.append(self._hashed(table))

    def suspects(self) -> NDArray[np.uint64]:
        """Return hashes that several rows have, which may be of several ids."""
        if not self._hashes:
            return np.array([], dtype=np.uint64)
        found, counts = np.unique(np.concatenate(self._hashes), return_counts=True)
        return found[counts > 1]

    def refuse_repeated(
        self, tables: Iterable[pa.Table], where: Callable[[int], str]
    ) -> None:
        """Refuse ids that several rows have."""
        suspects = self.suspects()
        if not len(suspects):
            return
        seen: Counter[tuple[object, ...]] = Counter()
        hashes: dict[tuple[object, ...], np.uint64] = {}
        for table in tables:
            found = self._hashed(table)
            for index in np.flatnonzero(np.isin(found, suspects)):
                columns = (table.column(name) for name in self._names)
                key = tuple(column[int(index)].as_py() for column in columns)
                seen[key] += 1
                hashes[key] = found[index]
        repeated = [key for key, count in seen.items() if count > 1]
        if not repeated:
            return
        everything = np.concatenate(self._hashes)
        problems = []
        for key in repeated[:_SHOWN]:
            first, again, *_ = np.flatnonzero(everything == hashes[key])
            shown = ", ".join(map(repr, key))
            names = ", ".join(self._names)
            places = where(int(first)), where(int(again))
            problems.append(
                f"{places[1]}: {names}: {shown} was given before, at {places[0]}"
            )
        more = len(repeated) - len(problems)
        tail = f"; and {more:,} more" if more else ""
        raise SchemaError("; ".join(problems) + tail)

    def _hashed(self, table: pa.Table) -> NDArray[np.uint64]:
        columns = {name: pl.from_arrow(table.column(name)) for name in self._names}
        return pl.DataFrame(columns).hash_rows().to_numpy()
