"""Rows of a file that go through a pipeline, each with its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from evalkit import Violation
from evalkit.catalog import Row
from evalkit.errors import AdapterError
from evalkit.reading.rows import object_row

BLOCK_ROWS = 1_000
"""How many rows are adapted at once."""


class Adapters(Protocol):
    """Adapters, one after another."""

    @property
    def renamed(self) -> Mapping[str, set[str]]:
        """Which fields columns become, as far as that is known."""

    def outcomes(
        self, rows: Sequence[Any], numbers: Sequence[int]
    ) -> Iterable[list[Any] | AdapterError]:
        """Adapt several rows, each of which may fail."""

    def adapt_frame(
        self, frame: pl.DataFrame, numbers: pl.Series | None = None
    ) -> pl.DataFrame | None:
        """Adapt a table at once, where every adapter can."""

    def read_file(self, path: Path) -> pl.DataFrame | Iterator[Row] | None:
        """Read a file by the first adapter, where that reads files of this kind."""


def adapted_rows(
    rows: Iterable[Row], pipeline: Adapters, first: int = 1
) -> Iterator[Row]:
    """Adapt rows that were read."""
    waiting = iter(rows)
    while block := list(islice(waiting, BLOCK_ROWS)):
        sound = [dict(row.values) for row in block if row.values is not None]
        numbered = enumerate(block, start=first)
        numbers = [number for number, row in numbered if row.values is not None]
        outcomes = iter(pipeline.outcomes(sound, numbers))
        first += len(block)
        for row in block:
            found = None if row.values is None else next(outcomes)
            if found is None:
                yield row
            elif isinstance(found, AdapterError):
                yield _refused(row, found)
            else:
                yield from (object_row(row.line, values) for values in found)


def _refused(row: Row, error: AdapterError) -> Row:
    place = f"stage {error.stage} ({error.kind})"
    rule = f"the adapters must accept it; {place}: {error.problem}"
    values = row.values or {}
    found = values.get(error.field, values) if error.field else values
    return Row(row.line, None, Violation(error.field or "(row)", rule, found))
