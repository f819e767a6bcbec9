"""Rows of a data set that adapters change as they are loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from evalkit.adapting.files import as_pipeline
from evalkit.adapting.pipelines import Pipeline, joined, pipeline
from evalkit.adapting.rows import adapted_rows
from evalkit.errors import AdapterError, PluginContractError
from evalkit.examples.cells import read_cells
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.plugins.registry import Registry
from evalkit.reading.files import TABLES
from evalkit.reading.formats import detect_format
from evalkit.reading.rows import Row
from evalkit.reading.tables import read_frames


def adapted_by(
    dataset: BoundDataset, adapters: Any, registry: Registry
) -> BoundDataset:
    """Return a data set whose rows go through adapters.

    Args:
        dataset: The data set, which may declare adapters.
        adapters: What a user says that they go through next: a pipeline, a list of
            adapters or the path of a file; None for nothing.
        registry: Where installed adapters are found.

    Returns:
        The same data set with a pipeline of all of them; stages are numbered through.

    Raises:
        AdapterError: The user's cannot be read, or are written wrongly.
        PluginError: Those of the data set are written wrongly, or one is unknown.
    """
    try:
        stages = pipeline(dataset.adapters, registry).stages
    except AdapterError as error:
        origin = dataset.component.origin
        raise PluginContractError(f"{origin}: its adapters: {error}") from error
    own = Pipeline(stages) if stages else None
    whole = joined(own, as_pipeline(adapters, registry))
    return dataset if whole is None else replace(dataset, pipeline=whole)


def adapters_of(dataset: BoundDataset) -> list[dict[str, Any]]:
    """Return the adapters of a data set's rows, as a run records them."""
    found: Pipeline | None = dataset.pipeline
    return [] if found is None else found.specification


def adapt_examples(
    dataset: BoundDataset, task: BoundTask, path: Path | None, given: Any
) -> pl.DataFrame | Iterator[Row]:
    """Adapt what a data set loaded.

    Args:
        dataset: The data set, which has a pipeline.
        task: Its task.
        path: The file; None where no file was loaded.
        given: Rows or a table, where there is no file.

    Returns:
        A table where a table could be adapted at once; else the rows that come out of
        the adapters, each with the line or number of the one that went in. A row that
        they cannot use is one that cannot be read.

    Raises:
        DataError: The file cannot be read.
        PluginError: An adapter failed.
    """
    if path is not None and (read := dataset.pipeline.read_file(path)) is not None:
        if not isinstance(read, pl.DataFrame):
            return adapted_rows(read, dataset.pipeline)
        path, given = None, read
    if path is None and not isinstance(given, pl.DataFrame):
        rows = (Row(number, dict(row)) for number, row in enumerate(given, start=1))
        return adapted_rows(rows, dataset.pipeline)
    kind = None if path is None else detect_format(path)
    if path is not None and kind is not None and kind not in TABLES:
        return adapted_rows(read_cells(dataset, task, path, kind), dataset.pipeline)
    frames = [given] if path is None or kind is None else [*read_frames(path, kind)]
    frame = pl.concat(frames) if frames else pl.DataFrame()
    numbers = pl.int_range(1, frame.height + 1, eager=True)
    found = dataset.pipeline.adapt_frame(frame, numbers)
    if isinstance(found, pl.DataFrame):
        return found
    return adapted_rows(_rows_of(frame.iter_rows(named=True)), dataset.pipeline)


def _rows_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    return (Row(number, row) for number, row in enumerate(rows, start=1))
