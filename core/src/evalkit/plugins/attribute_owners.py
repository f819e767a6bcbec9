"""Who obeys an attribute of a plugin: the entry-point group `evalkit.attributes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalkit.errors import PluginContractError
from evalkit.plugins.binding import Bound
from evalkit.plugins.components import ATTRIBUTES
from evalkit.plugins.discovery import find_components
from evalkit.plugins.importing import import_component


def find_owner(kind: str, attribute: str) -> Callable[..., Any] | None:
    """Load the function of the distribution that obeys an attribute.

    Args:
        kind: The kind that has the attribute, such as `tasks`.
        attribute: Its name.

    Returns:
        What the entry point `KIND.ATTRIBUTE` names; None where nobody declares it.

    Raises:
        UnknownPluginError: Several distributions declare it.
        PluginLoadError: It cannot be imported.
    """
    component = find_components().extension(ATTRIBUTES, f"{kind}.{attribute}")
    if component is None:
        return None
    owner: Any = import_component(component)
    return owner  # type: ignore[no-any-return]


def require_owner(bound: Bound, attribute: str) -> Callable[..., Any]:
    """Load the function that obeys an attribute which a plugin sets.

    Args:
        bound: The plugin.
        attribute: Name of the attribute.

    Raises:
        PluginContractError: No installed distribution obeys the attribute.
        UnknownPluginError: Several do.
        PluginLoadError: The function cannot be imported.
    """
    kind = bound.component.kind
    owner = find_owner(kind, attribute)
    if owner is None:
        name = f"{kind}.{attribute}"
        known = find_components().known_owner(f"{ATTRIBUTES}/{name}")
        install = known or f"one that declares {name} in evalkit.{ATTRIBUTES}"
        raise PluginContractError(
            f"{bound.component.origin}: no installed distribution obeys its attribute "
            f"{attribute!r}. Install {install}"
        )
    return owner
