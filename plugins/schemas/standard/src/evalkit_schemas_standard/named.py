"""Schemas that have a name, by the entry-point group `evalkit.schemas`."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from evalkit import Component
from evalkit.errors import PluginContractError, PluginLoadError, UnknownPluginError

if TYPE_CHECKING:
    from pydantic import BaseModel

_KIND = "schemas"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{,62}(?:\.[A-Za-z][A-Za-z0-9_]{,62}){,3}")
_ILLEGAL = (
    "not a legal name (one to four parts with dots between, each a letter followed by "
    "letters, digits and underscores)"
)


def schema_components() -> list[Component]:
    """Return all schemas that installed distributions declare; none is imported.

    Returns:
        What their metadata say, by name and distribution. One that cannot be used, as
        its name is illegal or of several distributions, says so in `problem`.
    """
    found = [
        Component(
            _KIND,
            entry.name,
            entry.value,
            "unknown" if entry.dist is None else entry.dist.name,
            "unknown" if entry.dist is None else entry.dist.version,
        )
        for entry in entry_points(group=f"evalkit.{_KIND}")
    ]
    found.sort(key=lambda each: (each.name, each.distribution, each.value))
    return [each._replace(problem=_problem(each, found)) for each in found]


def _problem(component: Component, everything: list[Component]) -> str:
    if not _NAME.fullmatch(component.name):
        return _ILLEGAL
    alike = [each for each in everything if each.name == component.name]
    if len(alike) == 1:
        return ""
    owners = sorted({each.distribution for each in alike})
    if len(owners) == 1:
        return "declared twice"
    return (
        f"of several distributions: {', '.join(owners)}; write "
        f"{component.name}@{owners[0]} for the one"
    )


def schema_names() -> list[str]:
    """Return the names of all installed schemas that can be used, sorted."""
    return [found.name for found in schema_components() if not found.problem]


def named_schema(name: str) -> type[BaseModel]:
    """Return the model that a name stands for.

    Args:
        name: As `text.Text`; where several distributions have the name,
            `NAME@DISTRIBUTION`.

    Raises:
        UnknownPluginError: No installed distribution has a schema of this name, or
            several have.
        PluginLoadError: It cannot be imported.
        PluginContractError: It is no pydantic model.
    """
    wanted, _, distribution = name.partition("@")
    everything = schema_components()
    found = [
        each
        for each in everything
        if each.name == wanted and distribution in ("", each.distribution)
    ]
    if not found:
        usable = ", ".join(each.name for each in everything if not each.problem)
        raise UnknownPluginError(f"no schema is called {name!r}; there are: {usable}")
    if len(found) > 1:
        raise UnknownPluginError(f"the name {name!r} is {found[0].problem}")
    component = found[0]._replace(problem="") if distribution else found[0]
    if component.problem:
        raise PluginLoadError(f"{component.origin}: {component.problem}")
    return _load(component)


def _load(component: Component) -> type[BaseModel]:
    from pydantic import BaseModel

    from evalkit.catalog import import_component

    loaded = import_component(component)
    if isinstance(loaded, type) and issubclass(loaded, BaseModel):
        return loaded
    kind = loaded if isinstance(loaded, type) else type(loaded)
    raise PluginContractError(
        f"{component.origin}: {component.value} is no pydantic model, found "
        f"{'the class' if kind is loaded else 'an object of the type'} {kind.__name__}"
    )
