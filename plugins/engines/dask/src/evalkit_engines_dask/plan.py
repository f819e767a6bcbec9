"""What all tasks of an evaluation share: it lies in the store, and tasks name it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import polars as pl

from evalkit.base.copies import COPY_COLUMNS
from evalkit.base.jobs import Job
from evalkit.base.terms import MetricContext
from evalkit.examples.table import Examples
from evalkit.plugins.bound import BoundMetric
from evalkit.predictions.input_rows import fields_read
from evalkit.predictions.responses import ResponseReader
from evalkit.runs.recording import Asked
from evalkit.workflows.partitions import PartitionPlan
from evalkit_engines_dask.buckets import Pieces, Rows
from evalkit_engines_dask.store import load_once


class Task(NamedTuple):
    """Where a task finds what it needs."""

    store: str
    folder: str
    """Folder of this evaluation, which is removed at its end."""
    buckets: int = 0
    plan: str = ""
    """File of the `Plan`."""
    data: str = ""
    """Folder of the data's buckets, which is named by what they are made of."""

    def load(self) -> Plan:
        """Read the plan."""
        plan: Plan = load_once(self.store, self.plan)
        return plan


class Plan(NamedTuple):
    """What is evaluated, and what is known of all examples and responses."""

    asked: Asked
    """The plugins; once the data were read, metrics with `prepare` have seen them."""
    model: str
    job: Job | None
    """The job that made the predictions."""
    writes: bool
    """Whether a run folder is written."""
    survey: Survey = None  # type: ignore[assignment]
    """What is known of all examples; None until the data were read."""

    @property
    def metrics(self) -> list[BoundMetric]:
        """All metrics, those that one plugin computes apart."""
        return [part for metric in self.asked.metrics for part in metric.parts()]

    @property
    def partition(self) -> PartitionPlan:
        """What core scores parts by."""
        whole = self.survey.examples
        known = (whole.labels, whole.answer_kind)
        context = MetricContext(*known, job=self.job, languages=whole.languages)
        return PartitionPlan(self.asked, context)

    @property
    def columns(self) -> set[str] | None:
        """The columns of the data that buckets hold; None for all."""
        asked = self.asked
        if asked.columns is None:
            return None
        read = fields_read(asked.dataset, asked.task)
        return {*asked.columns, *COPY_COLUMNS, *asked.options.selection.columns, *read}

    def reader(self, examples: Examples) -> ResponseReader:
        """Return what reads responses to some examples."""
        asked = self.asked
        fields = asked.fields | (asked.crossed - {"answer", "pred"})
        bound = asked.task, asked.dataset, examples
        return ResponseReader(*bound, fields, asked.answers)


class Survey(NamedTuple):
    """What core infers of the examples of a part of the data, or of all."""

    examples: Examples
    """Without a row; in a part a column without a value has the type Null."""
    is_clustered: bool
    facets: Sequence[str]
    pieces: Pieces
    """Files of `Examples`, or of the data themselves."""
    rows: int
    selected: Rows
    """The first rows that are evaluated, as many as a limit takes; none without one."""
    values: Mapping[str, pl.Series] = {}
    """Of a part, the distinct values of columns that a run may keep, some twice."""
    refusal: str | None = None
    """Why the filters choose no example of a part."""
    types: Mapping[str, pl.DataType] = {}
    """Types of the columns that have a value, as they were read."""

    def fits(self, whole: Mapping[str, pl.DataType]) -> bool:
        """Tell whether the columns have the types that they have in the whole."""
        return self.types.items() <= whole.items()

    def at(self, parts: Sequence[Path | None]) -> Self:
        """Return it for the same parts, which may lie elsewhere now."""
        pieces = [
            (
                start,
                {
                    n: f if isinstance(f, str) or p is None else p
                    for n, f in own.items()
                },
            )
            for (start, own), p in zip(self.pieces, parts, strict=True)
        ]
        return self._replace(pieces=pieces)


class Inferred(NamedTuple):
    """What core infers from responses, of a part or of all."""

    replications: tuple[str, ...]
    types: Mapping[str, pl.DataType]
    """Types of predictions (`pred`) and of fields that have a value."""
    edges: Mapping[str, tuple[float, ...]] = {}
    """What cuts the numbers of columns that examples are grouped by."""
    is_refused: bool = False
    """Whether the policies refuse some responses, so that none is scored."""
    unanswered: bool = False
    """Whether some answer that counts has no prediction, which some metrics refuse."""
