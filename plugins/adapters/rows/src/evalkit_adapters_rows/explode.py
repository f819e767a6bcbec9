"""The adapter that makes a row of each element of a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from evalkit.catalog import is_reserved
from evalkit.errors import AdapterError
from evalkit_adapters_rows import AdapterSettings
from evalkit_adapters_rows.frames import select_many, table_of, unnamed
from evalkit_adapters_rows.paths import Path, PathError, read_path
from evalkit_adapters_rows.row_values import collection, object_row

if TYPE_CHECKING:
    import polars as pl


_MOST_CELLS = 2**28
"""How large a table may become at once: more goes row by row."""


class ExplodeCollections:
    """Make a row of each element of a list, or of several lists of one length.

    The other fields are repeated. An index is a new field: the position of the element
    in its list, or what a path selects of the row, one value for each element. Fields
    come in this order: others, lists, indexes.

    Example:
        ```yaml
        - kind: ExplodeCollections
          configuration: {collections: [text], index: {_response_index_: null}}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """Which lists, and how their elements are numbered."""

        collections: list[str] = Field(min_length=1, description="Fields with lists")
        index: dict[str, str | None] = Field(
            default={}, description="null for positions, or a path, by new field"
        )
        onEmpty: Literal["error", "drop", "null"] = Field(  # noqa: N815 - as in Dyff
            default="error",
            description="What becomes of a row whose list is empty: an error, no row, "
            "or one row with null",
        )

    def __init__(self, parameters: Parameters) -> None:
        self.names = list(dict.fromkeys(parameters.collections))
        self.on_empty = parameters.onEmpty
        self.index: dict[str, Path | None] = {}
        for name, text in parameters.index.items():
            if name in self.names:
                raise AdapterError(
                    f"the index {name!r} is called like a list that is exploded",
                    field=name,
                )
            self.index[name] = None if text is None else _path(text, name)

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield a row of each element."""
        row = object_row(row)
        columns = {name: collection(row, name) for name in self.names}
        length = self._length({name: len(found) for name, found in columns.items()})
        if length == 0:
            columns = {name: [None] for name in self.names}
        rest = {name: value for name, value in row.items() if name not in columns}
        for name, path in self.index.items():
            _check_free(name, rest)
            if length == 0:
                columns[name] = [None]
            elif path is None:
                columns[name] = list(range(length))
            else:
                columns[name] = _as_many(name, _matches(path, row), length)
        if length or self.on_empty == "null":
            for values in zip(*columns.values(), strict=True):
                yield rest | dict(zip(columns, values, strict=True))

    def _length(self, lengths: dict[str, int]) -> int:
        if len({*lengths.values()}) > 1:
            told = ", ".join(f"{name!r} {count}" for name, count in lengths.items())
            raise AdapterError(
                f"the lists must have one length; they have: {told}",
                field=self.names[0],
            )
        length = next(iter(lengths.values()))
        if length == 0 and self.on_empty == "error":
            raise AdapterError(
                f"the list {self.names[0]!r} is empty, so the row would vanish; set "
                "onEmpty to 'drop' or 'null'",
                field=self.names[0],
            )
        return length

    def adapt_frame(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        """Return the table with a row of each element, or None to go row by row."""
        import polars as pl
        from polars.selectors import by_name

        if not all(_is_plain_list(frame, name) for name in self.names):
            return None
        lengths = [unnamed(frame[name]).list.len() for name in self.names]
        if any(not (each == lengths[0]).all() for each in lengths[1:]):
            return None
        rest = [name for name in frame.columns if name not in self.names]
        if not (lengths[0] > 0).all() or any(name in rest for name in self.index):
            return None
        if _is_huge(lengths[0], [frame[name] for name in rest]):
            return None
        indexes = []
        for name, path in self.index.items():
            found = (
                pl.int_ranges(0, lengths[0].cast(pl.Int64), eager=True)
                if path is None
                else select_many(frame.to_struct(), path.steps)
            )
            if found is None or not (unnamed(found).list.len() == lengths[0]).all():
                return None
            indexes.append(found.alias(name))
        # by name, as polars takes a column "*" for a pattern
        kept = [frame[name] for name in (*rest, *self.names)]
        wide = table_of([*kept, *indexes])
        return wide.explode(by_name(*self.names, *self.index))


def _is_huge(lengths: pl.Series, repeated: Sequence[pl.Series]) -> bool:
    """Tell whether the table would be: lists of other columns are copied, too."""
    import polars as pl

    cells = pl.repeat(1.0 + len(repeated), len(lengths), eager=True)
    for column in map(unnamed, repeated):
        if isinstance(column.dtype, pl.List):
            cells += column.list.len().fill_null(0)
        elif column.dtype == pl.String:
            cells += column.str.len_bytes().fill_null(0) / 8
    return bool((cells * lengths).sum() > _MOST_CELLS)


def _path(text: str, name: str) -> Path:
    try:
        return read_path(text)
    except PathError as error:
        raise AdapterError(f"the index {name!r}: {error}", field=name) from error


def _is_plain_list(frame: pl.DataFrame, name: str) -> bool:
    import polars as pl

    if name not in frame.columns:
        return False
    return isinstance(frame[name].dtype, pl.List) and not frame[name].null_count()


def _matches(path: Path, row: dict[str, Any]) -> list[Any]:
    try:
        return path.matches(row)
    except PathError as error:
        raise AdapterError(str(error)) from error


def _check_free(name: str, rest: dict[str, Any]) -> None:
    if name in rest and is_reserved(name):
        raise AdapterError(f"the index would overwrite the field {name!r}", field=name)


def _as_many(name: str, found: Sequence[Any], length: int) -> list[Any]:
    if len(found) != length:
        raise AdapterError(
            f"the index {name!r} selects {len(found)} values for {length} elements",
            field=name,
        )
    return list(found)
