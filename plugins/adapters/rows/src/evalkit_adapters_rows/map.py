"""The adapter that adapts each element of a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pydantic import Field

from evalkit.catalog import is_reserved
from evalkit.errors import AdapterError
from evalkit_adapters_rows import AdapterSettings, Pipeline, pipeline
from evalkit_adapters_rows.row_values import collection, object_row

_MOST = 1_000_000


class _Element(dict[str, Any]):
    """An object that is looked at together with the reserved fields around it.

    These are found by name, and are no items: what is made of all items lacks them.
    """

    def __init__(self, items: Mapping[str, Any], around: Mapping[str, Any]) -> None:
        super().__init__(items)
        self._around = around

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._around

    def __missing__(self, name: str) -> Any:
        return self._around[name]


class Map:
    """Adapt each element of a list by an adapter of its own.

    In that adapter `$` is the element. Of the row around it the reserved fields can be
    seen, as `$._index_`.

    Example:
        ```yaml
        - kind: Map
          configuration:
            collections: [responses]
            adapter: {kind: Select, configuration: {fields: [label]}}
        ```
    """

    version = "2"

    class Parameters(AdapterSettings):
        """Which lists, and the adapter of their elements."""

        collections: list[str] = Field(description="Fields with lists")
        adapter: dict[str, Any] = Field(description="An adapter: kind, configuration")

    def __init__(self, parameters: Parameters) -> None:
        self.names = list(dict.fromkeys(parameters.collections))
        self.inner: Pipeline = pipeline([parameters.adapter])
        for stage in self.inner.stages:
            if stage.is_last:
                raise AdapterError(
                    f"{stage.kind} does not adapt the elements of a list"
                )

    def adapt_row(self, row: Any) -> Iterator[dict[str, Any]]:
        """Yield the row with adapted elements."""
        row = object_row(row)
        around = {name: value for name, value in row.items() if is_reserved(name)}
        adapted = {}
        for name in self.names:
            elements = [
                _Element(each, around) if around and isinstance(each, dict) else each
                for each in collection(row, name)
            ]
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
