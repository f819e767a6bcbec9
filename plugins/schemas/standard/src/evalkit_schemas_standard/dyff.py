"""Dyff's own names: its schemas, exactly as it makes them.

Code that is written for Dyff runs with its imports changed:

```python
from evalkit_schemas_standard.dyff import DataSchema, DyffDataSchema, arrow

components = DyffDataSchema(components=["classification.Label", "text.Text"])
schema = DataSchema.make_output_schema(components)
print(arrow.decode_schema(schema.arrowSchema))
```

Dyff makes a class that inherits from all components, so that the fields of the last one
come first; every field may be null; the length of a list is lost; and most types of
Python have no Arrow type at all. This module follows it in all of this.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Self,
    TypeAlias,
    Union,
    get_args,
    get_origin,
)
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from evalkit.errors import SchemaError
from evalkit_schemas_standard import arrow as arrow
from evalkit_schemas_standard.models import (
    Item,
    ResponseItem,
    SchemaModel,
    TaggedSpan,
    with_responses,
)
from evalkit_schemas_standard.products import Part, model_of
from evalkit_schemas_standard.scalars import FLOATS, INTEGERS, Stored

if TYPE_CHECKING:
    import pyarrow as pa

    Source: TypeAlias = "DyffDataSchema | type[BaseModel] | pa.Schema"

DyffRows: TypeAlias = Literal["bare", "input", "output"]
"""Which rows a schema is of: those of the components alone, of a data set, or of what a
model answered."""

_BASES = {
    "DyffSchemaBaseModel",
    *(
        f"{module}.DyffSchemaBaseModel"
        for module in ("binary", "classification", "embedding", "text", "vision")
    ),
}
"""Names by which Dyff finds the model without fields that all others inherit from."""


class DyffDataSchema(BaseModel):
    """A schema by the names of those that it is the product of."""

    model_config = ConfigDict(extra="forbid")

    components: list[str] = Field(min_length=1, description="Names of schemas")
    schemaVersion: Literal["0.1"] = "0.1"  # noqa: N815 - Dyff's name

    def model_type(self) -> type[BaseModel]:
        """Return the product of the components.

        Raises:
            SchemaError: Dyff makes no product of them.
            PluginError: A name stands for no schema.
        """
        return _product(self.components)


class DataSchema(BaseModel):
    """A schema in three views.

    Attributes:
        arrowSchema: The Arrow schema, as `arrow.encode_schema` writes it.
        dyffSchema: The names of the components.
        jsonSchema: The JSON Schema.
    """

    model_config = ConfigDict(extra="forbid")

    arrowSchema: str  # noqa: N815 - Dyff's name
    dyffSchema: DyffDataSchema | None = None  # noqa: N815 - Dyff's name
    jsonSchema: dict[str, Any] | None = None  # noqa: N815 - Dyff's name

    @staticmethod
    def from_model(model: type[BaseModel]) -> DataSchema:
        """Return the views of a model.

        Args:
            model: The schema.

        Raises:
            SchemaError: Dyff has no Arrow type of a field.
        """
        return _views(model, "bare")

    @staticmethod
    def make_input_schema(schema: Source) -> DataSchema:
        """Return the schema of a data set's rows, which have an `_index_`.

        Args:
            schema: What a row holds.

        Raises:
            SchemaError: Dyff has no Arrow schema of this.
            PluginError: A name stands for no schema.
        """
        return _views(schema, "input")

    @staticmethod
    def make_output_schema(schema: Source) -> DataSchema:
        """Return the schema of answers: `_index_`, `_replication_` and `responses`.

        Args:
            schema: What one response holds.

        Raises:
            SchemaError: Dyff has no Arrow schema of this.
            PluginError: A name stands for no schema.
        """
        return _views(schema, "output")

    @model_validator(mode="after")
    def _agree(self) -> Self:
        """Refuse views that do not name the same fields."""
        schema = arrow.decode_schema(self.arrowSchema)
        agreeing = {"jsonSchema": True, "dyffSchema": True}
        if self.jsonSchema is not None:
            fields = {*self.jsonSchema.get("properties", {})}
            agreeing["jsonSchema"] = fields == {*schema.names}
        if self.dyffSchema is not None:
            made = self.dyffSchema.model_type()
            views = [_schema_of(_row_model(made, rows)) for rows in get_args(DyffRows)]
            agreeing["dyffSchema"] = any(schema.equals(view) for view in views)
        for name, agrees in agreeing.items():
            if not agrees:
                raise SchemaError(
                    f"arrowSchema and {name} contradict each other: arrowSchema has "
                    f"{', '.join(f'{field.name}: {field.type}' for field in schema)}"
                )
        return self


def _views(source: Source, rows: DyffRows) -> DataSchema:
    names = source if isinstance(source, DyffDataSchema) else None
    kind: Any = source if names is None else names.model_type()
    if not isinstance(kind, type):
        return DataSchema(arrowSchema=arrow.encode_schema(_extended(kind, rows)))
    model = _row_model(kind, rows)
    encoded = arrow.encode_schema(_schema_of(model))
    return DataSchema(arrowSchema=encoded, dyffSchema=names, jsonSchema=_json(model))


class _Plain(GenerateJsonSchema):
    """Pydantic's own, without the bounds that a type of integers has."""

    def int_schema(self, schema: core_schema.IntSchema) -> dict[str, Any]:
        """Leave out the bounds of the type."""
        bounds = {limit for limits in INTEGERS.values() for limit in limits if limit}
        found = super().int_schema(schema)
        return {
            k: v for k, v in found.items() if not isinstance(v, int) or v not in bounds
        }


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(schema_generator=_Plain)


