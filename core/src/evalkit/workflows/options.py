"""How predictions are evaluated: every choice that is not data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.adapting.extraction import ChosenBy, Extraction, as_extraction
from evalkit.adapting.files import check_adapters, with_map
from evalkit.adapting.normalising import check_normalise
from evalkit.adapting.pipelines import Pipeline
from evalkit.errors import AdapterError, PluginContractError, UnknownPluginError
from evalkit.examples.selection import Selection
from evalkit.inference.levels import check_confidence
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.plugins.registry import Registry
from evalkit.predictions.alignment import OnDuplicate, OnProblem, Policies
from evalkit.predictions.column_stages import ColumnStage
from evalkit.runs.recording import Options
from evalkit.runs.results import Result
from evalkit.scoring.crossings import read_crossings
from evalkit.scoring.records import ScoringSettings

NO_EXTRACTOR = "none"
"""What a user says who wants none, though the data set or the task declares some."""


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """The options of `evaluate` and `validate`, checked when they are made.

    Fields have the names, defaults and meaning of the keyword arguments of `evaluate`.
    A validation looks only at those that say which examples and responses count.

    Raises:
        EvalkitError: A value is not among its choices, or out of its range.
    """

    metrics: Sequence[Any] | None = None
    extra_metrics: Sequence[Any] = ()
    split: str | None = None
    limit: int | None = None
    filters: Mapping[str, str | Sequence[str]] | None = None
    cluster: str | Sequence[str] = ()
    on_missing: OnProblem = "error"
    on_invalid: OnProblem = "error"
    on_duplicate: OnDuplicate = "error"
    by: str | Sequence[str] = ()
    min_n: int = 10
    confidence: float = 0.95
    seed: int = 0
    jobs: int = 1
    include_examples: bool = True
    observers: Sequence[Any] = ()
    adapters: Mapping[str, Any] | None = None
    map: Mapping[str, str] | None = None
    map_predictions: Mapping[str, str] | None = None
    keep: Sequence[str] | str | None = None
    normalise: Sequence[str] | str = ()
    extract: Any = None
    columns: ColumnStage | None = None
    against: Result | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        check_confidence(self.confidence)
        self.policies.check()
        self.for_split("")
        check_adapters(self.adapters or {})
        check_normalise(self.normalise)

    @property
    def policies(self) -> Policies:
        """What happens to examples without a valid response, and to repeated ids."""
        return Policies(self.on_missing, self.on_invalid, self.on_duplicate)

    @property
    def selection(self) -> Selection:
        """Which examples are evaluated."""
        return Selection.of(self.limit, self.filters)

    def pipeline(self, place: str, registry: Registry) -> Pipeline | None:
        """Return what rows go through before they are checked.

        Args:
            place: `data` or `predictions`.
            registry: Where installed adapters are found.

        Returns:
            The adapters of this place, and what maps columns to fields after them;
            None for nothing.

        Raises:
            AdapterError: They are written wrongly.
            PluginError: An adapter is unknown or broken.
        """
        mapping = self.map if place == "data" else self.map_predictions
        return with_map((self.adapters or {}).get(place), mapping, registry)

    def extraction(
        self, dataset: BoundDataset, task: BoundTask, registry: Registry
    ) -> Extraction | None:
        """Return what takes the answers out of the texts of responses.

        Args:
            dataset: The data set, which may declare it.
            task: The task, which may declare it where the data set does not.
            registry: Where installed extractors are found.

        Returns:
            The extractors; None for none, which a user says as `none`.

        Raises:
            AdapterError: They are written wrongly by the user.
            PluginError: They are by a plugin, or an extractor is unknown or broken.
        """
        if self.extract == NO_EXTRACTOR:
            return None
        if self.extract is not None:
            return as_extraction(self.extract, registry)
        bound = task if dataset.extract is None else dataset
        by: ChosenBy = "task" if dataset.extract is None else "data set"
        try:
            return as_extraction(bound.extract, registry, by)
        except (AdapterError, UnknownPluginError) as error:
            text = f"{bound.component.origin}: extract: {error}"
            if isinstance(error, UnknownPluginError):
                raise UnknownPluginError(text) from error
            raise PluginContractError(text) from error

    def for_split(self, split: str) -> Options:
        """Return the options in the form that an evaluation works with and records.

        Args:
            split: The split, where these options name none.

        Raises:
            EvalkitError: The selection or a crossing is malformed.
        """
        return Options(
            self.split or split,
            self.policies,
            ScoringSettings(self.confidence, self.seed, self.jobs, self.min_n),
            self.include_examples,
            self.selection,
            read_crossings([self.by] if isinstance(self.by, str) else self.by),
            None if self.against is None else self.against.fingerprint,
        )
