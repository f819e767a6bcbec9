"""Describes a plugin: where it is from, what it does, and what it takes."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.printing.card_examples import example_of
from evalkit_cli.printing.descriptions import describe_component
from evalkit_cli.printing.parameter_lines import describe_parameters

if TYPE_CHECKING:
    from evalkit import Component
    from evalkit.catalog import Bound

_EXAMPLE = re.compile(r"^Examples?:\n((?: .*\n?|\n)+)", re.MULTILINE)


def describe(kind: str, name: str) -> dict[str, Any]:
    """Describe an installed plugin as JSON values."""
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
    if registry.kind(kind).load is not None:
        return _describe_without_hooks(registry.load(kind, name), name)
    try:
        bound = registry.load(kind, name)
    except RequiredParameterError:
        component = registry.select(kind, name).component
        written: Any = import_component(component)
        model = getattr(written, "Parameters", None)
        attributes = read_attributes(kind, written)[0]
        return _described(component, written, model, attributes, name, None)
    plugin = bound.plugin
    written = plugin.function if isinstance(plugin, FunctionMetric) else type(plugin)
    model = None if bound.parameters is None else type(bound.parameters)
    attributes = dict(bound.attributes)
    if not isinstance(attributes.get("task", ""), str):
        task = Resolver(registry).task(BoundDataset.of(bound))
        attributes["task"] = task.component.name
    return _described(bound.component, written, model, attributes, name, bound)


def _describe_without_hooks(bound: Bound, name: str) -> dict[str, Any]:
    from pydantic import BaseModel

    written: Any = bound.plugin
    model, attributes = None, {}
    if inspect.isclass(written) and issubclass(written, BaseModel):
        model, attributes = written, {"JSON Schema": written.model_json_schema()}
    elif isinstance(written, BaseModel):
        attributes = written.model_dump(exclude_unset=True)
    return _described(bound.component, written, model, attributes, name, None)


def _described(
    component: Component,
    written: Any,
    model: Any,
    attributes: Mapping[str, Any],
    name: str,
    bound: Bound | None,
) -> dict[str, Any]:
    parameters = {} if model is None else describe_parameters(model)
    documentation, code = _split_example(inspect.cleandoc(written.__doc__ or ""))
    if code:
        example: Any = {"code": code}
    else:
        example = _plain(example_of(bound, component.kind, name, parameters))
    return {
        "id": component.id,
        "description": describe_component(component),
        "documentation": documentation,
        "example": example,
        "parameters": parameters,
        "attributes": {key: _plain(value) for key, value in attributes.items()},
        "distribution": component.distribution,
        "version": component.version,
        "object": component.value,
    }


def _split_example(documentation: str) -> tuple[str, str]:
    """Take the section `Example:` out of a docstring."""
    found = _EXAMPLE.search(documentation)
    if found is None:
        return documentation, ""
    rest = documentation[: found.start()] + documentation[found.end() :]
    return rest.strip(), textwrap.dedent(found[1]).strip()


def describe_command(name: str, context: click.Context) -> dict[str, Any]:
    """Describe a command as JSON values; its documentation is its help."""
    from evalkit import find_components

    root = context.find_root()
    group = root.command
    assert isinstance(group, click.Group)
    _, command, _ = group.resolve_command(root, [name])
    assert command is not None  # else it has failed
    own = click.Context(command, info_name=name, parent=root)
    found = [
        each
        for each in find_components().components
        if each.kind == "commands" and each.name == name
    ]
    origin = found[0] if found and name not in group.commands else None
    return {
        "id": f"commands/{name}",
        "description": command.get_short_help_str(limit=200),
        "documentation": own.get_help(),
        "example": {},
        "parameters": {},
        "attributes": {},
        "distribution": origin.distribution if origin else "evalkit-cli",
        "version": origin.version if origin else version("evalkit-cli"),
        "object": origin.value if origin else type(command).__module__,
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
