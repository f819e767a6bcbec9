"""The adapter that adapts each element of a list."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from pydantic import Field

from evalkit.errors import AdapterError
from evalkit_adapters_rows import AdapterSettings, Pipeline, pipeline
from evalkit_adapters_rows.row_values import collection, object_row

_MOST = 1_000_000


class Map:
    """Adapt each element of a list by an adapter of its own.

    In that adapter `$` is the element; the row around it cannot be seen.

    Example:
        ```yaml
        - kind: Map
          configuration:
            collections: [responses]
            adapter: {kind: Select, configuration: {fields: [label]}}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """Which lists, and the adapter of their elements."""

        collections: list[str] = Field(description="Fields with lists")
        adapter: dict[str, Any] = Field(description="An adapter: kind, configuration")

    def __init__(self, parameters: Parameters) -> None:
        self.names = list(dict.fromkeys(parameters.collections))
        self.inner: Pipeline = pipeline([parameters.adapter])

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the row with adapted elements."""
        row = object_row(row)
        adapted = {}
        for name in self.names:
            elements = collection(row, name)
            most = max(_MOST, len(elements))
            try:
                adapted[name] = list(islice(self.inner(elements), most + 1))
            except AdapterError as error:
                raise AdapterError(
                    f"element {error.row} of {name!r}: {error.problem}",
                    field=error.field,
                ) from error
            if len(adapted[name]) > most:
                raise AdapterError(
                    f"the list {name!r} becomes more than {most:,} elements", field=name
                )
        yield {name: adapted.get(name, value) for name, value in row.items()}
