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
from evalkit_schemas_standard.documents import Document, kind_of, plain_of
from evalkit_schemas_standard.from_models import json_schema

if TYPE_CHECKING:
    import pyarrow as pa

Model = TypeVar("Model", bound=BaseModel)


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

    schema, document = arrow_schema(model), json_schema(model)
    found = []
    for number, row in enumerate(rows, start=1):
        try:
            made = row if isinstance(row, model) else model.model_validate(row)
            found.append(_leaves(made.model_dump(by_alias=True), document, _stored))
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
    document = json_schema(model)
    number = 0
    for batch in table.to_batches():
        for row in batch.to_pylist():
            number += 1
            try:
                values = _leaves(row, document, _read)
                yield model.model_validate(values, strict=False)
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


def _leaves(value: Any, part: Document, make: Callable[[str, Any], Any]) -> Any:
    """Return a value, whose single values a function makes anew by their kinds."""
    plain = plain_of(part)[0]
    kind = kind_of(plain)
    if value is None:
        return None
    if kind == "struct":
        known = plain["properties"]
        return {
            name: _leaves(each, known[name], make) if name in known else each
            for name, each in value.items()
        }
    if kind == "list":
        items = _sorted(value) if plain.get("uniqueItems") else value
        return [_leaves(each, plain["items"], make) for each in items]
    if kind == "map":
        inner = plain["additionalProperties"]
        return {
            make("string", key): _leaves(each, inner, make)
            for key, each in (
                value.items() if isinstance(value, dict) else _distinct(value)
            )
        }
    return make(kind, value)


def _stored(kind: str, value: Any) -> Any:
    """Return a model's value as pyarrow takes it."""
    if isinstance(value, UUID | AnyUrl | PurePath):
        return str(value)
    if isinstance(value, time) and value.tzinfo is not None:
        raise SchemaError(f"{value}: a column of times has no zone")
    value = value.value if isinstance(value, Enum) else value
    return json.dumps(value, ensure_ascii=False) if kind == "json" else value


def _read(kind: str, value: Any) -> Any:
    """Return pyarrow's value as the model takes it."""
    return json.loads(value) if kind == "json" else value


def _sorted(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=lambda value: (value is None, value))


def _distinct(entries: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Refuse a map that has a key twice, of which a dict would keep the last."""
    keys = [key for key, _ in entries]
    if len({*keys}) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise SchemaError(f"the key {twice!r} is in a map twice")
    return entries
