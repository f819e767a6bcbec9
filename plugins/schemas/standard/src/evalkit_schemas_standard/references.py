"""Schemas as a user names them on the command line."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from evalkit.catalog import BoundTask, Registry, Resolver, described, hook_failures
from evalkit.errors import SchemaError
from evalkit_schemas_standard.named import named_schema
from evalkit_schemas_standard.products import product

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
