"""Reads data sets from files by the readers that are installed (`evalkit.readers`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evalkit.base.failures import hook_failures
from evalkit.base.names import is_component_name, parse_reference
from evalkit.errors import EvalkitError, PluginContractError, PluginLoadError
from evalkit.plugins.components import (
    AS_READ,
    DATASETS,
    NO_VERSION,
    Catalog,
    Component,
    ReadPlugin,
)
from evalkit.plugins.discovery import find_components
from evalkit.plugins.importing import import_component, load_error

_REFERENCE = re.compile(r"([^:]+(?::.*?)??)(?::([\w-]+=.*|\{.*))?", re.DOTALL)

_selected: dict[str, ReadPlugin] = {}
"""What was read to learn a name, and is loaded next."""


def select_read(text: str, catalog: Catalog) -> tuple[Component, Mapping[str, Any]]:
    """Read the data set that a reference names.

    Args:
        text: `FILE.SUFFIX[:KEY=VALUE,…]` or `SCHEME:TEXT[:KEY=VALUE,…]`.
        catalog: What is installed.

    Returns:
        Its component and parameters.

    Raises:
        EvalkitError: It cannot be read.
    """
    match = _REFERENCE.fullmatch(text)
    place, given = match.groups() if match else (text, None)
    found = _read(place, catalog)
    component = Component(DATASETS, found.name, place, AS_READ, NO_VERSION)
    _selected[place] = found
    return component, parse_reference(f"_:{given or ''}").parameters


def read_component(component: Component) -> ReadPlugin | None:
    """Read a component whose value is a file; None where it is an object of Python."""
    catalog = find_components()
    if component.distribution == AS_READ:
        return _selected.pop(component.value, None) or _read(component.value, catalog)
    module, _, file = component.value.partition("[")[0].partition(":")
    if catalog.reader_of(file.strip()) is None:
        return None
    try:
        spec = find_spec(module.strip())  # which does not import it
    except ImportError:
        spec = None
    if spec is None or (spec.origin is None and not spec.submodule_search_locations):
        raise PluginLoadError(f"{component.origin}: there is no module {module!r}")
    folders = spec.submodule_search_locations or [str(Path(str(spec.origin)).parent)]
    return _read(str(Path(next(iter(folders))) / file.strip()), catalog)


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
