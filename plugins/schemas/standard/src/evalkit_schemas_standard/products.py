"""Several schemas as one, with the fields of all in the order of the schemas."""

from __future__ import annotations

import importlib.util
import inspect
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo

from evalkit.catalog import BoundTask, Registry, Resolver, described, hook_failures
from evalkit.errors import SchemaError
from evalkit_schemas_standard.named import named_schema

Part: TypeAlias = str | type[BaseModel]
"""A schema as a user gives it: its name, or a model."""

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
    body = {"model_config": settings, "__module__": __name__, "__doc__": None}
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
        is_known = name in ("_abc_impl", "model_config") or name in model.model_fields
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


_OF_TASKS = "tasks/"


def find_schema(references: Sequence[str]) -> type[BaseModel]:
    """Return the model that a user names."""
    models = [_find(reference) for reference in references]
    return models[0] if len(models) == 1 else product(models)


def _find(reference: str) -> type[BaseModel]:
    place, colon, name = reference.rpartition(":")
    if colon and place.startswith(_OF_TASKS):
        return _of_task(place.removeprefix(_OF_TASKS), name)
    if colon and place.endswith(".py"):
        return _of_file(Path(place), name)
    return named_schema(reference)


def _of_task(task: str, name: str) -> type[BaseModel]:
    if name not in ("Input", "Output"):
        raise SchemaError(f"a task has the schemas Input and Output, not {name!r}")
    bound = BoundTask.of(Resolver(Registry()).bind("tasks", task))
    model: type[BaseModel] = getattr(bound, name)
    return model


def _of_file(path: Path, name: str) -> type[BaseModel]:
    if not path.is_file():
        raise SchemaError(f"{path}: there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except hook_failures() as error:
        raise SchemaError(
            f"{path}: importing it failed with {described(error)}"
        ) from error
    found: Any = getattr(module, name, None)
    if isinstance(found, type) and issubclass(found, BaseModel):
        return found
    models = [
        each
        for each, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, BaseModel)
        and value.__module__ == module.__name__
    ]
    raise SchemaError(
        f"{path}: {name} is no pydantic model there; models are: {', '.join(models)}"
    )
