"""The adapters of lists: a row of each element, numbers, and parts of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from evalkit.catalog import is_reserved
from evalkit.errors import AdapterError
from evalkit.scoring import RESPONSES_KEY
from evalkit_adapters_rows import AdapterSettings
from evalkit_adapters_rows.paths import Path, PathError, read_path
from evalkit_adapters_rows.row_values import collection, object_row

_INDEX = "_response_index_"


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
        length = _common_length(columns)
        if length == 0 and self.on_empty == "error":
            raise AdapterError(
                f"the list {self.names[0]!r} is empty, so the row would vanish; set "
                "onEmpty to 'drop' or 'null'",
                field=self.names[0],
            )
        if length == 0:
            columns = {name: [None] for name in self.names}
        rest = {name: value for name, value in row.items() if name not in columns}
        for name, path in self.index.items():
            _check_free(name, rest)
            columns[name] = _numbers(name, path, row, length) if length else [None]
        if length or self.on_empty == "null":
            for values in zip(*columns.values(), strict=True):
                yield rest | dict(zip(columns, values, strict=True))


class EmbedIndex:
    """Number the elements of a list, or of several lists of one length.

    The elements are objects, which get the indexes as fields. An index is the position
    of the element, or what a path selects of the row, one value for each element.

    Example:
        ```yaml
        - kind: EmbedIndex
          configuration: {collections: [choices], index: {rank: "$.ranks[*]"}}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """Which lists, and how their elements are numbered."""

        collections: list[str] = Field(min_length=1, description="Fields with lists")
        index: dict[str, str | None] = Field(
            description="null for positions, or a path, by new field"
        )

    def __init__(self, parameters: Parameters) -> None:
        self.names = list(dict.fromkeys(parameters.collections))
        self.index = {
            name: None if text is None else _path(text, name)
            for name, text in parameters.index.items()
        }

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the row with numbered elements."""
        row = object_row(row)
        columns = {name: collection(row, name) for name in self.names}
        length = _common_length(columns)
        numbers = {
            name: _numbers(name, path, row, length) for name, path in self.index.items()
        }
        made = {
            name: [
                {**object_row(each), **{key: numbers[key][place] for key in numbers}}
                for place, each in enumerate(elements)
            ]
            for name, elements in columns.items()
        }
        yield {name: made.get(name, value) for name, value in row.items()}


class GatherResponses:
    """Make one answer of the responses that are parts of it, such as spans.

    These share a `_response_index_` with the first one, which ranks best; the others
    are left out. A row without responses has an empty list: there are no spans.

    Example:
        ```yaml
        - kind: GatherResponses
          configuration: {field: spans}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """Where the parts go."""

        field: str = Field(default="spans", description="Field with the list of parts")

    def __init__(self, parameters: Parameters) -> None:
        self.field = parameters.field

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the row with the parts of its best answer in place of its responses."""
        row = object_row(row)
        first, parts = None, []
        for place, part in enumerate(collection(row, RESPONSES_KEY)):
            if not isinstance(part, dict) or not isinstance(part.get(_INDEX), int):
                problem = f"response {place + 1} must be an object with {_INDEX!r}"
                raise AdapterError(problem, field=RESPONSES_KEY)
            first = part[_INDEX] if first is None else first
            if part[_INDEX] == first:
                parts.append({k: v for k, v in part.items() if k != _INDEX})
        rest = {key: value for key, value in row.items() if key != RESPONSES_KEY}
        yield {**rest, self.field: parts}


def _common_length(columns: Mapping[str, Sequence[Any]]) -> int:
    lengths = {name: len(found) for name, found in columns.items()}
    if len({*lengths.values()}) > 1:
        told = ", ".join(f"{name!r} {count}" for name, count in lengths.items())
        raise AdapterError(
            f"the lists must have one length; they have: {told}",
            field=next(iter(lengths)),
        )
    return next(iter(lengths.values()))


def _path(text: str, name: str) -> Path:
    try:
        return read_path(text)
    except PathError as error:
        raise AdapterError(f"the index {name!r}: {error}", field=name) from error


def _check_free(name: str, rest: dict[str, Any]) -> None:
    if name in rest and is_reserved(name):
        raise AdapterError(f"the index would overwrite the field {name!r}", field=name)


def _numbers(name: str, path: Path | None, row: Any, length: int) -> list[Any]:
    if path is None:
        return list(range(length))
    try:
        found = path.matches(row)
    except PathError as error:
        raise AdapterError(str(error)) from error
    if len(found) != length:
        raise AdapterError(
            f"the index {name!r} selects {len(found)} values for {length} elements",
            field=name,
        )
    return found
