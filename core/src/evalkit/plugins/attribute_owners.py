"""Who obeys an attribute of a kind: the entry-point group `evalkit.attributes`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from evalkit.base.failures import hook_failures, located
from evalkit.errors import PluginLoadError

GROUP = "evalkit.attributes"


def find_owner(kind: str, attribute: str) -> Callable[..., Any] | None:
    """Load the function of the distribution that obeys an attribute.

    Args:
        kind: The kind that has the attribute, such as `tasks`.
        attribute: Its name.

    Returns:
        What the entry point `KIND.ATTRIBUTE` names; None where nobody declares it.

    Raises:
        PluginLoadError: It cannot be imported.
    """
    name = f"{kind}.{attribute}"
    for entry_point in entry_points(group=GROUP, name=name):
        try:
            owner: Callable[..., Any] = entry_point.load()
        except hook_failures() as error:
            raise PluginLoadError(
                f"{GROUP}: importing {entry_point.value} for {name} failed with "
                f"{located(error)}"
            ) from error
        return owner
    return None
