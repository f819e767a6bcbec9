"""Schemas that have a name, by the entry-point group `evalkit.schemas`."""

from importlib.metadata import entry_points

from pydantic import BaseModel

from evalkit.errors import UnknownPluginError

_GROUP = "evalkit.schemas"


def schema_names() -> list[str]:
    """Return the names of all installed schemas, sorted."""
    return sorted({entry.name for entry in entry_points(group=_GROUP)})


def named_schema(name: str) -> type[BaseModel]:
    """Return the model that a name stands for.

    Args:
        name: As `text.Text`.

    Raises:
        UnknownPluginError: No installed distribution has a schema of this name.
    """
    for entry in entry_points(group=_GROUP, name=name):
        model: type[BaseModel] = entry.load()
        return model
    raise UnknownPluginError(
        f"no schema is called {name!r}; there are: {', '.join(schema_names())}"
    )
