"""Several schemas as one, with the fields of all in the order of the schemas."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias
from uuid import NAMESPACE_OID, UUID, uuid5

from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo

from evalkit.errors import SchemaError
from evalkit_schemas_standard.models import Item, ResponseItem, with_responses
from evalkit_schemas_standard.named import named_schema

Part: TypeAlias = str | type[BaseModel]
"""A schema as a user gives it: its name, or a model."""

_FINGERPRINT = re.compile("[0-9a-f]{16}")
_MAY_DIFFER = {"extra", "title", "json_schema_extra"}
"""Settings of models that a product may be made of all the same."""
_DEFAULTS = {"strict": False}
"""What a setting is that a model does not have; None for all others."""


def product(components: Sequence[Part], name: str = "Product") -> type[BaseModel]:
    """Return one schema with the fields of several.

    Validators of the parts run in the product too. A field that several parts declare
    alike is one field. The product refuses undeclared fields where a part does.

    Args:
        components: The schemas, by name or as models; the fields stand in their order.
        name: Name of the new model.

    Returns:
        A model that inherits from all parts.

    Raises:
        SchemaError: There is no component, one is given twice, two declare a field
            differently or each have a validator or method of one name, or their
            settings contradict each other.
        PluginError: A name stands for no schema.
    """
    if isinstance(components, str) or not components:
        raise SchemaError("a product needs a list of at least one schema")
    parts = [(_label(each), model_of(each)) for each in components]
    models = [model for _, model in parts]
    for place, (label, model) in enumerate(parts):
        if model in models[:place]:
            raise SchemaError(f"the schema {label} is given twice")
    _refuse_contradictions(parts)
    _refuse_hidden_methods(parts)
    settings = ConfigDict(title=name)
    if any(model.model_config.get("extra") == "forbid" for model in models):
        settings["extra"] = "forbid"
    body: dict[str, Any] = {
        "model_config": settings,
        "__module__": __name__,
        "__doc__": None,
    }
    if any("version" in model.__class_vars__ for model in models):
        body["version"] = None  # a part's is not the product's
    # pydantic collects the fields of the last base first
    bases = tuple(reversed(list(_without_inherited(models))))
    try:
        return types.new_class(name, bases, {}, lambda space: space.update(body))
    except TypeError as error:
        labels = " and ".join(label for label, _ in parts)
        reason = " ".join(str(error).split())
        raise SchemaError(f"{labels} make no product: {reason}") from error


def model_of(part: Part) -> type[BaseModel]:
    """Return the model that a part of a product stands for."""
    if isinstance(part, str):
        return named_schema(part)
    if isinstance(part, type) and issubclass(part, BaseModel):
        return part
    raise SchemaError(f"{part!r} is neither the name of a schema nor a pydantic model")


def _label(part: Part) -> str:
    return part if isinstance(part, str) else getattr(part, "__name__", repr(part))


def _without_inherited(models: Sequence[type[BaseModel]]) -> Iterator[type[BaseModel]]:
    """Leave out models that others inherit from, which add nothing."""
    for model in models:
        if not any(other is not model and issubclass(other, model) for other in models):
            yield model


def _refuse_contradictions(parts: Sequence[tuple[str, type[BaseModel]]]) -> None:
    """Refuse parts that say different things of one field, or of a setting."""
    fields: dict[tuple[str, str], tuple[str, FieldInfo]] = {}
    first, first_model = parts[0]
    for label, model in parts:
        for attribute, field in model.model_fields.items():
            alias = field.validation_alias
            column = alias if isinstance(alias, str) else attribute
            for key in (("field", column), ("attribute", attribute)):
                other, known = fields.setdefault(key, (label, field))
                if _definition(known) != _definition(field):
                    raise SchemaError(
                        f"the {key[0]} {key[1]!r} is {_shown(known)} in {other} and "
                        f"{_shown(field)} in {label}; rename one of them"
                    )
        settings, expected = model.model_config, first_model.model_config
        for name in sorted({*settings, *expected} - _MAY_DIFFER):
            default = _DEFAULTS.get(name)
            own, others = settings.get(name, default), expected.get(name, default)
            if own != others:
                raise SchemaError(
                    f"the setting {name!r} of {first} is {others!r} and that of "
                    f"{label} is {own!r}; a product has one"
                )


def _refuse_hidden_methods(parts: Sequence[tuple[str, type[BaseModel]]]) -> None:
    """Refuse validators and methods of one name, of which only one part's would run."""
    bases = {*_without_inherited([model for _, model in parts])}
    known: dict[str, tuple[str, Any]] = {}
    for label, model in parts:
        if model not in bases:
            continue
        for name, value in _own_attributes(model):
            other, found = known.setdefault(name, (label, value))
            if found is not value:
                raise SchemaError(
                    f"{other} and {label} each have a {name!r} of their own, and a "
                    "product runs one; rename one of them"
                )


