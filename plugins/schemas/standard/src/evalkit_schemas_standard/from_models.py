"""Pydantic models, read into shapes."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from hashlib import sha256
from pathlib import PurePath
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

from pydantic import (
    AliasChoices,
    AliasPath,
    AnyUrl,
    AwareDatetime,
    BaseModel,
    NaiveDatetime,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError

from evalkit.errors import SchemaError
from evalkit_schemas_standard.constraints import normal, settings, single, with_rules
from evalkit_schemas_standard.field_names import check_members
from evalkit_schemas_standard.scalars import (
    ANY_ZONE,
    NO_ZONE,
    Kind,
    Member,
    Semantics,
    Shape,
    Unit,
    canonical,
    distinct,
)

_PLAIN: Mapping[Any, Shape] = {
    str: Shape(kind="string"),
    bool: Shape(kind="boolean"),
    int: Shape(kind="int64"),
    float: Shape(kind="float64"),
    bytes: Shape(kind="bytes"),
    Decimal: Shape(kind="decimal"),
    UUID: Shape(kind="uuid"),
    date: Shape(kind="date"),
    datetime: Shape(kind="datetime", zone=ANY_ZONE),
    AwareDatetime: Shape(kind="datetime", zone="UTC"),
    NaiveDatetime: Shape(kind="datetime", zone=NO_ZONE),
    time: Shape(kind="time"),
    timedelta: Shape(kind="duration"),
}
_LISTS = (list, Sequence, Iterable)
_SETS = (set, frozenset)
_CONSTANTS: tuple[tuple[type, Kind], ...] = (
    (bool, "boolean"),
    (int, "int64"),
    (str, "string"),
)


def shape_of_model(model: type[BaseModel]) -> Shape:
    """Read a model."""
    shape = _Reader().model(model)
    if shape.kind != "struct":
        raise SchemaError(f"{model.__name__}: a schema has fields; it is {shape.kind}")
    return shape


class _Reader:
    """Reads annotations, and remembers the classes that it is in."""

    def __init__(self) -> None:
        self._within: list[type] = []

    def model(self, model: type) -> Shape:
        """Read a model, a `TypedDict` or a dataclass."""
        name = model.__name__
        if model in self._within:
            raise SchemaError(f"{name}: a model that holds itself has no columns")
        if len(self._within) > 50:
            raise SchemaError(f"{name}: is within more than 50 other models")
        self._within.append(model)
        try:
            if issubclass(model, BaseModel):
                return self._of_pydantic(model)
            return self._of_hints(model)
        finally:
            self._within.pop()

    def _of_pydantic(self, model: type[BaseModel]) -> Shape:
        name, config = model.__name__, model.model_config
        try:
            model.model_rebuild()
        except (PydanticUserError, NameError) as error:
            raise SchemaError(f"{name}: pydantic cannot build it: {error}") from error
        _refuse_what_is_no_data(model)
        if model.__pydantic_root_model__:
            return self.field(model.model_fields["root"], name)
        members = [
            self._member(field_name, field, model)
            for field_name, field in model.model_fields.items()
        ]
        check_members(name, members)
        return Shape(
            kind="struct",
            fields=tuple(members),
            strict=bool(config.get("strict")),
            closed=config.get("extra") == "forbid",
            rules=(*_validators(model), *settings(config)),
            title=config.get("title") or name,
            description=_own_description(model),
        )

    def _of_hints(self, model: type) -> Shape:
        """Read a class that is no pydantic model: pydantic makes one of its fields."""
        name = model.__name__
        optional: frozenset[str] = getattr(model, "__optional_keys__", frozenset())
        if optional:
            raise SchemaError(
                f"{name}: a key that may be missing has no column: {min(optional)}"
            )
        defaults = {}
        if dataclasses.is_dataclass(model):
            defaults = {
                each.name: _default_of_dataclass(each, name)
                for each in dataclasses.fields(model)
            }
        members = []
        for field_name, hint in get_type_hints(model, include_extras=True).items():
            default = defaults.get(field_name, ...)
            field = FieldInfo.from_annotated_attribute(hint, default)
            members.append(self._member(field_name, field, model))
        check_members(name, members)
        return Shape(
            kind="struct",
            fields=tuple(members),
            title=name,
            description=_own_description(model),
        )

    def _member(self, field_name: str, field: FieldInfo, model: type) -> Member:
        where = f"{model.__name__}.{field_name}"
        shape = self.field(field, where)
        notes = {type(rule): rule.name for rule in _notes(field.metadata)}
        required = field.is_required()
        return Member(
            name=_name_of(field_name, field, where),
            shape=shape,
            required=required,
            default=None if required else _default_of(field, shape, where),
            description=field.description,
            unit=notes.get(Unit),
            semantics=notes.get(Semantics),
        )

    def field(self, field: FieldInfo, where: str) -> Shape:
        """Read the annotation of a field, and what is said beside it."""
        shape = self._annotation(field.annotation, where)
        return with_rules(shape, field.metadata, where)

    def _annotation(self, annotation: Any, where: str) -> Shape:
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            inner = FieldInfo.from_annotation(annotation)
            return self.field(inner, where)
        if hasattr(annotation, "__supertype__"):
            return self._annotation(annotation.__supertype__, where)
        if hasattr(annotation, "__value__"):
            return self._annotation(annotation.__value__, where)
        if annotation in _PLAIN:
            return _PLAIN[annotation]
        if origin is Literal:
            return _of_constants(arguments, where)
        if origin in (Union, types.UnionType):
            return self._union(arguments, where)
        if origin is not None:
            return self._generic(origin, arguments, where)
        if isinstance(annotation, type):
            return self._class(annotation, where)
        raise SchemaError(f"{where}: {_said(annotation)} says no type of a column")

    def _union(self, arguments: Sequence[Any], where: str) -> Shape:
        nullable = type(None) in arguments
        kinds = [each for each in arguments if each is not type(None)]
        shapes = distinct(self._annotation(each, where) for each in kinds)
        if len(shapes) == 2 and {*kinds} == {int, float}:
            shapes = [_PLAIN[float]]
        if len(shapes) != 1:
            names = " or ".join(map(_said, kinds)) or "None"
            raise SchemaError(f"{where}: a column has one type, and not {names}")
        return shapes[0].changed(nullable=nullable or shapes[0].nullable)

    def _generic(self, origin: Any, arguments: Sequence[Any], where: str) -> Shape:
        if origin in _LISTS or origin in _SETS or issubclass(origin, Sequence):
            return self._list(origin, arguments, where)
        if issubclass(origin, Mapping):
            keys, items = (self._annotation(each, where) for each in arguments)
            if keys.kind != "string" or keys.nullable:
                raise SchemaError(f"{where}: the keys of a map are texts, as in JSON")
            return Shape(kind="map", map_keys=keys, items=items)
        raise SchemaError(f"{where}: {_said(origin)} says no type of a column")

    def _list(self, origin: Any, arguments: Sequence[Any], where: str) -> Shape:
        size = None
        if origin is tuple and arguments[-1:] != (Ellipsis,):
            size = len(arguments)
        given = [each for each in arguments if each is not Ellipsis]
        shapes = distinct(self._annotation(each, where) for each in given)
        if len(shapes) != 1:
            raise SchemaError(f"{where}: the elements of a list have one type")
        unique = origin in _SETS
        return Shape(
            kind="list",
            items=shapes[0],
            unique=unique,
            min_length=size,
            max_length=size,
        )

    def _class(self, kind: type, where: str) -> Shape:
        if issubclass(kind, Enum):
            return _of_constants([member.value for member in kind], where)
        if issubclass(kind, AnyUrl | PurePath):
            return Shape(kind="string", rules=(kind.__name__,))
        is_typed_dict = hasattr(kind, "__required_keys__")
        if (
            issubclass(kind, BaseModel)
            or is_typed_dict
            or dataclasses.is_dataclass(kind)
        ):
            shape = self.model(kind)
            if shape.kind == "struct" and not shape.fields:
                raise SchemaError(f"{where}: {kind.__name__} has no fields")
            return shape
        if kind in (list, dict, set, frozenset, tuple):
            raise SchemaError(
                f"{where}: {kind.__name__} does not say what it holds; "
                f"write {kind.__name__}[…]"
            )
        raise SchemaError(f"{where}: {_said(kind)} says no type of a column")


def _of_constants(values: Iterable[Any], where: str) -> Shape:
    """Read the values of a `Literal` or an `Enum`."""
    listed: list[Any] = []
    for value in values:
        listed += value if isinstance(value, tuple | list) else [value]
    nullable = None in listed
    listed = [
        each.value if isinstance(each, Enum) else each
        for each in listed
        if each is not None
    ]
    kinds = {
        next((name for kind, name in _CONSTANTS if isinstance(each, kind)), None)
        for each in listed
    }
    if len(kinds) != 1 or None in kinds:
        raise SchemaError(
            f"{where}: allowed values are all texts, all integers or all booleans"
        )
    (kind,) = kinds
    assert kind is not None
    shape = Shape(kind=kind, values=tuple(dict.fromkeys(listed)), nullable=nullable)
    return normal(shape, where)


def _notes(rules: Iterable[Any]) -> list[Unit | Semantics]:
    return [rule for rule in single(rules) if isinstance(rule, Unit | Semantics)]


def _name_of(field_name: str, field: FieldInfo, where: str) -> str:
    """Return the one name that a field has in the data."""
    read = field.validation_alias or field.alias or field_name
    written = field.serialization_alias or field.alias or field_name
    if isinstance(read, AliasPath | AliasChoices) or read != written:
        raise SchemaError(f"{where}: a column has one name to read and to write")
    return read


def _default_of(field: FieldInfo, shape: Shape, where: str) -> Any:
    """Return the default of a field as JSON."""
    if field.default_factory_takes_validated_data:
        raise SchemaError(f"{where}: its default depends on other fields")
    default = field.get_default(call_default_factory=True)
    if default is None:
        if not shape.nullable:
            raise SchemaError(
                f"{where}: its default is None, which its annotation does not allow"
            )
        return None
    annotation: Any = Annotated[(field.annotation, *field.metadata, None)]
    adapter = TypeAdapter(annotation)
    try:
        value = adapter.dump_python(
            adapter.validate_python(default), mode="json", warnings="error"
        )
    except (ValidationError, PydanticSerializationError) as error:
        raise SchemaError(f"{where}: its default is no value of it: {error}") from error
    if isinstance(value, float) and not math.isfinite(value):
        raise SchemaError(f"{where}: its default {value} is no number of JSON")
    if field.get_default(call_default_factory=True) != default:
        raise SchemaError(f"{where}: its default is another one each time")
    return value


def _default_of_dataclass(field: dataclasses.Field[Any], name: str) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return FieldInfo(default_factory=field.default_factory)
    return ...


def _refuse_what_is_no_data(model: type[BaseModel]) -> None:
    """Refuse models whose rows hold more or other things than their fields."""
    name, decorators = model.__name__, model.__pydantic_decorators__
    parameters = [each for each in _parameters(model) if isinstance(each, TypeVar)]
    if parameters:
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
    for field_name, field in model.model_fields.items():
        if field.exclude:
            raise SchemaError(f"{name}.{field_name}: an excluded field is no data")


def _parameters(model: type[BaseModel]) -> Sequence[Any]:
    return model.__pydantic_generic_metadata__["parameters"]


def _validators(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of a model's own validators."""
    decorators = model.__pydantic_decorators__
    return (
        *decorators.validators,
        *decorators.field_validators,
        *decorators.root_validators,
        *decorators.model_validators,
    )


def _own_description(model: type) -> str | None:
    """Return a class's docstring, but for one that is inherited or made."""
    text = model.__dict__.get("__doc__")
    if not text or (
        dataclasses.is_dataclass(model) and text.startswith(model.__name__)
    ):
        return None
    return " ".join(text.split()) or None


def _said(annotation: Any) -> str:
    return getattr(annotation, "__name__", None) or str(annotation)


_EDITION = "evalkit.schema 1\n"


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
    text = _EDITION + canonical(shape_of_model(model))
    return sha256(text.encode()).hexdigest()
