"""Adapters, one after another, over rows or a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from evalkit.adapting.stages import Stage, bind_stages
from evalkit.errors import AdapterError
from evalkit.plugins.registry import Registry

if TYPE_CHECKING:
    import polars as pl


BLOCK_ROWS = 1_000
"""How many rows are adapted at once."""


class AdapterSettings(BaseModel):
    """Base of the `Parameters` of adapters: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Adapted(NamedTuple):
    """What one stage made of a row."""

    stage: int
    """Number of the stage, from 1."""
    kind: str
    """Its kind, as the pipeline names it."""
    rows: tuple[Any, ...]
    """The rows that came out of it."""


class Pipeline:
    """Adapters, one after another.

    Call it with rows to adapt them one by one. See `pipeline`, which makes one.

    Attributes:
        stages: The adapters that are loaded, with their configuration.
    """

    def __init__(self, stages: Iterable[Stage]) -> None:
        self.stages = tuple(stages)

    def __call__(self, rows: Iterable[Any], first: int = 1) -> Iterator[Any]:
        """Adapt rows, `BLOCK_ROWS` of them when the first is asked for.

        Args:
            rows: Dicts, as JSON has them. They are not changed; parts of them are in
                the rows that are returned.
            first: The number of the first row.

        Yields:
            The rows that come out of the last stage, in order.

        Raises:
            AdapterError: An adapter cannot use a row; with its stage, row and field.
            PluginError: An adapter failed.
        """
        waiting = iter(rows)
        while block := list(islice(waiting, BLOCK_ROWS)):
            for found in self.outcomes(block, range(first, first + len(block))):
                if isinstance(found, AdapterError):
                    raise found
                yield from found
            first += len(block)

    def outcomes(
        self, rows: Sequence[Any], numbers: Sequence[int]
    ) -> Iterable[list[Any] | AdapterError]:
        """Adapt several rows, each of which may fail.

        Args:
            rows: At most `BLOCK_ROWS` rows.
            numbers: The number of each.

        Returns:
            For each row what comes out of the last stage, or why it cannot be adapted.

        Raises:
            PluginError: An adapter failed.
        """
        try:
            return self._at_once(rows, numbers)
        except AdapterError:
            return map(self._outcome, rows, numbers)

    def _at_once(self, rows: Sequence[Any], numbers: Sequence[int]) -> list[list[Any]]:
        made = [[row] for row in rows]
        for stage in self.stages:
            numbered = zip(made, numbers, strict=True)
            given = [number for each, number in numbered for _ in each]
            flat = iter(stage.adapt_rows([row for each in made for row in each], given))
            made = [[row for _ in each for row in next(flat)] for each in made]
        return made

    def _outcome(self, row: Any, number: int) -> list[Any] | AdapterError:
        rows = [row]
        try:
            for stage in self.stages:
                rows = stage.adapt(rows, number)
        except AdapterError as error:
            return error
        return rows

    def explain(self, row: Any, number: int = 1) -> Iterator[Adapted]:
        """Adapt one row and show what each stage makes of it.

        Args:
            row: The row.
            number: Its number.

        Yields:
            The rows after each stage.

        Raises:
            AdapterError: An adapter cannot use the row; stages before it were yielded.
        """
        rows = [row]
        for stage in self.stages:
            rows = stage.adapt(rows, number)
            yield Adapted(stage.number, stage.kind, tuple(rows))

    def adapt_frame(
        self, frame: pl.DataFrame, numbers: pl.Series | None = None
    ) -> pl.DataFrame | None:
        """Adapt a table at once, where every adapter can.

        Args:
            frame: The table.
            numbers: The numbers of its rows; None where nobody knows them.

        Returns:
            The table; its rows are what the pipeline makes of `frame.to_dicts()`. None
            where an adapter cannot tell, so that rows must be adapted one by one.

        Raises:
            PluginError: An adapter failed.
        """
        current: pl.DataFrame | None = frame
        for stage in self.stages:
            if current is None:
                return None
            # a table of one height has the rows that came, in their order
            known = numbers if current.height == frame.height else None
            try:
                current = stage.adapter.adapt_frame(current, known)
            except AdapterError:
                # the row that is at fault is found row by row
                return None
        return current

    @property
    def specification(self) -> list[dict[str, Any]]:
        """The pipeline as it is recorded: kind, plugin and configuration by stage."""
        return [stage.specification for stage in self.stages]


def pipeline(
    stages: Sequence[Mapping[str, Any]], registry: Registry | None = None
) -> Pipeline:
    """Make a pipeline of adapters.

    Args:
        stages: For each adapter its `kind`, and its `configuration` if it takes one:
            `{"kind": "Rename", "configuration": {"text": "statement"}}`. A kind is the
            name of an installed adapter, as in `explode-collections` or
            `ExplodeCollections`, or a class.
        registry: Where installed adapters are found; what is installed by default.

    Returns:
        The pipeline.

    Raises:
        AdapterError: A stage is written wrongly; with the stage and the field.
        PluginError: An adapter is unknown or broken.
    """
    return Pipeline(bind_stages(stages, Registry() if registry is None else registry))
