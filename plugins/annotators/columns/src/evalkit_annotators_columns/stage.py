"""The column stage of annotators: `evaluate(..., columns=Annotators(…))`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.catalog import BoundMetric, ColumnStage, Resolver
from evalkit.examples.table import Examples
from evalkit.predictions.alignment import Alignment
from evalkit.predictions.column_stages import Tell
from evalkit.predictions.table import scoring_table
from evalkit_annotators_columns.annotations import annotate
from evalkit_annotators_columns.bound import BoundAnnotator
from evalkit_annotators_columns.declared import bind_declared, refuse_absent
from evalkit_annotators_columns.wanted import Wanted, find_annotators


class Annotators:
    """Annotators whose columns metrics read: declared ones, and installed ones.

    Installed annotators need no declaration: a metric names their columns.

    Args:
        declared: Annotators by the names that they get: what a file of `--annotate`
            says (`docs/judges.md`), classes, instances or loaded annotators.

    Attributes:
        declared: The same.
    """

    def __init__(self, declared: Mapping[str, Any] | None = None) -> None:
        self.declared = dict(declared or {})
        self._bound: Mapping[str, BoundAnnotator] | None = None

    def metrics(self, resolver: Resolver) -> list[str]:
        """Return the metrics of the declared annotators.

        Args:
            resolver: Finds annotators.

        Raises:
            PluginError: One is unknown or broken, or its declaration is wrong.
        """
        bound = self._bind_declared(resolver)
        return [name for each in bound.values() for name in each.metrics]

    def bind(
        self, resolver: Resolver, metrics: Iterable[BoundMetric], known: Collection[str]
    ) -> BoundAnnotators | None:
        """Find the annotators that metrics name among their columns.

        Args:
            resolver: Finds annotators.
            metrics: The metrics of the evaluation.
            known: Columns of the task.

        Raises:
            PluginError: One is unknown or broken, or does not give the column.
        """
        declared = self._bind_declared(resolver)
        wanted = find_annotators(resolver, declared, metrics, known)
        return BoundAnnotators(wanted) if wanted else None

    def _bind_declared(self, resolver: Resolver) -> Mapping[str, BoundAnnotator]:
        if self._bound is None:
            self._bound = bind_declared(self.declared, resolver)
        return self._bound


def annotators_of_task(
    declared: Mapping[str, Mapping[str, Any]], stage: ColumnStage | None
) -> Annotators:
    """Return a stage that has a task's annotators beside the user's, which win."""
    own = stage.declared if isinstance(stage, Annotators) else {}
    return Annotators({**declared, **own})


def annotators_of_columns(_columns: Any, stage: ColumnStage | None) -> ColumnStage:
    """Return a stage that finds installed annotators by columns of metrics."""
    return Annotators() if stage is None else stage


@dataclass(frozen=True)
class BoundAnnotators:
    """The annotators of one evaluation."""

    wanted: Sequence[Wanted]

    @property
    def reads(self) -> set[str]:
        """The fields of data and responses that annotators read."""
        return {name for each in self.wanted for name in each.annotator.reads}

    def compute(
        self,
        examples: Examples,
        alignment: Alignment,
        jobs: int,
        tell: Tell,
        engine: Any = None,
    ) -> Alignment:
        """Add the annotators' columns to the fields that metrics may ask for.

        A column that the data or the responses have is not computed.
        """
        notices: list[str] = []
        for each in self.wanted:
            table = scoring_table(examples, alignment)
            refuse_absent(each.annotator, table.frame.columns, table.offered)
            known = table.frame.columns
            columns = {n: part for n, part in each.columns.items() if n not in known}
            others = each.columns.keys() - columns.keys() - alignment.lacking.keys()
            origin = each.annotator.component.origin
            notices += [
                f"the column {name!r} that metrics ask for is one of the data or the "
                f"responses; {origin} was not asked"
                for name in sorted(others)
            ]
            if not columns:
                continue
            asked = Wanted(each.annotator, columns)
            found = annotate(asked, table.frame, jobs, tell, table.offered, engine)
            lacking = dict.fromkeys(found.columns, found.lacking)
            alignment = alignment._replace(
                fields={**alignment.fields, **found.columns},
                computed=(*alignment.computed, found),
                lacking={**alignment.lacking, **lacking},
            )
        return alignment._replace(notices=(*alignment.notices, *notices))
