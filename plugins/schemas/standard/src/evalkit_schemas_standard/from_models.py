"""Pydantic models as JSON Schema documents: pydantic makes them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Set
from datetime import date, datetime, time, timedelta
from hashlib import sha256
from typing import Any, TypeVar

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    PydanticUserError,
    TypeAdapter,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, core_schema, to_jsonable_python

from evalkit.errors import SchemaError
from evalkit_schemas_standard.documents import FORMATS, Document, canonical, normal
from evalkit_schemas_standard.scalars import (
    ANY_ZONE,
    BOUNDS,
    MORE,
    NO_ZONE,
    Stored,
    with_more,
)

_SETTINGS = {
    "allow_inf_nan": True,
    "coerce_numbers_to_str": False,
    "populate_by_name": False,
    "regex_engine": "rust-regex",
    "str_max_length": None,
    "str_min_length": 0,
    "str_strip_whitespace": False,
    "str_to_lower": False,
    "str_to_upper": False,
    "val_json_bytes": "utf8",
    "val_temporal_unit": "infer",
    "validate_by_alias": True,
    "validate_by_name": False,
    "validate_default": False,
}
"""Settings that change what a model takes or makes of it, and pydantic's defaults."""
_ZONES = {"aware": "UTC", "naive": NO_ZONE}
_EDITION = "evalkit.schema 2\n"


def json_schema(model: type[BaseModel]) -> Document:
    """Return the JSON Schema of a model.

    It describes rows as they are written: no value counts that pydantic would convert,
    such as "1" for an integer.

    Args:
        model: The schema.

    Returns:
        A document of draft 2020-12 without references.

    Raises:
        SchemaError: The model is outside of what a schema can say.
    """
    name = str(model.model_config.get("title") or model.__name__)
    try:
        model.model_rebuild()
        made = model.model_json_schema(schema_generator=_Generator)
    except (PydanticUserError, NameError) as error:
        raise SchemaError(f"{name}: pydantic cannot build it: {error}") from error
    except RecursionError:
        raise SchemaError(f"{name}: nested too deeply") from None
    return normal(made, name, is_own=True)


def schema_identity(model: type[BaseModel]) -> str:
    """Return the identity of a schema.

    Names, types, constraints, defaults, units, semantics and the names of validators
    count, and the order of fields, which is that of the columns. Documentation and the
    names of classes do not. It is the same with every version of pydantic and pyarrow.

    Args:
        model: The schema.

    Returns:
        SHA-256 of its canonical form, in hexadecimal digits.

    Raises:
        SchemaError: The model is outside of what a schema can say.
    """
    return sha256((_EDITION + canonical(json_schema(model))).encode()).hexdigest()


