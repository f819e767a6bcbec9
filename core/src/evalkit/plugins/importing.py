"""Imports the object that an entry point names; nothing heavy is imported for it."""

from __future__ import annotations

import importlib.metadata

from evalkit.base import json_text as json_text  # before any plugin can replace it
from evalkit.base.failures import hook_failures, located
from evalkit.errors import PluginLoadError
from evalkit.plugins.components import Component, required_distribution, value_problem
from evalkit.plugins.discovery import installed_version
from evalkit.plugins.local_files import object_in_file

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
    if component.is_local:
        return object_in_file(component.value)
    problem = component.problem or value_problem(component.value)
    problem = problem or _core_problem(component)
    if problem:
        raise PluginLoadError(f"{component.origin}: {problem}")
    entry_point = importlib.metadata.EntryPoint(
        component.name, component.value, f"evalkit.{component.kind}"
    )
    try:
        loaded: object = entry_point.load()
    except hook_failures() as error:
        raise load_error(component, f"importing {component.value}", error) from error
    return loaded


def _core_problem(component: Component) -> str:
    """Say why the distribution is not for the core that is running; "" if it is."""
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


def load_error(
    component: Component, step: str, error: BaseException
) -> PluginLoadError:
    """Make the error of a component that could not be loaded.

    Args:
        component: The component.
        step: What was being done, such as `constructing it`.
        error: What was raised.

    Returns:
        An error that names the component; chain it with `from`.
    """
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
