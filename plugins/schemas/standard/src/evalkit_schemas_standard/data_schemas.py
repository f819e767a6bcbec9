"""Schemas as documents: the same fields as Arrow, as JSON Schema and by name."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from evalkit.errors import SchemaError
from evalkit_schemas_standard.arrow import STRUCT, arrow_schema, model_from_arrow
from evalkit_schemas_standard.from_models import schema_identity
from evalkit_schemas_standard.json_schemas import json_schema, model_from_json_schema
from evalkit_schemas_standard.products import (
    Part,
    input_model,
    model_of,
    output_model,
    product,
)

if TYPE_CHECKING:
    import pyarrow as pa

    Source: TypeAlias = "Sequence[Part] | type[BaseModel] | pa.Schema | DataSchema"


class Components(BaseModel):
    """A schema by the names of those that it is the product of."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    components: tuple[str, ...] = Field(min_length=1, description="Names of schemas")
    schema_version: Literal["0.1"] = Field(default="0.1", alias="schemaVersion")


class DataSchema(BaseModel):
    """A schema as documents have it, under the keys that Dyff has for it.

    One of the three is enough; `arrowSchema` and `jsonSchema` are filled. Those that
    are given must describe the same fields. `dyffSchema` names the components of rows
    or of single responses: the other two may have the fields that `make_input_schema`
    and `make_output_schema` add.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    arrow: str = Field(
        default="",
        alias="arrowSchema",
        description="The Arrow schema, as an IPC message in base64",
    )
    components: Components | None = Field(
        default=None,
        alias="dyffSchema",
        description="The schemas that it is a product of",
    )
    json_document: dict[str, Any] = Field(
        default={}, alias="jsonSchema", description="The JSON Schema"
    )
    _model: type[BaseModel] = PrivateAttr()

    @classmethod
    def of(cls, source: Source) -> DataSchema:
        """Return the schema of a model.

        Args:
            source: A pydantic model; names of schemas or models, of which it is the
                product; or an Arrow schema.

        Raises:
            SchemaError: It is outside of what a schema can say.
            PluginError: A name stands for no schema.
        """
        return _document(source, lambda model: model)

    @model_validator(mode="after")
    def _fill(self) -> Self:
        """Fill the views that are not given, and refuse ones that contradict others."""
        model = self._model = self._agreed_model()
        if not self.arrow:
            found = arrow_schema(model).serialize().to_pybytes()
            object.__setattr__(self, "arrow", base64.b64encode(found).decode())
        if not self.json_document:
            object.__setattr__(self, "json_document", json_schema(model))
        return self

    def _agreed_model(self) -> type[BaseModel]:
        given: list[tuple[str, type[BaseModel], Any]] = []
        if self.arrow:
            arrow = self.arrow_schema()
            given.append(("arrowSchema", model_from_arrow(arrow), _columns(arrow)))
        if self.json_document:
            model = model_from_json_schema(self.json_document)
            given.append(("jsonSchema", model, _columns(arrow_schema(model))))
        if self.components is not None:
            model = self._named_model([columns for _, _, columns in given])
            given.insert(0, ("dyffSchema", model, _columns(arrow_schema(model))))
        if not given:
            raise SchemaError(
                "a schema needs arrowSchema, dyffSchema or jsonSchema, and has none"
            )
        first, model, columns = given[0]
        for name, _, others in given[1:]:
            if columns != others:
                raise SchemaError(
                    f"{first} and {name} contradict each other: the one has "
                    f"{columns}, the other {others}"
                )
        self._refuse_other_rules()
        return model

    def _named_model(self, columns: Sequence[Any]) -> type[BaseModel]:
        """Return the model of the components, of the rows that the other views have."""
        assert self.components is not None
        model = product(self.components.components)
        if columns:
            for make in (input_model, output_model):
                made = make(model)
                if _columns(arrow_schema(made)) == columns[0]:
                    return made
        return model

    def _refuse_other_rules(self) -> None:
        """Refuse rules that differ, where both views tell all of them."""
        if not self.arrow or "$schema" not in self.json_document:
            return
        arrow = self.arrow_schema()
        if STRUCT not in (arrow.metadata or {}):
            return
        from_json = model_from_json_schema(self.json_document)
        if schema_identity(model_from_arrow(arrow)) != schema_identity(from_json):
            raise SchemaError(
                "arrowSchema and jsonSchema contradict each other: their fields are "
                "the same, and their rules are not"
            )

    def arrow_schema(self) -> pa.Schema:
        """Return the Arrow schema.

        Raises:
            SchemaError: `arrowSchema` holds none.
        """
        import pyarrow as pa

        try:
            message = base64.b64decode(self.arrow, validate=True)
            return pa.ipc.read_schema(pa.py_buffer(message))
        except (binascii.Error, ValueError, OSError, pa.ArrowException) as error:
            raise SchemaError(f"arrowSchema holds no Arrow schema: {error}") from error

    def model_type(self) -> type[BaseModel]:
        """Return the pydantic model: that of the components, where they are named."""
        return self._model


def make_input_schema(source: Source) -> DataSchema:
    """Return the schema of a data set's rows.

    Args:
        source: What a row holds: as for `DataSchema.of`, or a `DataSchema`.

    Returns:
        `_index_` in front of its fields.

    Raises:
        SchemaError: It is outside of what a schema can say, or has a field of that name
            that means something else.
        PluginError: A name stands for no schema.
    """
    return _document(source, input_model)


def make_output_schema(source: Source) -> DataSchema:
    """Return the schema of what a model answered.

    Args:
        source: What one response holds: as for `DataSchema.of`, or a `DataSchema`.

    Returns:
        `_index_`, `_replication_` and `responses`, each of which has a
        `_response_index_` in front. Several responses may share one; their order is
        that of preference.

    Raises:
        SchemaError: It is outside of what a schema can say, or has a field of one of
            these names that means something else.
        PluginError: A name stands for no schema.
    """
    return _document(source, output_model)


def _document(
    source: Source, rows_of: Callable[[type[BaseModel]], type[BaseModel]]
) -> DataSchema:
    names: Components | None = None
    if isinstance(source, DataSchema):
        model, names = source.model_type(), source.components
    elif isinstance(source, type):
        model = model_of(source)
    elif isinstance(source, Sequence):
        model = product(source)
        if all(isinstance(each, str) for each in source):
            names = Components(components=tuple(map(str, source)))
    else:
        model = model_from_arrow(source)
    made = rows_of(model)
    encoded = base64.b64encode(arrow_schema(made).serialize().to_pybytes()).decode()
    found = DataSchema(
        arrowSchema=encoded, jsonSchema=json_schema(made), dyffSchema=names
    )
    found._model = made
    return found


_ALIKE = (
    ("integer", ("is_integer",)),
    ("number", ("is_floating",)),
    ("text", ("is_string", "is_large_string", "is_string_view")),
    ("bytes", ("is_binary", "is_large_binary", "is_fixed_size_binary")),
)


def _columns(schema: pa.Schema) -> Any:
    """Return the fields by name, without what other systems do not tell of them.

    These are order, widths, lengths, and whether a value may be null.
    """
    return {field.name: _kind(field.type) for field in schema}


def _kind(kind: pa.DataType) -> Any:
    import pyarrow as pa
    import pyarrow.types as are

    if are.is_struct(kind):
        return {field.name: _kind(field.type) for field in kind}
    if are.is_map(kind):
        return {"of any name": _kind(kind.item_type)}
    if are.is_list(kind) or are.is_large_list(kind) or are.is_fixed_size_list(kind):
        return [_kind(kind.value_type)]
    if kind.equals(pa.binary(16)):
        return "text"  # Dyff's UUIDs
    for name, tests in _ALIKE:
        if any(getattr(are, test)(kind) for test in tests):
            return name
    return str(kind)
