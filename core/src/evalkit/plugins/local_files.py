"""Plugins in a file of Python that no package holds: `FILE.py:OBJECT`."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from types import ModuleType

from evalkit.base.failures import hook_failures, located
from evalkit.errors import PluginContractError, PluginLoadError
from evalkit.plugins.components import (
    AS_PYTHON,
    NO_VERSION,
    Catalog,
    Component,
    is_same_object,
)
from evalkit.plugins.object_names import name_of

RAN = "__evalkit_ran__"
"""Name in a module of a file that no package holds: the bytes that ran."""


def component_of_file(kind: str, name: str, catalog: Catalog) -> Component:
    """Return the component that an object in a file stands for.

    The file is run, which the user named.

    Args:
        kind: Its kind.
        name: `FILE.py:OBJECT`.
        catalog: What is installed, whose names it must not have; the same
            object in the same file is no other.

    Raises:
        PluginLoadError: The file cannot be run, or has no such object.
        PluginContractError: The object's name is no legal one, or is that of an
            installed plugin.
    """
    own = name_of(object_in_file(name))
    component = Component(kind, own, name, AS_PYTHON, NO_VERSION)
    for each in catalog.of_kind(kind):
        if each.name != own or is_same_object(each, name):
            continue
        other = each.origin + (f", in {each.value}" if each.is_local else "")
        raise PluginContractError(
            f"{component.origin}, in {name}, would be called like {other}: give it "
            "another name"
        )
    return component


def object_in_file(name: str) -> object:
    """Run a file, and return an object of it.

    A file is run once, unless it has changed.

    Args:
        name: `FILE.py:OBJECT`.

    Raises:
        PluginLoadError: The file cannot be run, or has no such object.
    """
    file, _, attribute = name.rpartition(":")
    module = run_file(Path(file))
    found: object = getattr(module, attribute, None)
    if found is None:
        public = ", ".join(
            each
            for each, value in vars(module).items()
            if not each.startswith("_")
            and getattr(value, "__module__", None) == module.__name__
        )
        raise PluginLoadError(
            f"{file}: there is no {attribute!r} in it; it has {public or 'nothing'}"
        )
    return found


def run_file(path: Path) -> ModuleType:
    """Run a file of Python, once unless it has changed, and return its module.

    Args:
        path: The file.

    Raises:
        PluginLoadError: It cannot be run.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PluginLoadError(
            f"{path}: cannot be read: {error.strerror or error}"
        ) from None
    digest = hashlib.sha256(str(path.resolve()).encode() + content).hexdigest()[:12]
    name = f"evalkit_file_{digest}"
    known = sys.modules.get(name)
    if known is not None:
        return known
    module = ModuleType(name)
    module.__file__ = str(path.resolve())
    vars(module)[RAN] = content  # another text may stand there by the end of a run
    sys.modules[name] = module  # where dataclasses and pickle look it up
    try:
        # these bytes, and no byte code that may be of others
        exec(compile(content, module.__file__, "exec"), vars(module))
    except hook_failures() as error:
        del sys.modules[name]
        raise PluginLoadError(f"{path}: running it failed with {located(error)}") from (
            error
        )
    return module