def to_dyff_arrow(
    source: Sequence[Part] | type[BaseModel] | pa.Schema, rows: DyffRows = "bare"
) -> pa.Schema:
    """Return the Arrow schema that Dyff makes.

    Args:
        source: Names of schemas or models, of which Dyff makes a product; one model; or
            an Arrow schema, as Dyff's functions for inputs and outputs take it too.
        rows: `bare` for the schema itself, `input` for rows of a data set, which have
            an `_index_`, and `output` for answers: `_index_`, `_replication_` and
            `responses`.

    Returns:
        A schema of which every field may be null. Where the source is a model, fields
        have their description as metadata, under `__doc__`.

    Raises:
        SchemaError: Dyff has no Arrow schema of this.
        PluginError: A name stands for no schema.
    """
    if rows not in get_args(DyffRows):
        raise SchemaError(f"rows must be bare, input or output, not {rows!r}")
    if isinstance(source, type) and issubclass(source, BaseModel):
        return _schema_of(_row_model(source, rows))
    if isinstance(source, Sequence) and not isinstance(source, str):
        return _schema_of(_row_model(_product(source), rows))
    return _extended(source, rows)


def _product(components: Sequence[Part]) -> type[BaseModel]:
    if not components:
        raise SchemaError("Dyff's product needs at least one component")
    bases = [
        SchemaModel if isinstance(each, str) and each in _BASES else model_of(each)
        for each in components
    ]
    return _inheriting("Product", *bases)


def _inheriting(name: str, *bases: type[BaseModel]) -> type[BaseModel]:
    """Make a class as Dyff does, with Python's own order of the bases."""
    try:
        return create_model(name, __base__=bases)
    except TypeError as error:
        names = " and ".join(base.__name__ for base in bases)
        reason = " ".join(str(error).split())
        raise SchemaError(f"Dyff makes no product of {names}: {reason}") from error


def _row_model(model: type[BaseModel], rows: DyffRows) -> type[BaseModel]:
    if rows == "bare":
        return model
    if rows == "input":
        return _inheriting(f"{model.__name__}Item", model, Item)
    name = f"{model.__name__}ResponseItem"
    return with_responses(_inheriting(name, model, ResponseItem))


def _extended(schema: pa.Schema, rows: DyffRows) -> pa.Schema:
    """Add the fields of rows to an Arrow schema; Dyff describes none of them."""
    import pyarrow as pa

    if not isinstance(schema, pa.Schema):
        raise SchemaError(
            "wanted are names of schemas, a pydantic model or an Arrow schema, not "
            f"{schema!r}"
        )
    index = pa.field("_index_", pa.int64())
    if rows == "bare":
        return schema
    if rows == "input":
        return schema.insert(0, index)
    ranked = [pa.field("_response_index_", pa.int64())]
    response = pa.struct([*ranked, *(pa.field(f.name, f.type) for f in schema)])
    responses = pa.field("responses", pa.list_(response))
    return pa.schema([pa.field("_replication_", pa.string()), index, responses])


def _schema_of(model: type[BaseModel]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(_fields(model, ()))


def _fields(model: type[BaseModel], within: tuple[type, ...]) -> list[pa.Field]:
    import pyarrow as pa

    if model in within:
        raise SchemaError(f"{model.__name__} holds itself; Dyff has no type of that")
    if issubclass(model, TaggedSpan):
        raise SchemaError(
            "text.TaggedSpan: Dyff's own has integers of no size, and so no Arrow type"
        )
    fields = []
    for attribute, field in model.model_fields.items():
        name = field.alias or attribute
        try:
            kind = _field_type(field, (*within, model))
        except SchemaError as error:
            raise SchemaError(f"{model.__name__}.{name}: {error}") from error
        described = field.description
        metadata = None if described is None else {"__doc__": described}
        fields.append(pa.field(name, kind, metadata=metadata))
    return fields


def _field_type(field: FieldInfo, within: tuple[type, ...]) -> pa.DataType:
    """Return the type of a field; its rules, such as a length, make no difference."""
    sized = _sized_type(field.metadata)
    return _type_of(field.annotation, within) if sized is None else sized


def _type_of(annotation: Any, within: tuple[type, ...]) -> pa.DataType:
    import pyarrow as pa

    sized = _sized_type(getattr(annotation, "__metadata__", ()))
    if sized is not None:
        return sized
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is list:
        return pa.list_(_type_of(arguments[0], within))
    if origin in (Union, types.UnionType):
        others = [each for each in arguments if each is not type(None)]
        if len(others) == 1:
            return _type_of(others[0], within)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return pa.struct(_fields(annotation, within))
    plain = {
        bool: pa.bool_(),
        bytes: pa.binary(),
        float: pa.float64(),
        str: pa.string(),
        UUID: pa.binary(16),
    }
    for kind, found in plain.items():
        if annotation is kind:
            return found
    hint = "; an integer needs a size, such as Int64" if annotation is int else ""
    raise SchemaError(f"Dyff has no Arrow type of {annotation!r}{hint}")


def _sized_type(rules: Sequence[Any]) -> pa.DataType | None:
    import pyarrow as pa

    for rule in rules:
        if isinstance(rule, Stored) and rule.kind in (*INTEGERS, *FLOATS):
            return pa.type_for_alias(rule.kind)
    return None
