"""Calls the hooks of an adapter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.base.violations import shorten
from evalkit.errors import AdapterError
from evalkit.hookspecs import AdapterAttributes
from evalkit.plugins.binding import Bound, Guard

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 1_000_000
"""How many rows adapters may make of one row, or of a block of them at once."""


def first_rows(made: Iterable[Any], room: int = MOST_ROWS) -> list[Any]:
    """Return the rows that an adapter makes.

    Args:
        made: The rows.
        room: How many there may be.

    Raises:
        AdapterError: There are more; they are not waited for.
    """
    found = list(islice(made, room + 1))
    if len(found) > room:
        raise AdapterError(f"the row becomes more than {MOST_ROWS:,} rows")
    return found


def _rows(found: Any, rule: str) -> Iterable[Any]:
    is_one = isinstance(found, str | bytes | Mapping)
    if is_one or not isinstance(found, Iterable):
        raise TypeError(f"{rule}, not {shorten(found)}")
    return found


class BoundAdapter(Bound, AdapterAttributes):
    """An adapter that is loaded."""

    @property
    def changed_parameters(self) -> Mapping[str, Any]:
        """Its `configuration`, which may be of any shape; nothing without one."""
        return {} if self.loaded_with is None else self.loaded_with

    def adapt_row(self, row: Any, number: int) -> Iterator[Any]:
        """Yield the rows that a row becomes.

        Args:
            row: A row, which is not changed.
            number: Its number.

        Raises:
            AdapterError: The adapter cannot use the row.
            PluginError: It failed.
        """
        with self._own_guard("adapt_row"):
            found = self.row_function("adapt_row")(row=row, number=number)
            yield from _rows(found, "adapt_row must return the rows, or yield them")

    def adapt_rows(self, rows: Sequence[Any], numbers: Sequence[int]) -> list[Any]:
        """Return the rows that each of several rows becomes.

        Args:
            rows: The rows.
            numbers: Their numbers.

        Raises:
            AdapterError: The adapter cannot use one of them.
            PluginError: It failed.
        """
        if not self.has("adapt_rows"):
            made: list[list[Any]] = []
            room = MOST_ROWS
            for row, number in zip(rows, numbers, strict=True):
                made.append(first_rows(self.adapt_row(row, number), room))
                room -= len(made[-1])
            return made
        with self._own_guard("adapt_rows"):
            function = self.row_function("adapt_rows")
            found = [list(each) for each in function(rows=rows, numbers=numbers)]
            if len(found) != len(rows):
                raise TypeError(
                    f"adapt_rows must return rows for each of {len(rows)} rows, "
                    f"returned {len(found)}"
                )
            return found

    def adapt_frame(
        self, frame: pl.DataFrame, numbers: pl.Series | None
    ) -> pl.DataFrame | None:
        """Return the table that a table becomes, or None to go row by row.

        Args:
            frame: The table.
            numbers: The numbers of its rows; None where nobody knows them.

        Raises:
            AdapterError: It cannot adapt this table at once.
            PluginError: It failed.
        """
        import polars as pl

        if not self.has("adapt_frame"):
            return None
        with self._own_guard("adapt_frame"):
            function = self.row_function("adapt_frame")
            found = function(frame=frame, numbers=numbers)
            if not (found is None or isinstance(found, pl.DataFrame)):
                raise TypeError(
                    f"adapt_frame must return a DataFrame or None, not {shorten(found)}"
                )
            return found

    def read_file(self, path: Path) -> pl.DataFrame | Iterator[Any] | None:
        """Return what the adapter reads of a file, or None where evalkit is to read it.

        Args:
            path: The file or folder.

        Raises:
            AdapterError: The file cannot be read.
            PluginError: It failed.
        """
        import polars as pl

        if not self.has("read_file"):
            return None
        with self._own_guard("read_file"):
            found = self.row_function("read_file")(path=path)
            if found is None or isinstance(found, pl.DataFrame):
                return found
            rows = _rows(found, "read_file must return rows, a DataFrame or None")
        return self._read_rows(iter(rows))

    def _read_rows(self, rows: Iterator[Any]) -> Iterator[Any]:
        with self._own_guard("read_file"):
            yield from rows

    def _own_guard(self, hook: str) -> Guard:
        return Guard(self.component.origin, hook, passes=(AdapterError, GeneratorExit))
