"""Adapters that rename, drop and select whole fields of a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field, RootModel

from evalkit.errors import AdapterError
from evalkit_adapters_rows import AdapterSettings
from evalkit_adapters_rows.frames import table_of
from evalkit_adapters_rows.row_values import missing, object_row

if TYPE_CHECKING:
    import polars as pl


class Rename:
    """Rename fields, all at the same time.

    The configuration maps old names to new ones. Two fields may swap their names. A
    renamed field moves to the end of the row.

    Example:
        ```yaml
        - kind: Rename
          configuration: {prompt: text}
        ```
    """

    version = "1"

    class Parameters(RootModel[dict[str, str]]):
        """New names by old name."""

        model_config = ConfigDict(frozen=True, strict=True)

    def __init__(self, parameters: Parameters) -> None:
        self.names = parameters.root
        new = list(self.names.values())
        twice = [name for name in new if new.count(name) > 1]
        if twice:
            raise AdapterError(f"two fields become {twice[0]!r}", field=twice[0])

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the row with new names."""
        row = object_row(row)
        kept = {name: value for name, value in row.items() if name not in self.names}
        for old, new in self.names.items():
            if old not in row:
                raise missing(old, row)
            if new in kept:
                raise _taken(old, new)
            kept[new] = row[old]
        yield kept

    def adapt_frame(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the table with new names."""
        kept = [name for name in frame.columns if name not in self.names]
        for old, new in self.names.items():
            if old not in frame.columns:
                raise missing(old, frame.columns)
            if new in kept:
                raise _taken(old, new)
        renamed = [frame[old].alias(new) for old, new in self.names.items()]
        return table_of([*(frame[name] for name in kept), *renamed])


class NumberRows:
    """Give each row its number, as a field at its end.

    Rows of a file are counted from the first on, those that cannot be read among them,
    blank lines and a header not. Rows that one row became have its number.

    Example:
        ```yaml
        - kind: NumberRows
          configuration: {field: id}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """The new field."""

        field: str = Field(description="Name of the new field")
        first: int = Field(default=1, description="Number of the first row")

    def __init__(self, parameters: Parameters) -> None:
        self.field = parameters.field
        self.shift = parameters.first - 1

    def adapt_row(self, row: Any, number: int) -> Iterator[dict[str, Any]]:
        """Yield the row with its number."""
        row = object_row(row)
        if self.field in row:
            raise self._twice()
        yield {**row, self.field: number + self.shift}

    def adapt_frame(
        self, frame: pl.DataFrame, numbers: pl.Series | None
    ) -> pl.DataFrame | None:
        """Return the table with the numbers of its rows, where they are known."""
        if self.field in frame.columns:
            raise self._twice()
        if numbers is None:
            return None
        return frame.with_columns((numbers + self.shift).alias(self.field))

    def _twice(self) -> AdapterError:
        return AdapterError(
            f"the row has a field {self.field!r} already; drop or rename that one, or "
            "give the number another name",
            field=self.field,
        )


def _taken(old: str, new: str) -> AdapterError:
    return AdapterError(
        f"{old!r} cannot become {new!r}, as the row has such a field; drop or rename "
        "that one too",
        field=new,
    )


class Drop:
    """Drop fields; a row need not have them.

    Example:
        ```yaml
        - kind: Drop
          configuration: {fields: [ranks]}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """What to drop."""

        fields: list[str] = Field(description="Names of fields")

    def __init__(self, parameters: Parameters) -> None:
        self.names = set(parameters.fields)

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the row without the fields."""
        items = object_row(row).items()
        yield {name: value for name, value in items if name not in self.names}

    def adapt_frame(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        """Return the table without the columns."""
        kept = [frame[name] for name in frame.columns if name not in self.names]
        return table_of(kept) if kept else None


class Select:
    """Keep these fields only, in this order; a row must have them all.

    Example:
        ```yaml
        - kind: Select
          configuration: {fields: [text, label]}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """What to keep."""

        fields: list[str] = Field(description="Names of fields")

    def __init__(self, parameters: Parameters) -> None:
        self.names = list(dict.fromkeys(parameters.fields))

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the row with the fields only."""
        row = object_row(row)
        for name in self.names:
            if name not in row:
                raise missing(name, row)
        yield {name: row[name] for name in self.names}

    def adapt_frame(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        """Return the table with the columns only."""
        for name in self.names:
            if name not in frame.columns:
                raise missing(name, frame.columns)
        kept = [frame[name] for name in self.names]
        return table_of(kept) if kept else None
