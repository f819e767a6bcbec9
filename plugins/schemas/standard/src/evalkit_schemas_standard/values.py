"""Rows as tables of Arrow, and tables as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import time
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from evalkit.errors import SchemaError
from evalkit_schemas_standard.arrow import arrow_schema
from evalkit_schemas_standard.from_models import shape_of_model
from evalkit_schemas_standard.scalars import Shape

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
        A table with `arrow_schema(model)`, in the order of the rows. A UUID is a text
        and a set a sorted list; a datetime without a zone is in UTC, unless the field
        is without one.

    Raises:
        SchemaError: A row breaks the schema, or holds what a column does not, such as
            an integer of more than 64 bits; the message names the row, from 1.
    """
    import pyarrow as pa

    schema, convert = arrow_schema(model), _to_arrow(shape_of_model(model))
    found = []
    for number, row in enumerate(rows, start=1):
        try:
            made = row if isinstance(row, model) else model.model_validate(row)
        except ValidationError as error:
            raise SchemaError(f"row {number}: {error}") from error
        try:
            found.append(convert(made.model_dump(by_alias=True)))
        except SchemaError as error:
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
    convert = _from_arrow(shape_of_model(model))
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


def _to_arrow(shape: Shape) -> _Convert:
    """Return what makes of a model's value one that pyarrow takes."""
    if shape.kind == "struct":
        fields = {each.name: _to_arrow(each.shape) for each in shape.fields}
        return _unless_none(
            lambda value: {name: make(value[name]) for name, make in fields.items()}
        )
    if shape.kind == "list":
        assert shape.items is not None
        item = _to_arrow(shape.items)
        order = _sorted if shape.unique else list
        return _unless_none(lambda value: [item(each) for each in order(value)])
    if shape.kind == "map":
        assert shape.items is not None
        item = _to_arrow(shape.items)
        return _unless_none(
            lambda value: [(_constant(key), item(each)) for key, each in value.items()]
        )
    if shape.kind in ("uuid", "string"):
        return _unless_none(lambda value: str(_constant(value)))
    if shape.kind == "time":
        return _unless_none(_without_zone)
    return _constant


def _from_arrow(shape: Shape) -> _Convert:
    """Return what makes of pyarrow's value one that the model takes."""
    if shape.kind == "struct":
        fields = {each.name: _from_arrow(each.shape) for each in shape.fields}
        return _unless_none(
            lambda value: {
                name: fields[name](each) if name in fields else each
                for name, each in value.items()
            }
        )
    if shape.kind == "list":
        assert shape.items is not None
        item = _from_arrow(shape.items)
        return _unless_none(lambda value: [item(each) for each in value])
    if shape.kind == "map":
        assert shape.items is not None
        item = _from_arrow(shape.items)
        return _unless_none(
            lambda value: {key: item(each) for key, each in _distinct(value)}
        )
    return lambda value: value


def _unless_none(convert: _Convert) -> _Convert:
    return lambda value: None if value is None else convert(value)


def _constant(value: Any) -> Any:
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
