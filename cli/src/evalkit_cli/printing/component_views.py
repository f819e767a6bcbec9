"""Describes a plugin: where it is from, what it does, and what it takes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit_cli.printing.parameter_lines import describe_parameters, parameter_lines
from evalkit_cli.printing.streams import echo, echo_lines

if TYPE_CHECKING:
    from evalkit import Component


def describe(kind: str, name: str) -> dict[str, Any]:
    """Describe an installed plugin as JSON values.

    Args:
        kind: Its kind, such as `metrics`.
        name: Its name, with `@DISTRIBUTION` where that is needed.

    Returns:
        Id, distribution, version, documentation, parameters and attributes. Of one
        that cannot be built without a parameter, the attributes are those of its class.

    Raises:
        PluginError: It is unknown or broken.
    """
    from evalkit import Registry
    from evalkit.catalog import (
        BoundDataset,
        FunctionMetric,
        Resolver,
        import_component,
        read_attributes,
    )
    from evalkit.errors import RequiredParameterError

    registry = Registry()
    try:
        bound = registry.load(kind, name)
    except RequiredParameterError:
        component = registry.select(kind, name).component
        written: Any = import_component(component)
        model = getattr(written, "Parameters", None)
        return _described(component, written, model, read_attributes(kind, written)[0])
    plugin = bound.plugin
    written = plugin.function if isinstance(plugin, FunctionMetric) else type(plugin)
    model = None if bound.parameters is None else type(bound.parameters)
    attributes = dict(bound.attributes)
    if not isinstance(attributes.get("task", ""), str):
        task = Resolver(registry).task(BoundDataset.of(bound))
        attributes["task"] = task.component.name
    return _described(bound.component, written, model, attributes)


def _described(
    component: Component, written: Any, model: Any, attributes: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "id": component.id,
        "distribution": component.distribution,
        "version": component.version,
        "object": component.value,
        "documentation": inspect.cleandoc(written.__doc__ or ""),
        "parameters": {} if model is None else describe_parameters(model),
        "attributes": {name: _plain(value) for name, value in attributes.items()},
    }


def _plain(value: Any) -> Any:
    from pydantic import BaseModel

    if inspect.isclass(value) and issubclass(value, BaseModel):
        return value.model_json_schema()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: _plain(item) for key, item in value._asdict().items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value


def print_description(described: Mapping[str, Any]) -> None:
    """Print a description for a person.

    Args:
        described: From `describe`.
    """
    echo(
        f"{described['id']}  ({described['distribution']} {described['version']}, "
        f"{described['object']})"
    )
    if described["documentation"]:
        echo()
        echo_lines(described["documentation"])
    if described["parameters"]:
        echo()
        echo("parameters")
        for line in parameter_lines(described["parameters"]):
            echo(line)
    rows = {
        name: _one_line(name, value)
        for name, value in described["attributes"].items()
        if value not in (None, [], {}, "")
    }
    if rows:
        width = max(map(len, rows))
        echo()
        echo("attributes")
        for name, text in rows.items():
            echo(f"  {name.ljust(width)}  {text}")


def _one_line(name: str, value: Any) -> str:
    if name in ("Input", "Output"):
        required = value.get("required", ())
        return ", ".join(
            field if field in required else f"[{field}]"
            for field in value.get("properties", {})
        )
    if name == "label_effect" and isinstance(value, Mapping):
        rest = "all others" if len(value) > 1 else "all"
        return ", ".join(
            f"{effect} for {rest if task == '*' else task}"
            for task, effect in value.items()
        )
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)
