"""The rows of a split as they were loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.plugins.bound import BoundDataset
from evalkit.reading.file_parts import first_number
from evalkit.reading.json_lines import read_json_rows
from evalkit.reading.sharded import place_in

Rows = list[Mapping[str, Any]]


class ExampleRows(NamedTuple):
    """The rows of a split as they were loaded."""

    frame: pl.DataFrame
    """One column for each key; once ids are checked, with `uid` as text."""
    rows: Rows | None = None
    """The rows as dicts, where they came so."""
    path: Path | None = None
    """The file that they were read from, where they came from one."""
    lines: Sequence[int] | NDArray[np.int64] | None = None
    """The line of each row in that file."""
    nested: Mapping[str, Sequence[Any]] = {}
    """Values of those columns of the frame that hold other values as JSON text."""
    names: tuple[str, ...] = ()
    """All columns of the file, also those that the frame does not have."""
    passes: pl.Series | None = None
    """Which rows keep the rules of the columns that were dropped; None for all."""
    hashes: Future[tuple[Mapping[str, str], ...]] | None = None
    """Name and SHA-256 of each file, which are computed meanwhile."""
    identifying: frozenset[str] | None = None
    """The columns that are there whatever is asked for; None where all are."""
    limit: int | None = None
    """How many examples the data set was asked for; None for all."""
    attached: Mapping[str, pl.Series] = {}
    """Absolute paths of the files that columns name, by column."""
    attached_sha256: str | None = None
    """SHA-256 of names and contents of these files; None where there are none."""
    given: pl.DataFrame | None = None
    """The frame as it was before its rows were checked, by which data is identified."""
    validated: Mapping[int, Mapping[str, Any]] = {}
    """Rows that pydantic was asked about, with the values that it returned, where they
    are not in `rows`."""
    defaults: Mapping[str, Any] = {}
    """What fields of `Input` are in a row that lacks them, and was not asked about."""
    needs_answer: bool = False
    """Whether the rows must hold answers."""

    @property
    def columns(self) -> list[str]:
        """The names of all columns of the data, also of those that were dropped."""
        given = self.frame if self.given is None else self.given
        return list(dict.fromkeys((*self.names, *given.columns)))

    @property
    def dropped(self) -> set[str]:
        """The names of the columns that were checked and dropped."""
        return {*self.names} - {*self.frame.columns}

    def where(self, position: int) -> str:
        """Say which row is meant: its line in a file or shard, or its number."""
        if self.lines is not None:
            return place_in(self.path, int(self.lines[position]), "line")
        number = position + first_number(self.path)
        return place_in(self.path, number, "example", self.frame.height)

    def problem(self, position: int, field: str, rule: str) -> str:
        """Say what is wrong with a field of the row at a position."""
        uid = self.frame["uid"][position]
        return f"{self.where(position)} (uid {uid!r}): {field}: {rule}"

    def source(self, dataset: BoundDataset) -> str:
        """Say where the rows come from: data set, distribution, version and file."""
        origin = dataset.component.origin
        return f"{origin}: {self.path}" if self.path else origin

    def as_they_came(self) -> Iterator[Mapping[str, Any]]:
        """Return the rows as dicts, without keys that a row of a JSON file lacks."""
        if self.rows is not None:
            yield from self.rows
        elif self.path is not None and self.lines is not None:
            yield from (row.values or {} for row in read_json_rows(self.path))
        else:
            yield from self.frame.iter_rows(named=True)

    def named(self) -> Iterator[Mapping[str, Any]]:
        """Return the rows as dicts, with `uid` as text and the values of `Input`."""
        came = self.checked(self.as_they_came())
        for uid, row in zip(self.frame["uid"], came, strict=True):
            yield {**self.defaults, **row, "uid": uid}

    def checked(self, rows: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
        """Return rows with the values that pydantic returned for them."""
        if not self.validated:
            return rows
        found = self.validated
        return (found.get(position, row) for position, row in enumerate(rows))
