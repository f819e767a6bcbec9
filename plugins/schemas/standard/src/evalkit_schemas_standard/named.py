"""Schemas that have a name, by the entry-point group `evalkit.schemas`."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from evalkit import Component, PluginContractError, find_components
from evalkit.catalog import Kind, find_component, import_component
from evalkit.errors import UnknownPluginError

if TYPE_CHECKING:
    from pydantic import BaseModel


NAME = "schemas"
"""Name of the kind."""


class NoHooks:
    """A schema has no hooks: it is a pydantic model (docs/authoring/schemas.md)."""


def import_schema(component: Component) -> type[BaseModel]:
    """Import the model that a named schema is."""
    from pydantic import BaseModel

    loaded = import_component(component)
    is_base = loaded is BaseModel
    if isinstance(loaded, type) and issubclass(loaded, BaseModel) and not is_base:
        return loaded
    kind = loaded if isinstance(loaded, type) else type(loaded)
    raise PluginContractError(
        f"{component.origin}: {component.value} is no pydantic model, found "
        f"{'the class' if kind is loaded else 'an object of the type'} {kind.__name__}"
        "; declare a subclass of pydantic.BaseModel"
    )


SCHEMAS = Kind(NAME, NoHooks, load=import_schema)


def schema_components() -> list[Component]:
    """Return all schemas that installed distributions declare; none is imported."""
    catalog = find_components()
    ambiguous = catalog.only_with_distribution()
    found = [
        each._replace(
            problem="of several distributions; write "
            f"{each.name}@{each.distribution} for this one"
        )
        if each in ambiguous and not each.problem
        else each
        for each in catalog.of_kind(NAME)
    ]
    found += [each for each in catalog.withheld if each.kind == NAME]
    return sorted(found, key=lambda each: (each.name, each.distribution))


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
            several have, or it is hidden.
        PluginLoadError: It cannot be imported.
        PluginContractError: It is no pydantic model.
    """
    found = find_component(find_components(), NAME, name)
    if found is None:
        usable = schema_names()
        near = difflib.get_close_matches(name, usable, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        if name.endswith(".py"):
            hint = f"a model in a file is written {name}:MODEL; "
        raise UnknownPluginError(
            f"no schema is called {name!r}; {hint}there are: {', '.join(usable)}"
        )
    return import_schema(found)
