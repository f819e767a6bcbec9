"""Finds the store of a URI by its scheme: a plugin of the group `evalkit.storage`."""

from __future__ import annotations

from functools import cache
from typing import cast

from evalkit.base.failures import hook_failures
from evalkit.errors import PluginContractError, StorageError, UnknownPluginError
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import find_components
from evalkit.plugins.importing import import_component, load_error
from evalkit.plugins.resolution import find_component
from evalkit.storage.guarding import METHODS, GuardedStore
from evalkit.storage.places import parse_place
from evalkit.storage.stores import Store

STORAGE = "storage"
"""Kind of the stores."""


def store_of(uri: str) -> Store:
    """Return the store that keeps what a URI names.

    Args:
        uri: A URI.

    Returns:
        The store, the same one whenever it is asked for in a process.

    Raises:
        DataError: It is no URI.
        PluginError: The plugin is broken.
        StorageError: No plugin is for this scheme; the message says what to install.
    """
    place = parse_place(uri)
    try:
        return _store(place.scheme)
    except StorageError as error:
        raise StorageError(f"{place.uri}: {error}") from error


def forget_stores() -> None:
    """Build stores anew, as where a notebook changed their configuration."""
    _store.cache_clear()


@cache
def _store(scheme: str) -> Store:
    """Build the store of a scheme; clients of a server are slow to make."""
    return load_store(_component(scheme))


def load_store(component: Component) -> Store:
    """Import a store, build it, and check that it has what a store has."""
    made = import_component(component)
    if isinstance(made, type):
        try:
            made = made()
        except hook_failures() as error:
            raise load_error(component, "constructing it", error) from error
    lacking = [name for name in METHODS if not callable(getattr(made, name, None))]
    if lacking:
        raise PluginContractError(
            f"{component.origin}: lacks {', '.join(lacking)}; where it only reads, "
            "what writes raises a StorageError; `evalkit show --contract storage` "
            "shows the contract"
        )
    return cast(Store, GuardedStore(component, made))


def _component(scheme: str) -> Component:
    catalog = find_components()
    try:
        found = find_component(catalog, STORAGE, scheme)
    except UnknownPluginError as error:
        owner = catalog.known_owner(f"{STORAGE}/{scheme}")
        how = f"; install it: pip install {owner}" if owner else ""
        raise StorageError(f"{scheme}:// needs a plugin: {error}{how}") from error
    if found is not None:
        return found
    there = sorted({each.name for each in catalog.of_kind(STORAGE)})
    known = ", ".join(f"{name}://" for name in there) or "none"
    raise StorageError(
        f"{scheme}:// is read and written by no plugin that is installed; the schemes "
        f"that are: {known}. A file of this machine is named by its path"
    )
