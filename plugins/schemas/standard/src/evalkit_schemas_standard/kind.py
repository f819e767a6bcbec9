"""The kind of plugins that are named schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalkit import Component, PluginContractError
from evalkit.catalog import Kind, import_component

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