def _own_attributes(model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    """Yield what a model and those that it inherits from define beside fields."""
    own = model.__mro__[: model.__mro__.index(BaseModel)]
    for name in {name for each in own for name in vars(each)}:
        known = ("_abc_impl", "model_config", "version")
        is_known = name in known or name in model.model_fields
        if not (name.startswith("__") or is_known):
            yield name, inspect.getattr_static(model, name)


def _definition(field: FieldInfo) -> Any:
    return (
        *(field.validation_alias, field.serialization_alias),
        *(field.annotation, field.metadata, field.description),
        *(field.default, field.default_factory),
    )


def _shown(field: FieldInfo) -> str:
    name = getattr(field.annotation, "__name__", None)
    kind = name if name and "[" not in repr(field.annotation) else field.annotation
    described = f" ({field.description})" if field.description else ""
    return f"{kind}{described}"


def input_model(model: type[BaseModel]) -> type[BaseModel]:
    """Return the schema of a data set's rows: an index, and the fields of a model.

    Args:
        model: What a row holds.

    Returns:
        A model with the field `_index_` in front.

    Raises:
        SchemaError: The model has a field of that name that means something else.
    """
    return product([Item, model], f"{model.__name__}Item")


def output_model(model: type[BaseModel]) -> type[BaseModel]:
    """Return the schema of what a model under test answered.

    Args:
        model: What one response holds.

    Returns:
        A model with `_index_`, `_replication_` and `responses`, each of which has a
        `_response_index_` in front. Several responses may share one, as the spans of
        one answer do; the order of the responses is that of preference.

    Raises:
        SchemaError: The model has a field of that name that means something else.
    """
    item = product([ResponseItem, model], f"{model.__name__}ResponseItem")
    return with_responses(item)


def replication_id(evaluation: str | UUID, number: int) -> str:
    """Return the id of one of several passes over a data set.

    It is the UUID of version 5 (RFC 9562) of the decimal number in the namespace of the
    evaluation, as Dyff's ids are.

    Args:
        evaluation: Id of the evaluation: a UUID, or the fingerprint of a run.
        number: Number of the pass, from 0.

    Returns:
        32 hexadecimal digits.

    Raises:
        SchemaError: The id is no UUID, or the number no integer that is at least 0.
    """
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise SchemaError(f"a replication has a number from 0, not {number!r}")
    try:
        if isinstance(evaluation, str) and _FINGERPRINT.fullmatch(evaluation):
            evaluation = uuid5(NAMESPACE_OID, evaluation)
        namespace = evaluation if isinstance(evaluation, UUID) else UUID(hex=evaluation)
    except (ValueError, AttributeError, TypeError) as error:
        raise SchemaError(
            "the id of an evaluation must be a UUID or the fingerprint of a run, found "
            f"{evaluation!r}"
        ) from error
    return uuid5(namespace, str(number)).hex
