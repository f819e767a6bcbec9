"""`evalkit show`."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit_cli.completion import complete_ids
from evalkit_cli.streams import echo_json, plugin_output_to_stderr

if TYPE_CHECKING:
    from evalkit.registry import Bound


@click.command("show")
@click.argument("component", metavar="KIND/NAME", shell_complete=complete_ids)
@click.option(
    "--json", "as_json", is_flag=True, envvar="EVALKIT_JSON", help="Print JSON."
)
def show_command(component: str, as_json: bool) -> None:
    """Describe one plugin: where it is from, its attributes and parameters.

    For example: evalkit show metrics/macro-f1
    """
    from evalkit.discovery import KINDS, OBSERVERS
    from evalkit.registry import Registry

    registry = Registry()
    kind, slash, name = component.partition("/")
    if not slash or kind not in (*KINDS, OBSERVERS):
        kinds = ", ".join((*KINDS, OBSERVERS))
        ids = [found.id for found in registry.catalog.components]
        same_name = [found for found in ids if found.endswith(f"/{component}")]
        near = same_name or difflib.get_close_matches(component, ids, n=1)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise click.UsageError(
            f"{component!r} is not of the form KIND/NAME, where KIND is one of "
            f"{kinds}.{hint}"
        )
    with plugin_output_to_stderr():
        described = describe(registry.load(kind, name))
    if as_json:
        echo_json(described)
    else:
        _print(described)


def describe(bound: Bound) -> dict[str, Any]:
    """Describe a plugin as JSON values.

    Args:
        bound: The plugin.

    Returns:
        Id, distribution, version, documentation, parameters and attributes.
    """
    from evalkit.metrics import FunctionMetric

    component, plugin = bound.component, bound.plugin
    written = plugin.function if isinstance(plugin, FunctionMetric) else type(plugin)
    parameters = {}
    if bound.parameters is not None:
        parameters = type(bound.parameters).model_json_schema().get("properties", {})
    return {
        "id": component.id,
        "distribution": component.distribution,
        "version": component.version,
        "object": component.value,
        "documentation": inspect.cleandoc(written.__doc__ or ""),
        "parameters": parameters,
        "attributes": {name: _plain(value) for name, value in bound.attributes.items()},
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


def _print(described: Mapping[str, Any]) -> None:
    click.echo(
        f"{described['id']}  ({described['distribution']} {described['version']}, "
        f"{described['object']})"
    )
    if described["documentation"]:
        click.echo(f"\n{described['documentation']}")
    for title in ("parameters", "attributes"):
        rows = {
            name: _one_line(name, value)
            for name, value in described[title].items()
            if value not in (None, [], {}, "")
        }
        if rows:
            width = max(map(len, rows))
            click.echo(f"\n{title}")
            for name, text in rows.items():
                click.echo(f"  {name.ljust(width)}  {text}")


def _one_line(name: str, value: Any) -> str:
    if name in ("Input", "Output"):
        required = value.get("required", ())
        return ", ".join(
            field if field in required else f"[{field}]"
            for field in value.get("properties", {})
        )
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)
