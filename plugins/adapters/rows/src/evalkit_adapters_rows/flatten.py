"""The adapter that opens nested objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from evalkit.errors import AdapterError
from evalkit_adapters_rows import AdapterSettings
from evalkit_adapters_rows.row_values import missing, object_row


class FlattenHierarchy:
    """Make top-level fields of the fields of nested objects.

    Names are joined by a dot, as in `choices.label`; without `addPrefix` the innermost
    name is taken. Lists and empty objects stay as they are. Fields that are named move
    to the end of the row.

    Example:
        ```yaml
        - kind: FlattenHierarchy
          configuration: {fields: [choices], depth: 1}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """What is opened, and how deep."""

        fields: list[str] | None = Field(
            default=None, description="Which fields; all where it is left out"
        )
        depth: int | None = Field(
            default=None, ge=0, description="How many levels; all where it is left out"
        )
        addPrefix: bool = Field(  # noqa: N815 - as in Dyff
            default=True, description="Whether the names of outer fields are kept"
        )

    def __init__(self, parameters: Parameters) -> None:
        self.names = parameters.fields
        self.depth = parameters.depth
        self.has_prefix = parameters.addPrefix
        names = self.names or []
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise AdapterError(f"the field {twice[0]!r} is named twice", field=twice[0])

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the row with its objects opened."""
        if self.names is None and self.has_prefix and not isinstance(row, dict):
            yield {"": row}
            return
        row = object_row(row)
        names = list(row) if self.names is None else self.names
        flat = {name: value for name, value in row.items() if name not in names}
        for name in names:
            if name not in row:
                raise missing(name, row)
            for path, value in self._leaves(name, row[name]):
                new = ".".join(path) if self.has_prefix else path[-1]
                if new in flat:
                    raise AdapterError(f"two fields become {new!r}", field=new)
                flat[new] = value
        yield flat

    def _leaves(self, name: str, value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
        waiting: list[tuple[tuple[str, ...], Any]] = [((name,), value)]
        while waiting:
            path, value = waiting.pop()
            is_deep = self.depth is not None and len(path) > self.depth
            if not isinstance(value, dict) or not value or is_deep:
                yield path, value
            else:
                inner = [((*path, key), each) for key, each in value.items()]
                waiting.extend(reversed(inner))
