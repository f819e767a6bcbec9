"""The names of plugins that are objects of Python, and of no distribution."""

from __future__ import annotations

import inspect
import re
from typing import Any

from evalkit.base.failures import hook_failures, located
from evalkit.base.names import is_component_name
from evalkit.base.violations import shorten
from evalkit.errors import PluginContractError, PluginLoadError


def name_of(what: Any) -> str:
    """Return the name of a plugin that was passed as a Python object.

    Args:
        what: A class, an instance, or a function `get_<name>`.

    Returns:
        Its `name`, or the name of the class or function in lower case with dashes.

    Raises:
        PluginContractError: That is no legal name.
    """
    try:
        own = getattr(what, "name", None)
    except hook_failures() as error:
        raise PluginLoadError(
            f"{shorten(what)}: its name failed with {located(error)}"
        ) from error
    if not isinstance(own, str):
        is_named = inspect.isclass(what) or inspect.isroutine(what)
        own = what.__name__ if is_named else type(what).__name__
        own = own.removeprefix("get_").replace("_", "-")
        own = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", own).strip("-").lower()
    if not is_component_name(own):
        raise PluginContractError(f"{own!r} is not a legal name for a plugin")
    return own
