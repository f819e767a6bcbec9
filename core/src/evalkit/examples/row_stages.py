"""The protocol of what changes rows of data and predictions before they are checked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl
from pydantic import BaseModel

from evalkit.plugins.bound import Bound, BoundDataset, BoundTask
from evalkit.plugins.importing import require_owner
from evalkit.plugins.registry import Registry
from evalkit.reading.rows import Block, Row
from evalkit.reading.schemas import ColumnPlan


class ResponseColumns(Protocol):
    """Which columns of responses are read, and as what."""

    output: type[BaseModel]
    text_fields: set[str]
    nullable: list[str]
    plan: ColumnPlan | None


class RowStage(Protocol):
    """Changes rows of data or of predictions before they are checked."""

    has_read_file: bool
    """Whether it read the last file itself, so that numbers of rows are no lines."""

    @property
    def components(self) -> Sequence[Bound]:
        """The components that change the rows, which a run records."""

    @property
    def specification(self) -> list[dict[str, Any]]:
        """What a run records of each component."""

    @property
    def reads_files(self) -> bool:
        """Whether it may read files itself, and folders too."""

    @property
    def renamed(self) -> Mapping[str, set[str]]:
        """Which fields columns become, as far as that is known."""

    @property
    def notices(self) -> Sequence[str]:
        """What it did to the rows so far that a user must know."""

    def read_examples(
        self, dataset: BoundDataset, task: BoundTask, path: Path | None, given: Any
    ) -> pl.DataFrame | Iterator[Row]:
        """Change what a data set loaded."""

    def read_responses(self, given: Any, reader: ResponseColumns) -> Iterator[Block]:
        """Read predictions and change them."""

    def refuse_absent(self, source: str, place: str) -> None:
        """Refuse columns that are named and that no row had."""


class DataSource(Protocol):
    """Changes rows of data: the part of a row source that data needs."""

    @property
    def mapped(self) -> Mapping[str, str]:
        """The columns of the data by the field that they become."""

    def with_data(self, dataset: BoundDataset, registry: Registry) -> BoundDataset:
        """Return a data set whose rows are changed, also as it declares itself.

        Args:
            dataset: The data set.
            registry: Where plugins are found.
        """

    def recorded(
        self, stages: Sequence[Mapping[str, Any]], registry: Registry
    ) -> RowStage:
        """Return the stage that a run recorded.

        Args:
            stages: The `specification` that the run holds.
            registry: Where plugins are found.
        """


def source_for(bound: Bound, attribute: str, source: Any) -> Any:
    """Return the source that obeys an attribute, beside what a source does."""
    return require_owner(bound.component, attribute)(getattr(bound, attribute), source)


def with_data(
    dataset: BoundDataset, source: DataSource | None, registry: Registry
) -> BoundDataset:
    """Return a data set whose rows are changed as a user and it itself say."""
    if dataset.adapters:
        source = source_for(dataset, "adapters", source)
    return dataset if source is None else source.with_data(dataset, registry)


def names_texts(
    fields: Collection[str], renamed: Mapping[str, set[str]]
) -> Collection[str]:
    """Return the columns whose cells are texts, also those that become such fields."""
    found = {name for name in fields if name not in renamed}
    return found | {name for name, to in renamed.items() if not to.isdisjoint(fields)}
