"""Rows as tables of Arrow, and tables as rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import time
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from pydantic import AnyUrl, BaseModel, ValidationError

from evalkit.errors import SchemaError
from evalkit_schemas_standard.arrow import arrow_schema
from evalkit_schemas_standard.documents import Document, fields_of, kind_of, plain_of
from evalkit_schemas_standard.from_models import json_schema

if TYPE_CHECKING:
    import pyarrow as pa

Model = TypeVar("Model", bound=BaseModel)
_Convert = Callable[[Any], Any]


def arrow_table(model: type[BaseModel], rows: Iterable[Any]) -> pa.Table:
    """Return rows as a table.

    Args:
        model: The schema.
        rows: Dicts that the model takes, or its instances, which are not checked again.

    Returns:
        A table with `arrow_schema(model)`, in the order of the rows. A UUID is a text,
        a value of several types is its JSON, and a set a sorted list; a datetime
        without a zone is in UTC, unless the field is without one.

    Raises:
        SchemaError: A row breaks the schema, or holds what a column does not, such as
            an integer of more than 64 bits; the message names the row, from 1.
    """
    import pyarrow as pa

    schema, convert = arrow_schema(model), _to_arrow(json_schema(model))
    found = []
    for number, row in enumerate(rows, start=1):
        try:
            made = row if isinstance(row, model) else model.model_validate(row)
            found.append(convert(made.model_dump(by_alias=True)))
        except (SchemaError, ValidationError) as error:
            raise SchemaError(f"row {number}: {error}") from error
    try:
        return pa.Table.from_pylist(found, schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError) as error:
        raise _of_row(found, schema, error) from error


def rows_of_table(model: type[Model], table: pa.Table) -> Iterator[Model]:
    """Return the rows of a table.

    Args:
        model: The schema.
        table: A table whose columns it names.

    Yields:
        An instance of each row.

    Raises:
        SchemaError: A row breaks the schema; the message names the row, from 1.
    """
    convert = _from_arrow(json_schema(model))
    number = 0
    for batch in table.to_batches():
        for row in batch.to_pylist():
            number += 1
            try:
                yield model.model_validate(convert(row), strict=False)
            except (SchemaError, ValidationError) as error:
                raise SchemaError(f"row {number}: {error}") from error


def _of_row(
    rows: list[dict[str, Any]], schema: pa.Schema, error: Exception
) -> SchemaError:
    """Say which row and field a table does not hold."""
    import pyarrow as pa

    for number, row in enumerate(rows, start=1):
        for field in schema:
            try:
                pa.array([row[field.name]], field.type)
            except OverflowError:
                return SchemaError(
                    f"row {number}: {field.name}: {row[field.name]!r:.80} holds a"
                    f" number too large for {field.type}"
                )
            except Exception as problem:  # whatever the table was refused for
                return SchemaError(f"row {number}: {field.name}: {problem}")
    return SchemaError(str(error))


def _converters(
    plain: Document, make: Callable[[Document], _Convert]
) -> _Convert | None:
    """Return what converts the parts of a struct, a list or a map; None for others."""
    kind = kind_of(plain)
    if kind == "struct":
        fields = {name: make(part) for name, part, _ in fields_of(plain)}
        return lambda value: {
            name: fields[name](each) if name in fields else each
            for name, each in value.items()
        }
    if kind == "list":
        item = make(plain["items"])
        return lambda value: [item(each) for each in value]
    if kind == "map":
        item = make(plain["additionalProperties"])
        return lambda value: {key: item(each) for key, each in value}
    return None


def _to_arrow(document: Document) -> _Convert:
    """Return what makes of a model's value one that pyarrow takes."""
    plain = plain_of(document)[0]
    inner = _converters(plain, _to_arrow)
    kind = kind_of(plain)
    if inner is not None and kind == "map":
        return _unless_none(
            lambda value: [
                *inner((_constant(key), each) for key, each in value.items()).items()
            ]
        )
    if inner is not None:
        return _unless_none(
            lambda value: inner(_sorted(value) if plain.get("uniqueItems") else value)
        )
    if kind == "json":
        return _unless_none(
            lambda value: json.dumps(_constant(value), ensure_ascii=False)
        )
    return _unless_none(_without_zone) if kind == "time" else _constant


def _from_arrow(document: Document) -> _Convert:
    """Return what makes of pyarrow's value one that the model takes."""
    plain = plain_of(document)[0]
    inner = _converters(plain, _from_arrow)
    if inner is not None and kind_of(plain) == "map":
        return _unless_none(lambda value: inner(_distinct(value)))
    if inner is not None:
        return _unless_none(inner)
    return _unless_none(json.loads) if kind_of(plain) == "json" else lambda value: value


def _unless_none(convert: _Convert) -> _Convert:
    return lambda value: None if value is None else convert(value)


def _constant(value: Any) -> Any:
    if isinstance(value, UUID | AnyUrl | PurePath):
        return str(value)
    return value.value if isinstance(value, Enum) else value


def _sorted(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=lambda value: (value is None, value))


def _without_zone(value: time) -> time:
    """Refuse a time with a zone, which Arrow would drop without a word."""
    if value.tzinfo is not None:
        raise SchemaError(f"{value}: a column of times has no zone")
    return value


def _distinct(entries: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Refuse a map that has a key twice, of which a dict would keep the last."""
    keys = [key for key, _ in entries]
    if len({*keys}) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise SchemaError(f"the key {twice!r} is in a map twice")
    return entries
