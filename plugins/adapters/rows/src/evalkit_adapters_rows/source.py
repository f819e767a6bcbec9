"""The row source: `evaluate(..., rows=Rows(…))`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from evalkit import Registry
from evalkit.catalog import BoundDataset, BoundTask, RowSource
from evalkit.errors import (
    AdapterError,
    DataError,
    EvalkitError,
    PluginContractError,
    UnknownPluginError,
)
from evalkit.examples.table import Examples
from evalkit.predictions.alignment import Alignment
from evalkit.predictions.beside import System
from evalkit.predictions.row_sources import BoundRows
from evalkit_adapters_rows.extractors import ChosenBy, Extraction, as_extraction
from evalkit_adapters_rows.files import as_pipeline, check_adapters, with_map
from evalkit_adapters_rows.mapping import mapped_facets
from evalkit_adapters_rows.normalised import normalised
from evalkit_adapters_rows.normalising import check_normalise
from evalkit_adapters_rows.pipelines import Pipeline, joined, pipeline
from evalkit_adapters_rows.stages import bind_stages
from evalkit_adapters_rows.suggesting import suggestions

NO_EXTRACTOR = "none"
"""What a user says who wants none, though the data set or the task declares some."""


class Rows:
    """What rows of data and predictions go through before they are checked.

    Args:
        adapters: Adapters of rows by place, `data` or `predictions`: a file of YAML or
            JSON, a list of adapters, or a `Pipeline`. Those of a data set come after
            the ones that it declares.
        map: Columns of the data by field, which are taken in their place:
            `{"statement": "text", "id": "#row", "facet:origin": "source"}`, as
            `evalkit show adapters/map-fields` says; after the adapters.
        map_predictions: The same of the predictions.
        normalise: `labels` writes the labels of data and predictions as they are
            declared, where they differ in case, surrounding blanks or Unicode form.
        extract: What takes the answer out of a response's text: extractors such as
            `after:Answer:|choice`, a list of them, or a file with such a list
            (`docs/extraction.md`); in place of what the data set or the task declares,
            `none` for none of it.

    Raises:
        EvalkitError: A place or what is to be normalised is unknown.
    """

    def __init__(
        self,
        *,
        adapters: Mapping[str, Any] | None = None,
        map: Mapping[str, str] | None = None,
        map_predictions: Mapping[str, str] | None = None,
        normalise: Sequence[str] | str = (),
        extract: Any = None,
    ) -> None:
        check_adapters({} if adapters is None else adapters)
        self.adapters: Mapping[str, Any] = dict(adapters or {})
        self.map, self.map_predictions = map, map_predictions
        self.normalises = check_normalise(normalise)
        self.extract = extract

    @property
    def facets(self) -> dict[str, str]:
        """The columns that become facets, by the name of the facet."""
        return mapped_facets(self.map or {})

    @property
    def mapped(self) -> Mapping[str, str]:
        """The columns of the data by the field that they become."""
        return self.map or {}

    @property
    def reads_folders(self) -> bool:
        """Whether an adapter may read a folder of predictions."""
        return "predictions" in self.adapters

    def with_data(self, dataset: BoundDataset, registry: Registry) -> BoundDataset:
        """Return a dataset whose rows pass its adapters and these (`DataSource`)."""
        own = with_map(self.adapters.get("data"), self.map, registry)
        try:
            stages = pipeline(dataset.adapters, registry).stages
        except AdapterError as error:
            origin = dataset.component.origin
            raise PluginContractError(f"{origin}: its adapters: {error}") from error
        whole = joined(Pipeline(stages) if stages else None, own)
        return dataset if whole is None else replace(dataset, pipeline=whole)

    def recorded(
        self, stages: Sequence[Mapping[str, Any]], registry: Registry
    ) -> Pipeline:
        """Return the adapters or extractors that a run recorded (`DataSource`)."""
        return Pipeline(bind_stages(stages, registry))

    def bind(
        self,
        dataset: BoundDataset,
        task: BoundTask,
        system: System | None,
        where: str,
        registry: Registry,
    ) -> BoundRows:
        """Bind what predictions and labels go through (`RowSource`)."""
        adapters = self.adapters.get("predictions")
        adapt = with_map(adapters, self.map_predictions, registry)
        if self.normalises:
            dataset, of_labels = normalised(dataset, task, registry)
            adapt = joined(adapt, of_labels)
        if self.extract is not None:
            answers = _chosen(self.extract, registry)
        elif system is not None and system.extract is not None:
            answers = _of_system(system.extract, where, registry)
        else:
            answers = _declared(dataset, task, registry)
        return BoundRows(dataset, adapt, answers)

    def with_recorded(
        self,
        stages: Sequence[Mapping[str, Any]],
        extract: Sequence[Mapping[str, Any]] | None,
    ) -> Rows:
        """Return a source for a run's responses (`RowSource`).

        What this source names itself takes the place of what the run recorded.
        """
        found = copy(self)
        if stages and not ("predictions" in self.adapters or self.map_predictions):
            found.adapters = {**self.adapters, "predictions": stages}
        if self.extract is None and extract is not None:
            found.extract = extract or NO_EXTRACTOR
        return found

    def diagnose(
        self,
        dataset: BoundDataset,
        task: BoundTask,
        examples: Examples,
        alignment: Alignment,
        registry: Registry,
    ) -> list[str]:
        """Say which extractors would read refused responses (`RowSource`)."""
        return suggestions(dataset, task, examples, alignment, registry)

    def of_copies(self, registry: Registry) -> Pipeline | None:
        """Return the adapters of perturbed examples (`RowSource`)."""
        return as_pipeline(self.adapters.get("perturbed"), registry)


def rows_of_attribute(_value: Any, source: RowSource | None) -> RowSource:
    """Return a source that obeys what data sets and tasks declare beside the user's."""
    return Rows() if source is None else source


def _chosen(extract: Any, registry: Registry) -> Extraction | None:
    return None if extract == NO_EXTRACTOR else as_extraction(extract, registry)


def _of_system(extract: Any, where: str, registry: Registry) -> Extraction | None:
    """Return the extractors that belong to the prompt of the predictions."""
    try:
        return _chosen(extract, registry)
    except EvalkitError as error:
        raise DataError(
            f"{where}: extract: {error}. It is what the prompt of the predictions "
            "says; --extract (extract=) names others, or none"
        ) from error


def _declared(
    dataset: BoundDataset, task: BoundTask, registry: Registry
) -> Extraction | None:
    """Return the extractors of the data set, or else of the task."""
    bound = task if dataset.extract is None else dataset
    by: ChosenBy = "task" if dataset.extract is None else "data set"
    try:
        return as_extraction(bound.extract, registry, by)
    except (AdapterError, UnknownPluginError) as error:
        text = f"{bound.component.origin}: extract: {error}"
        if isinstance(error, UnknownPluginError):
            raise UnknownPluginError(text) from error
        raise PluginContractError(text) from error
