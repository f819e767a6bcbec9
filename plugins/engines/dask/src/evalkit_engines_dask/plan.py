"""What all tasks of an evaluation share: it lies in the store, and tasks name it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.copies import COPY_COLUMNS
from evalkit.base.jobs import Job
from evalkit.base.terms import MetricContext
from evalkit.examples.table import Examples
from evalkit.predictions.input_rows import fields_read
from evalkit.runs.recording import Asked
from evalkit.scoring.grouping import Whole
from evalkit_engines_dask.store import load_once


class Task(NamedTuple):
    """Where a task finds what it needs."""

    store: str
    folder: str
    """Folder of this evaluation, which is removed at its end."""
    buckets: int
    is_bucketed: bool = False
    """Whether each file of data and predictions holds one bucket."""
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
    survey: Survey | None = None
    """None until the data were read."""
    job: Job | None = None
    """The job that made the predictions."""
    writes: bool = False
    """Whether a run folder is written."""

    @property
    def columns(self) -> set[str] | None:
        """The columns of the data that buckets hold; None for all."""
        asked = self.asked
        if asked.columns is None:
            return None
        read = fields_read(asked.dataset, asked.task)
        return {*asked.columns, *COPY_COLUMNS, *asked.options.selection.columns, *read}

    @property
    def keeps_responses(self) -> bool:
        """Whether the run holds the rows as they came."""
        return self.writes and self.asked.options.include_examples

    @property
    def fields(self) -> set[str]:
        """The fields of responses that are kept where the task does not name them."""
        return self.asked.fields | (self.asked.crossed - {"answer", "pred"})


class Survey(NamedTuple):
    """What core infers of all examples, found in all parts of the data and merged."""

    examples: Examples
    """Without a row: types, labels, kind of answers, identity, kept columns."""
    is_clustered: bool
    facets: Sequence[str]
    files: Sequence[Sequence[tuple[int, str]]]
    """By bucket, the file of each part, and the number of examples before the part."""
    rows: int
    selected: int | None
    """Number of examples that are evaluated; None for all."""
    last: int
    """Number of the last example that is selected."""

    @property
    def context(self) -> MetricContext:
        """What metrics know."""
        known = self.examples
        return MetricContext(known.labels, known.answer_kind, languages=known.languages)


class Inferred(NamedTuple):
    """What core infers from responses, of a part or of all."""

    replications: tuple[str, ...]
    types: Mapping[str, pl.DataType]
    """Types of predictions (`pred`) and of fields that have a value."""
    edges: Mapping[str, tuple[float, ...]]
    """What cuts the numbers of columns that examples are grouped by."""
    is_refused: bool = False
    """Whether the policies refuse some responses, so that none is scored."""
    unanswered: bool = False
    """Whether some answer that counts has no prediction, which some metrics refuse."""

    def whole(self, facets: Sequence[str]) -> Whole:
        """Return it in the form that grouping takes."""
        edges = {name: np.array(each) for name, each in self.edges.items()}
        return Whole(facets, edges)
