"""How predictions are evaluated: every choice that is not data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.examples.selection import Selection
from evalkit.predictions.alignment import OnDuplicate, OnProblem, Policies
from evalkit.predictions.column_stages import ColumnStage
from evalkit.predictions.row_sources import RowSource
from evalkit.runs.results import Result
from evalkit.scoring.grouping import read_crossings
from evalkit.scoring.records import ScoringSettings
from evalkit.statistics.student_t import check_confidence


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
    perf_metric: str | None = None
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
    keep: Sequence[str] | str | None = None
    rows: RowSource | None = None
    columns: ColumnStage | None = None
    against: Result | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        check_confidence(self.confidence)
        self.policies.check()
        _ = (self.selection, self.crossings)

    @property
    def policies(self) -> Policies:
        """What happens to examples without a valid response, and to repeated ids."""
        return Policies(self.on_missing, self.on_invalid, self.on_duplicate)

    @property
    def selection(self) -> Selection:
        """Which examples are evaluated."""
        return Selection.of(self.limit, self.filters)

    @property
    def settings(self) -> ScoringSettings:
        """How scores and intervals are computed."""
        return ScoringSettings(self.confidence, self.seed, self.jobs, self.min_n)

    @property
    def crossings(self) -> Mapping[str, Sequence[str]]:
        """What examples are grouped by beside their tags."""
        return read_crossings([self.by] if isinstance(self.by, str) else self.by)
