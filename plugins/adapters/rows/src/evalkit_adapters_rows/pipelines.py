"""Adapters, one after another, over rows or a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit import Registry
from evalkit.catalog import Row
from evalkit.errors import AdapterError, DataError
from evalkit.reading.rows import object_row
from evalkit_adapters_rows.examples import adapt_examples
from evalkit_adapters_rows.mapping import MapFields
from evalkit_adapters_rows.responses import adapted_blocks
from evalkit_adapters_rows.rows import BLOCK_ROWS
from evalkit_adapters_rows.settings import AdapterSettings as AdapterSettings
from evalkit_adapters_rows.stages import Stage, bind_stages

if TYPE_CHECKING:
    import polars as pl

    from evalkit.catalog import BoundDataset, BoundTask
    from evalkit.examples.row_stages import ResponseColumns
    from evalkit.reading.rows import Block
    from evalkit_adapters_rows.bound import BoundAdapter


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
        has_read_file: Whether the first one read the last file, in place of evalkit:
            numbers of its rows are no lines.
    """

    def __init__(self, stages: Iterable[Stage]) -> None:
        self.stages = tuple(stages)
        self.has_read_file = False

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

    @property
    def reads_files(self) -> bool:
        """Whether the first adapter may read files itself, and folders too."""
        return bool(self.stages) and self.stages[0].adapter.has("read_file")

    def read_file(self, path: Path) -> pl.DataFrame | Iterator[Row] | None:
        """Read a file by the first adapter, where that reads files of this kind.

        Args:
            path: The file or folder.

        Returns:
            A table, or rows with their numbers, which have not gone through the
            adapters; None for a file that evalkit is to read.

        Raises:
            DataError: It cannot be read.
            PluginError: The adapter failed.
        """
        found: Any = None
        if self.reads_files:
            try:
                found = self.stages[0].adapter.read_file(path)
            except AdapterError as error:
                raise self._unreadable(path, error) from error
        self.has_read_file = found is not None
        is_table = found is None or hasattr(found, "iter_rows")
        return found if is_table else self._numbered(path, found)

    def _numbered(self, path: Path, rows: Iterator[Any]) -> Iterator[Row]:
        try:
            for number, values in enumerate(rows, start=1):
                yield object_row(number, values)
        except AdapterError as error:
            raise self._unreadable(path, error) from error

    def _unreadable(self, path: Path, error: AdapterError) -> DataError:
        return DataError(f"{path}: {self.stages[0].kind}: {error.problem}")

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
    def components(self) -> list[BoundAdapter]:
        """The adapters that are loaded."""
        return [stage.adapter for stage in self.stages]

    def read_examples(
        self, dataset: BoundDataset, task: BoundTask, path: Path | None, given: Any
    ) -> pl.DataFrame | Iterator[Row]:
        """Adapt what a dataset loaded (`RowStage`); as a table where it can be."""
        return adapt_examples(self, dataset, task, path, given)

    def read_responses(self, given: Any, reader: ResponseColumns) -> Iterator[Block]:
        """Read predictions and adapt them (`RowStage`)."""
        yield from adapted_blocks(self, given, reader)
        is_file = isinstance(given, str | Path)
        self.refuse_absent(str(given) if is_file else "the predictions", "predictions")

    @property
    def renamed(self) -> Mapping[str, set[str]]:
        """Which fields columns become, as far as `MapFields` comes first."""
        first = self.stages[0].adapter.plugin if self.stages else None
        return first.fields if isinstance(first, MapFields) else {}

    def refuse_absent(self, source: str, place: str) -> None:
        """Refuse mapped columns that no row had (`RowStage`)."""
        for stage in self.stages:
            plugin = stage.adapter.plugin
            if isinstance(plugin, MapFields):
                plugin.refuse_absent(source, place)

    @property
    def notices(self) -> list[str]:
        """What the adapters did to the rows that a user must know (`RowStage`)."""
        plugins = (stage.adapter.plugin for stage in self.stages)
        return [n for each in plugins for n in getattr(each, "notices", ())]

    @property
    def specification(self) -> list[dict[str, Any]]:
        """The pipeline as it is recorded: kind, plugin and configuration by stage."""
        return [stage.specification for stage in self.stages]


def joined(first: Pipeline | None, second: Pipeline | None) -> Pipeline | None:
    """Put one pipeline after another; stages are numbered through."""
    if first is None or second is None:
        return first or second
    numbered = enumerate((*first.stages, *second.stages), start=1)
    return Pipeline(replace(stage, number=number) for number, stage in numbered)


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
    bound = [*bind_stages(stages, Registry() if registry is None else registry)]
    for stage in bound:
        if stage.adapter.is_extractor:
            raise AdapterError(
                "it takes the answer out of a text, and adapts no rows; use it as an "
                f"extractor (--extract {stage.kind})",
                stage=stage.number,
                kind=stage.kind,
            )
    return Pipeline(bound)
