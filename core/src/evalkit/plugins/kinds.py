"""Kinds of plugins: what plugins of a kind implement, and who defines the kind.

A distribution defines a kind by an entry point of the group `evalkit.kinds`, whose name
is the kind and whose value is a `Kind`. Plugins of the kind are entry points of the
group `evalkit.KIND`. Core defines its own kinds with the same class.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from evalkit.errors import PluginContractError, PluginError, UnknownPluginError
from evalkit.plugins.components import KINDS, Catalog, Component
from evalkit.plugins.discovery import find_components
from evalkit.plugins.importing import import_component


class NoAttributes:
    """Attributes, or their defaults, of kinds that have none."""


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of plugin.

    A kind with hooks names their `spec`, and evalkit binds its plugins. A kind without
    hooks has a function `load` that imports one plugin and checks it.
    """

    name: str
    """Name of the kind and of its folder, in the plural, such as `metrics`."""
    spec: type
    """Class whose public methods are the hooks, with documentation."""
    attributes: type = NoAttributes
    """Class whose annotations are the attributes, each with a text below it."""
    base: type = NoAttributes
    """Class whose attributes are the defaults."""
    word: str = ""
    """Word for one plugin. Default: the name without its last letter."""
    ways: tuple[tuple[str, ...], ...] = ()
    """Sets of hooks. A plugin implements at least one set."""
    has_one_way: bool = False
    """Whether a plugin implements exactly one of the sets."""
    declarable: tuple[str, ...] = ()
    """Hooks that a plugin may declare as a mapping instead."""
    awaited: tuple[str, ...] = ()
    """Hooks that may be coroutine functions."""
    bound: type[Any] | None = None
    """Subclass of `Bound` that wraps a loaded plugin. Default: `Bound`."""
    check: Callable[[Mapping[str, Any], Sequence[str]], Sequence[str]] | None = None
    """Function of the attributes and the implemented hooks that returns a sentence for
    each contradiction between them."""
    load: Callable[[Component], Any] | None = None
    """Function that imports a plugin of a kind without hooks and returns the object. It
    raises a `PluginError` where the object is not of this kind."""

    def __post_init__(self) -> None:
        """Fill in the word."""
        if not self.word:
            object.__setattr__(self, "word", self.name[:-1])

    @property
    def group(self) -> str:
        """Entry-point group of the plugins."""
        return f"evalkit.{self.name}"

    @property
    def hooks(self) -> tuple[str, ...]:
        """Names of the hooks."""
        return tuple(name for name in vars(self.spec) if not name.startswith("_"))

    def implemented(self, plugin: object) -> tuple[str, ...]:
        """Return the hooks that a plugin, or its class, implements as methods."""
        return tuple(name for name in self.hooks if is_method(plugin, name))


def is_method(plugin: object, name: str) -> bool:
    """Tell whether an object has a method or function of a name."""
    return inspect.isroutine(inspect.getattr_static(plugin, name, None))


_loaded: dict[str, tuple[Component, Kind]] = {}


def kind_named(name: str, catalog: Catalog | None = None) -> Kind:
    """Return a kind, imported when it is first asked for.

    Args:
        name: Name of the kind.
        catalog: What is installed. Default: what this process found before.

    Returns:
        The kind.

    Raises:
        UnknownPluginError: No installed distribution defines it, or several do.
        PluginLoadError: Importing it failed.
        PluginContractError: The entry point is not a `Kind` of this name.
    """
    if catalog is None and name in _loaded:
        return _loaded[name][1]
    catalog = find_components() if catalog is None else catalog
    component = catalog.extension(KINDS, name)
    if component is None:
        raise UnknownPluginError(_unknown_message(name, catalog))
    earlier = _loaded.get(name)
    if earlier is None or earlier[0] != component:
        _loaded[name] = component, _imported(component)
    return _loaded[name][1]


def _imported(component: Component) -> Kind:
    found = import_component(component)
    if not isinstance(found, Kind):
        raise PluginContractError(
            f"{component.origin}: {component.value} must be an evalkit.Kind, got an "
            f"object of the type {type(found).__name__}"
        )
    if found.name != component.name:
        raise PluginContractError(
            f"{component.origin}: {component.value} is the kind {found.name!r}. Use "
            "the same name in the entry point"
        )
    return found


def _unknown_message(name: str, catalog: Catalog) -> str:
    names = ", ".join(kind.name for kind in catalog.kinds)
    owner = catalog.known_owner(f"kinds/{name}")
    hint = f". Install {owner}" if owner else ""
    return f"unknown kind of plugins {name!r}. Installed kinds: {names}{hint}"


def all_kinds() -> Iterator[Kind]:
    """Import all installed kinds, one after the other; leave out broken ones."""
    catalog = find_components()
    for component in catalog.kinds:
        with suppress(PluginError):
            yield kind_named(component.name, catalog)
