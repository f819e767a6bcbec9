"""Imports the object that an entry point names; nothing heavy is imported for it.

A data set may be a file, which an installed reader (group `evalkit.readers`) reads.
Beside plugins, distributions add names to the module `evalkit` (group `evalkit.names`)
and say that they obey attributes of plugins (group `evalkit.attributes`).
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from evalkit.base import json_text as json_text  # before any plugin can replace it
from evalkit.base.failures import hook_failures, located
from evalkit.base.names import is_component_name, parse_reference
from evalkit.errors import (
    EvalkitError,
    PluginContractError,
    PluginError,
    PluginLoadError,
)
from evalkit.plugins.components import (
    AS_READ,
    ATTRIBUTES,
    DATASETS,
    NAMES,
    NO_VERSION,
    Catalog,
    Component,
    ReadPlugin,
    required_distribution,
    value_problem,
)
from evalkit.plugins.discovery import components_on, find_components, installed_version
from evalkit.plugins.local_plugins import object_in_file

_CORE = "evalkit-core"


def import_component(component: Component) -> object:
    """Import what a component's entry point names, and build nothing.

    Args:
        component: What to import.

    Returns:
        The class, instance or function.

    Raises:
        PluginLoadError: Importing it failed, or its metadata say that it would.
    """
    loaded = import_object(component)
    return loaded.plugin if isinstance(loaded, ReadPlugin) else loaded


def import_object(component: Component) -> object:
    """Import a component, as a `ReadPlugin` where a reader makes it of a file."""
    if component.is_local:
        return object_in_file(component.value)
    is_read = component.distribution == AS_READ
    problem = component.problem or ("" if is_read else value_problem(component.value))
    problem = problem or core_problem(component)
    if problem:
        raise PluginLoadError(f"{component.origin}: {problem}")
    may_be_read = is_read or "." in component.value.partition(":")[2]
    if may_be_read and (read := read_component(component)) is not None:
        return read
    entry_point = importlib.metadata.EntryPoint(
        component.name, component.value, f"evalkit.{component.kind}"
    )
    try:
        loaded: object = entry_point.load()
    except hook_failures() as error:
        raise load_error(component, f"importing {component.value}", error) from error
    return loaded


def core_problem(component: Component) -> str:
    """Say why a plugin's distribution is not for the core that is running.

    Args:
        component: The plugin.

    Returns:
        The reason, with both versions; "" where there is none.
    """
    texts = [
        text for text in component.requires if required_distribution(text) == _CORE
    ]
    if not texts:
        return ""
    from packaging.requirements import InvalidRequirement, Requirement

    running = installed_version(_CORE)
    for text in texts:
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            reason = str(error).partition("\n")[0]
            return f"its requirement {text!r} cannot be read: {reason}"
        marker = requirement.marker
        if marker is not None and not marker.evaluate({"extra": ""}):
            continue
        if not requirement.specifier.contains(running, prereleases=True):
            return (
                f"it requires {text!r}, but {_CORE} {running} is running; upgrade the "
                f"plugin or {_CORE}, whichever is older"
            )
    return ""


_REFERENCE = re.compile(r"([^:]+(?::.*?)??)(?::([\w-]+=.*|\{.*))?\Z", re.DOTALL)

_selected: dict[str, ReadPlugin] = {}
"""What was read to learn a name, and is loaded next."""


def select_read(text: str, catalog: Catalog) -> tuple[Component, Mapping[str, Any]]:
    """Read the data set that `FILE.SUFFIX[:KEY=VALUE,…]` or `SCHEME:TEXT[:…]` names.

    Its component and parameters are returned.
    """
    place, given = _REFERENCE.findall(text)[0]
    if given and Path(text.partition(":")[2]).exists():
        place, given = text, ""  # HELM names folders as `mmlu:subject=law`
    found = _read(place, catalog)
    component = Component(DATASETS, found.name, place, AS_READ, NO_VERSION)
    _selected[place] = found
    return component, parse_reference(f"_:{given}").parameters


def read_component(component: Component) -> ReadPlugin | None:
    """Read a component whose value is a file; None where it is an object of Python."""
    catalog = components_on((*sys.path,))
    if component.distribution == AS_READ:
        return _selected.pop(component.value, None) or _read(component.value, catalog)
    module, _, file = component.value.partition("[")[0].partition(":")
    if catalog.reader_of(file.strip()) is None:
        return None
    package, *inner = module.strip().split(".")
    spec = find_spec(package)  # which does not import it
    if spec is None or spec.origin is None:
        raise PluginLoadError(f"{component.origin}: there is no package {package!r}")
    path = Path(spec.origin).parent.joinpath(*inner, file.strip())
    if component.kind != DATASETS:  # its kind reads it
        return ReadPlugin(component.name, path, (path,))
    return _read(str(path), catalog)


def _read(text: str, catalog: Catalog) -> ReadPlugin:
    reader = catalog.reader_of(text)
    if reader is None:
        raise PluginLoadError(f"{text}: no installed distribution reads such data sets")
    read: Any = import_component(reader)
    try:
        found = read(text)
    except EvalkitError:
        raise
    except hook_failures() as error:
        raise load_error(reader, f"reading {text}", error) from error
    if not (isinstance(found, ReadPlugin) and is_component_name(found.name)):
        raise PluginContractError(
            f"{reader.origin}: must return a ReadPlugin with a legal name, got {found}"
        )
    return found


def load_error(
    component: Component, step: str, error: BaseException
) -> PluginLoadError:
    """Make the error of a component that could not be loaded."""
    hint = ""
    lacks = f"has no attribute '{component.value.rpartition(':')[2]}'"
    if isinstance(error, AttributeError) and lacks in str(error):
        from difflib import get_close_matches

        near = get_close_matches(str(error.name), dir(error.obj), n=1)
        hint = "; the entry point must name what the module defines"
        hint += f": did you mean {near[0]}?" if near else ""
    return PluginLoadError(
        f"{component.origin}: {step} failed with {located(error)}{hint}"
    )


def added_name(name: str) -> object:
    """Import what an installed distribution adds to `evalkit` under a name."""
    catalog = find_components()
    component = catalog.extension(NAMES, name)
    if component is None:
        owner = catalog.known_owner(f"{NAMES}/{name}")
        hint = f". Install {owner}" if owner else ""
        raise AttributeError(f"module 'evalkit' has no attribute {name!r}{hint}")
    return import_component(component)


def find_owner(kind: str, attribute: str) -> Callable[..., Any] | None:
    """Load the function that the entry point `KIND.ATTRIBUTE` names; None for none."""
    component = find_components().extension(ATTRIBUTES, f"{kind}.{attribute}")
    if component is None:
        return None
    return cast("Callable[..., Any]", import_component(component))


def require_owner(component: Component, attribute: str) -> Callable[..., Any]:
    """Load the function that obeys an attribute which a plugin sets."""
    owner = find_owner(component.kind, attribute)
    if owner is None:
        raise PluginContractError(
            f"{component.origin}: no installed distribution obeys its attribute "
            f"{attribute!r}. Install {name_owner(component.kind, attribute)}"
        )
    return owner


def name_owner(kind: str, attribute: str) -> str:
    """Name the distribution to install for an attribute that nobody obeys."""
    name = f"{kind}.{attribute}"
    known = find_components().known_owner(f"{ATTRIBUTES}/{name}")
    return known or f"one that declares {name} in evalkit.{ATTRIBUTES}"


def html_of(name: str, value: Any, plain: str) -> str:
    """Return the HTML of a value, as an installed distribution makes it."""
    try:
        show: Any = added_name(name)
    except AttributeError:
        return plain
    except PluginError as error:
        why = str(error)
    else:
        try:
            html = show(value)
        except Exception as error:
            why = f"evalkit.{name}: {located(error)}"
        else:
            if isinstance(html, str):
                return html
            why = f"evalkit.{name}: returned {type(html).__name__}, not HTML"
    return f"<p>The display failed, so this is a plain table: {escape(why)}</p>{plain}"


def html_table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]
) -> str:
    """Return a plain table as HTML, with every text escaped."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    lines = [
        "".join(f"<td>{'' if cell is None else escape(str(cell))}</td>" for cell in row)
        for row in rows
    ]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