class _Generator(GenerateJsonSchema):
    """Pydantic's own, with what else a schema says under `x-evalkit`."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}

    def generate_inner(self, schema: Any) -> Document:
        """Add what is strict, and which functions check values."""
        metadata = schema.get("metadata", {})
        if "pydantic_js_extra" in metadata:  # it may say what pydantic does not check
            kept = {k: v for k, v in metadata.items() if k != "pydantic_js_extra"}
            schema = {**schema, "metadata": kept}
        document: Document = super().generate_inner(schema)
        if MORE in metadata:
            document = with_more(document, **metadata[MORE])
        serialization = schema.get("serialization", {})
        if _is_foreign(serialization.get("function")):
            return _problem("a serializer of its own has no columns")
        if schema.get("strict") and not schema["type"].startswith(
            ("model", "dataclass")
        ):
            document = with_more(document, strict=True)
        rules = [*_rules(schema), *_format(document)]
        if rules:
            known = document.get(MORE, {}).get("rules", [])
            document = with_more(document, rules=[*known, *rules])
        function = schema.get("function") or {}
        if isinstance(function, dict) and "inf_nan" in _name_of(
            function.get("function")
        ):
            document = with_more(document, finite=True)
        return document

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> Document:
        """Name the field later on, where it is known."""
        cls = schema.get("cls")
        return _problem(
            f"{getattr(cls, '__name__', error_info)} says no type of a column"
        )

    def model_schema(self, schema: core_schema.ModelSchema) -> Document:
        """Add what only Python knows, and refuse what is no data."""
        cls: Any = schema["cls"]
        _refuse_what_is_no_data(cls)
        document = super().model_schema(schema)
        if cls.__pydantic_root_model__:
            return document
        decorators = cls.__pydantic_decorators__
        rules = [*decorators.root_validators, *decorators.model_validators]
        rules += _settings(cls)
        more = {"rules": rules, "strict": bool(cls.model_config.get("strict"))}
        if "version" in cls.__class_vars__:
            more["version"] = cls.version or ""
        if "description" in document:
            document["description"] = " ".join(document["description"].split())
        return with_more(document, **more) if any(more.values()) else document

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> Document:
        """Refuse keys that may be missing."""
        total = schema.get("total", True)
        for name, field in schema["fields"].items():
            if not field.get("required", total):
                return _problem(f"a key that may be missing has no column: {name}")
        return super().typed_dict_schema(schema)

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Document:
        """Add the default as JSON, also one that a function makes."""
        document: Document = self.generate_inner(schema["schema"])
        if schema.get("default_factory_takes_data"):
            return _problem("its default depends on other fields")
        make: Any = schema.get("default_factory", lambda: schema.get("default"))
        default, again = make(), make()
        if isinstance(default, float) and not math.isfinite(default):
            return _problem(f"its default {default} is no number of JSON")
        try:
            written = to_jsonable_python(default, by_alias=True)
        except (PydanticSerializationError, ValueError) as error:
            return _problem(f"its default is no value of it: {error}")
        if default != again:
            return _problem("its default is another one each time")
        if isinstance(default, Set):
            written = sorted(written)
        return {**document, "default": written}

    def dict_schema(self, schema: core_schema.DictSchema) -> Document:
        """Add the keys, which pydantic leaves out where they are no texts."""
        anything = core_schema.any_schema()
        items = self.generate_inner(schema.get("values_schema", anything))
        keys = self.generate_inner(schema.get("keys_schema", anything))
        document = {"type": "object", "additionalProperties": items}
        document["propertyNames"] = {"type": "array"} if keys == {} else keys
        self.update_with_validations(document, schema, self.ValidationsMapping.object)
        return document

    def float_schema(self, schema: core_schema.FloatSchema) -> Document:
        """Add whether NaN and the infinities are refused."""
        finite = schema.get("allow_inf_nan") is False
        document = super().float_schema(schema)
        return with_more(document, finite=True) if finite else document

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> Document:
        """Describe a number of some digits."""
        return with_more(
            {"type": ["number", "string"]},
            kind="decimal",
            precision=schema.get("max_digits"),
            scale=schema.get("decimal_places"),
            finite=schema.get("allow_inf_nan") is False,
            **_written_bounds(schema),
        )

    def str_schema(self, schema: core_schema.StringSchema) -> Document:
        """Refuse patterns with flags, which JSON Schema has no word for."""
        pattern: Any = schema.get("pattern")
        if getattr(pattern, "flags", 32) & ~32:
            return _problem(
                f"the pattern {pattern.pattern!r} has flags; write them into it, as in "
                "(?i)a"
            )
        return super().str_schema(schema)

    def date_schema(self, schema: core_schema.DateSchema) -> Document:
        """Add bounds."""
        return _text("date", schema)

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> Document:
        """Add bounds and the zone."""
        zone: Any = schema.get("tz_constraint")
        return with_more(_text("date-time", schema), zone=_ZONES.get(zone, ANY_ZONE))

    def time_schema(self, schema: core_schema.TimeSchema) -> Document:
        """Add bounds."""
        return _text("time", schema)

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> Document:
        """Add bounds."""
        return _text("duration", schema)


def _problem(text: str) -> Document:
    return {MORE: {"problem": text}}


def _text(written: str, schema: Any) -> Document:
    return with_more({"type": "string", "format": written}, **_written_bounds(schema))


def _written_bounds(schema: Any) -> Document:
    """Return bounds as JSON has them."""
    given = {name: schema[name] for name in BOUNDS if schema.get(name) is not None}
    types = (date, datetime, time, timedelta)
    return {
        name: TypeAdapter(type(value)).dump_python(value, mode="json")
        if isinstance(value, types)
        else str(value)
        for name, value in given.items()
    }


def _format(document: Document) -> Iterator[str]:
    """Yield the format of a text that only pydantic checks, such as an address."""
    written = document.get("format")
    if written is not None and written not in FORMATS:
        yield str(written)


def _rules(schema: Any) -> Iterator[str]:
    """Yield the name of the author's function that checks a value."""
    function = schema.get("function")
    if isinstance(function, dict) and schema["type"].startswith("function-"):
        function = function.get("function")
        if _is_foreign(function):
            yield _name_of(function).strip("_")


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _is_foreign(function: Any) -> bool:
    """Tell whether a function is neither pydantic's nor ours."""
    inner = getattr(function, "func", function)
    module = str(getattr(inner, "__module__", None) or "")
    known = ("pydantic", Stored.__module__)
    return function is not None and not module.startswith(known)


def _settings(model: type[BaseModel]) -> Iterator[str]:
    """Yield the settings of a model that only Python knows, as `name=value`."""
    for name, default in _SETTINGS.items():
        value = model.model_config.get(name, default)
        if value != default:
            yield f"{name}={value}"


def _refuse_what_is_no_data(model: type[BaseModel]) -> None:
    """Refuse models whose rows hold more or other things than their fields."""
    name, decorators = model.__name__, model.__pydantic_decorators__
    parameters = model.__pydantic_generic_metadata__["parameters"]
    if any(isinstance(each, TypeVar) for each in parameters):
        raise SchemaError(f"{name}: {parameters[0]} stands for no type yet")
    if model.model_config.get("extra") == "allow":
        raise SchemaError(f"{name}: extra='allow' takes fields that have no column")
    private = [each for each in model.__private_attributes__ if each.endswith("_")]
    if private:
        raise SchemaError(
            f"{name}: pydantic takes {private[0]} for a private attribute; give a "
            "field an alias to call it so in the data"
        )
    if decorators.model_serializers or decorators.field_serializers:
        raise SchemaError(f"{name}: a serializer of its own has no columns")
    if decorators.computed_fields:
        computed = next(iter(decorators.computed_fields))
        raise SchemaError(f"{name}.{computed}: a computed field is no data")
    seen: set[str] = set()
    for field_name, field in model.model_fields.items():
        where = f"{name}.{field_name}"
        if field.exclude:
            raise SchemaError(f"{where}: an excluded field is no data")
        read = field.validation_alias or field.alias or field_name
        written = field.serialization_alias or field.alias or field_name
        if isinstance(read, AliasPath | AliasChoices) or read != written:
            raise SchemaError(f"{where}: a column has one name to read and to write")
        if read in seen:
            raise SchemaError(
                f"{name}: the field name {read!r} is the name of two fields"
            )
        seen.add(read)
