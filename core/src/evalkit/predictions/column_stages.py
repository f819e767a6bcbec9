"""The protocol of column stages: columns computed after matching, before scoring."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

from evalkit.examples.table import Examples
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.alignment import Alignment

Tell = Callable[[str], None]


class ColumnStage(Protocol):
    """Computes columns of matched responses: `evaluate(..., columns=…)`.

    A distribution that computes columns declares in the entry-point group
    `evalkit.attributes` which attribute of another kind it obeys, such as
    `tasks.annotators`, or `metrics.columns` for columns that neither data nor responses
    have. The entry point is a function `(value, stage) -> ColumnStage`, which returns
    a stage that obeys the value beside what `stage` (or None) does.
    """

    def metrics(self, resolver: Resolver) -> Sequence[str]:
        """Return the names of the metrics that are computed beside the others."""

    def bind(
        self, resolver: Resolver, metrics: Iterable[BoundMetric], known: Collection[str]
    ) -> BoundColumns | None:
        """Find what computes the columns that metrics read.

        Args:
            resolver: Finds plugins.
            metrics: The metrics of the evaluation.
            known: Columns of the task.

        Returns:
            The stage of this evaluation; None if it computes none of the columns.

        Raises:
            PluginError: What computes a column is unknown or broken.
        """


class BoundColumns(Protocol):
    """A column stage of one evaluation."""

    @property
    def reads(self) -> Collection[str]:
        """The fields of data and responses that it reads."""

    def compute(
        self,
        examples: Examples,
        alignment: Alignment,
        jobs: int,
        tell: Tell,
        engine: Any = None,
    ) -> Alignment:
        """Return the alignment with the columns, those computed and those lacking."""
