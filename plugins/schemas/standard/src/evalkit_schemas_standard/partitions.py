"""Rows that are kept apart by the values of some of their fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import polars as pl

from evalkit.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


_NULL = "__HIVE_DEFAULT_PARTITION__"
_MOST = 10_000
_LONGEST_NAME = 255

Key = tuple[Any, ...]
"""The values of the fields, in their order."""


def check_partition_fields(schema: pa.Schema, names: Sequence[str]) -> None:
    """Refuse fields that rows cannot be kept apart by."""
    import pyarrow as pa

    for name in names:
        if name not in schema.names or names.count(name) > 1:
            what = "twice" if name in schema.names else "but the schema has none"
            raise SchemaError(f"the field {name!r} is to partition by, {what}")
        kind = schema.field(name).type
        if not (
            pa.types.is_string(kind)
            or pa.types.is_integer(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_date(kind)
        ):
            raise SchemaError(
                f"{name}: rows are partitioned by texts, integers, booleans or dates, "
                f"not by {kind}"
            )
    if names and len(names) == len(schema.names):
        raise SchemaError("no field is left beside those that rows are partitioned by")


def folder_of(names: Sequence[str], key: Key) -> str:
    """Return the folder of a partition, as `lang=en/year=2024`, as Hive names it."""
    parts = []
    for name, value in zip(names, key, strict=True):
        text = _NULL if value is None else str(as_json(value))
        part = f"{quote(name, safe='')}={quote(text, safe=' ')}"
        if text == _NULL and value is not None:
            raise SchemaError(f"{name}: the text {_NULL} stands for null in partitions")
        if len(part) > _LONGEST_NAME:
            raise SchemaError(f"{name}: is too long to partition by: {text[:60]!r}…")
        parts.append(part)
    return "/".join(parts)


def as_json(value: Any) -> str | int | bool | None:
    """Return the value of a partition as the manifest has it."""
    if isinstance(value, date):
        return value.isoformat()
    found: str | int | bool | None = value
    return found


class Partitions:
    """Rows that are written to one file, from which each partition is read apart.

    So memory is bounded, however many partitions there are.

    Args:
        path: A file for the rows.
        schema: Their schema.
        names: The fields that they are kept apart by.
    """

    def __init__(self, path: Path, schema: pa.Schema, names: Sequence[str]) -> None:
        import pyarrow as pa

        self._names = names
        self._path = path
        rest = [field for field in schema if field.name not in names]
        self.schema = pa.schema(rest, schema.metadata)
        """The fields that are left for the files."""
        self._places: dict[Key, list[int]] = {}
        self._written = 0
        self._writer = pa.ipc.new_file(str(path), self.schema)

    def add(self, table: pa.Table) -> None:
        """Add rows."""
        keys = zip(
            *(table.column(name).to_pylist() for name in self._names), strict=True
        )
        indices: dict[Key, list[int]] = {}
        for index, key in enumerate(keys):
            indices.setdefault(key, []).append(index)
        rest = table.select(self.schema.names)
        for key, chosen in indices.items():
            for batch in rest.take(chosen).combine_chunks().to_batches():
                self._writer.write_batch(batch)
                self._places.setdefault(key, []).append(self._written)
                self._written += 1
        if len(self._places) > _MOST:
            raise SchemaError(
                f"{', '.join(self._names)}: more than {_MOST:,} partitions; partition "
                "by a field with fewer values"
            )

    def tables(self) -> Iterator[tuple[Key, Iterator[pa.Table]]]:
        """Yield the rows of each partition, in the order of their first rows."""
        import pyarrow as pa

        self._writer.close()
        with pa.OSFile(str(self._path)) as stream:
            reader = pa.ipc.open_file(stream)
            for key, places in self._places.items():
                batches = map(reader.get_batch, places)
                yield key, (pa.Table.from_batches([batch]) for batch in batches)

    def close(self) -> None:
        """Close and remove the file."""
        self._writer.close()
        self._path.unlink(missing_ok=True)


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
