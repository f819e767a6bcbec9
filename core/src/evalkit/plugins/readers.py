"""Reads data sets from files by the readers that are installed (`evalkit.readers`)."""

from __future__ import annotations

import re
import sys
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
from evalkit.plugins.discovery import components_on
from evalkit.plugins.importing import import_component, load_error

_REFERENCE = re.compile(r"([^:]+(?::.*?)??)(?::([\w-]+=.*|\{.*))?\Z", re.DOTALL)

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
    return _read(str(Path(spec.origin).parent.joinpath(*inner, file.strip())), catalog)


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
