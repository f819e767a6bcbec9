"""Builds the typed parameters of a component."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, ValidationError

from evalkit.base.violations import REQUIRED, from_pydantic
from evalkit.errors import PluginContractError, RequiredParameterError
from evalkit.plugins.components import Component


def read_parameters(
    component: Component, model: Any, values: Mapping[str, Any]
) -> BaseModel:
    """Build a component's parameters from what a user gave."""
    if issubclass(model, RootModel) and not values:
        raise RequiredParameterError(f"{component.origin}: it needs a configuration")
    given = as_meant(model, values)
    try:
        parameters: BaseModel = model(**given)
    except ValidationError as error:
        found = from_pydantic(error)
        is_missing = all(violation.rule == REQUIRED for violation in found)
        kind = RequiredParameterError if is_missing else PluginContractError
        problems = "; ".join(
            f"{violation.field} "
            + (
                f"is unknown (it takes: {', '.join(model.model_fields) or 'none'})"
                f"{_meant(violation.field, model.model_fields)}"
                if "are forbidden" in violation.rule
                else violation.rule
                if violation.rule == REQUIRED
                or model.model_config.get("hide_input_in_errors")
                else f"{violation.rule}, got {violation.value!r}"
            )
            for violation in found
        )
        raise kind(f"{component.origin}: parameter {problems}") from error
    try:
        json.dumps(parameters.model_dump(mode="json"), allow_nan=False)
    except ValueError as error:
        raise PluginContractError(
            f"{component.origin}: its parameters must be finite: {parameters!r}"
        ) from error
    return parameters


def _meant(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def takes_path(model: Any, name: str) -> bool:
    """Tell whether a parameter is the path of a file or folder."""
    fields = getattr(model, "model_fields", {})
    return name in fields and _holds_path(fields[name].annotation)


def _holds_path(kind: Any) -> bool:
    if inspect.isclass(kind) and issubclass(kind, PurePath):
        return True
    return any(map(_holds_path, get_args(kind)))


def as_meant(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a user gave, with paths that were split at `/`, and lists of one."""
    return {name: _as_meant(model, name, value) for name, value in values.items()}


def _as_meant(model: type[BaseModel], name: str, value: Any) -> Any:
    """Make a text of a path that was split at `/`, and a list of a text for a list."""
    field = model.model_fields.get(name)
    is_split = isinstance(value, list) and len(value) != 1
    if field is None or not (is_split or isinstance(value, str)):
        return value
    is_union = get_origin(field.annotation) in (Union, UnionType)
    kinds = get_args(field.annotation) if is_union else (field.annotation,)
    is_text = any(kind in (str, Path) for kind in kinds)
    if isinstance(value, str):
        is_list = all((get_origin(kind) or kind) in _LISTS for kind in kinds)
        return [value] if is_list else value
    if not is_text or any(get_origin(kind) or kind is list for kind in kinds):
        return value
    return "/".join(value) if all(isinstance(item, str) for item in value) else value


_LISTS = (list, tuple, set, frozenset, Sequence, NoneType)
