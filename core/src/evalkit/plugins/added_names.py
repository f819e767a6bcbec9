"""Names that distributions add to the module `evalkit`.

A distribution adds a name by an entry point of the group `evalkit.names`. It is
imported when somebody uses the name.
"""

from __future__ import annotations

from evalkit.plugins.components import NAMES
from evalkit.plugins.discovery import find_components
from evalkit.plugins.importing import import_component


def added_name(name: str) -> object:
    """Import what an installed distribution adds under a name.

    Args:
        name: The name.

    Returns:
        The object.

    Raises:
        AttributeError: No distribution adds it.
        UnknownPluginError: Several do.
        PluginLoadError: Importing it failed.
    """
    catalog = find_components()
    component = catalog.extension(NAMES, name)
    if component is None:
        owner = catalog.known_owner(f"{NAMES}/{name}")
        hint = f". Install {owner}" if owner else ""
        raise AttributeError(f"module 'evalkit' has no attribute {name!r}{hint}")
    return import_component(component)
