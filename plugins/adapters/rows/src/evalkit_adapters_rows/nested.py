"""The adapter that is several, one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, RootModel

from evalkit_adapters_rows import pipeline

if TYPE_CHECKING:
    import polars as pl


class NestedPipeline:
    """Several adapters, one after another, as one stage.

    The configuration is a list of adapters.

    Example:
        ```yaml
        - kind: Pipeline
          configuration:
            - {kind: Rename, configuration: {prompt: text}}
            - {kind: Drop, configuration: {fields: [ranks]}}
        ```
    """

    version = "1"

    class Parameters(RootModel[list[dict[str, Any]]]):
        """The adapters in their order."""

        model_config = ConfigDict(frozen=True, strict=True)

    def __init__(self, parameters: Parameters) -> None:
        self.inner = pipeline(parameters.root)

    def adapt_row(self, row: Mapping[str, Any], number: int) -> Iterator[Any]:
        """Yield what the last adapter makes of the row."""
        yield from self.inner([row], number)

    def adapt_frame(
        self, frame: pl.DataFrame, numbers: pl.Series | None
    ) -> pl.DataFrame | None:
        """Return what the last adapter makes of the table, or None to go row by row."""
        return self.inner.adapt_frame(frame, numbers)
