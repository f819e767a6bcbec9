"""The protocol of row sources: what changes rows before they are checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import polars as pl

from evalkit.examples.conversion import predicted_field
from evalkit.examples.row_stages import DataSource, RowStage, source_for
from evalkit.examples.table import Examples
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.plugins.importing import find_owner
from evalkit.plugins.registry import Registry
from evalkit.predictions.alignment import Alignment
from evalkit.predictions.answer_readers import AnswerReader
from evalkit.predictions.beside import System, read_system, system_file

if TYPE_CHECKING:
    from evalkit.diagnosis import Diagnosis


class BoundRows(NamedTuple):
    """What rows of one evaluation go through."""

    dataset: BoundDataset
    predictions: RowStage | None = None
    """What predictions go through before they are checked."""
    answers: AnswerReader | None = None
    """What takes the answers out of their texts after that."""


class RowSource(DataSource, Protocol):
    """Changes rows of data and predictions: `evaluate(..., rows=…)`.

    A distribution that changes rows declares in the entry-point group
    `evalkit.attributes` which attribute of a kind it obeys: `datasets.adapters`,
    `datasets.extract` or `tasks.extract`. The entry point is a function
    `(value, source) -> RowSource`, which returns a source that obeys the attribute
    beside what `source` (or None) does.
    """

    @property
    def facets(self) -> Mapping[str, str]:
        """The columns that become facets, by the name of the facet."""

    @property
    def reads_folders(self) -> bool:
        """Whether predictions may be a folder."""

    def bind(
        self,
        dataset: BoundDataset,
        task: BoundTask,
        system: System | None,
        where: str,
        registry: Registry,
    ) -> BoundRows:
        """Bind what predictions and labels go through.

        Args:
            dataset: The data set, as `with_data` returned it.
            task: Its task.
            system: What the file beside the predictions says; None for none.
            where: Name of this file.
            registry: Where plugins are found.

        Raises:
            PluginError: What changes the rows is unknown or broken.
        """

    def with_recorded(
        self,
        stages: Sequence[Mapping[str, Any]],
        extract: Sequence[Mapping[str, Any]] | None,
    ) -> RowSource:
        """Return a source for responses of a run, which obeys what that recorded.

        Args:
            stages: What the predictions went through; used where it names nothing.
            extract: What took the answers out, where it names nothing; empty for
                nothing, None for what the data set or the task declares.
        """

    def diagnose(
        self,
        dataset: BoundDataset,
        task: BoundTask,
        examples: Examples,
        alignment: Alignment,
        registry: Registry,
    ) -> Sequence[str]:
        """Say what would read responses that were refused.

        Args:
            dataset: The data set.
            task: Its task.
            examples: The examples, each as often as there are replications.
            alignment: The outcome of their responses.
            registry: Where plugins are found.
        """

    def of_copies(self, registry: Registry) -> RowStage | None:
        """Return what perturbed copies go through.

        Args:
            registry: Where plugins are found.
        """


def bind_rows(
    dataset: BoundDataset,
    task: BoundTask,
    source: RowSource | None,
    predictions: Any,
    registry: Registry,
) -> BoundRows:
    """Bind what rows go through, also as data set, task and a file beside say."""
    system = read_system(predictions)
    where = "" if system is None else str(system_file(predictions))
    if dataset.extract is not None:
        source = source_for(dataset, "extract", source)
    elif task.extract is not None or getattr(system, "extract", None) is not None:
        source = source_for(task, "extract", source)
    if source is None:
        return BoundRows(dataset)
    return source.bind(dataset, task, system, where, registry)


def diagnose(
    dataset: BoundDataset,
    task: BoundTask,
    examples: Examples,
    alignment: Alignment,
    registry: Registry,
) -> Diagnosis:
    """Say why responses were refused, and what would mend them."""
    from evalkit.diagnosis import Diagnosis, find_causes

    unreadable = alignment.problems.first("unreadable", _MOST_PROBLEMS)
    unknown = alignment.problems.first("unknown", _MOST_PROBLEMS)
    causes = find_causes(
        [violation for problem in unreadable for violation in problem.violations],
        [problem.id for problem in unknown if problem.id is not None],
        examples.frame["id"].unique(maintain_order=True),
    )
    mapping, absent = _absent_columns(alignment)
    field = predicted_field(dataset, task) or task.answer_field
    notices = [*absent, *_label_notices(examples, alignment, field)]
    owner = find_owner("tasks", "extract")
    if owner is not None:
        source: RowSource = owner(None, None)
        notices += source.diagnose(dataset, task, examples, alignment, registry)
    return Diagnosis([*causes], notices, mapping)


_MOST_PROBLEMS = 1_000
"""Problems of one kind that are looked at."""


def _absent_columns(alignment: Alignment) -> tuple[Mapping[str, str], Sequence[str]]:
    """Guess the columns of fields that no row has, and say how to map them."""
    from evalkit.diagnosis import guess_columns, how_to_map, shown_columns

    absent, counts = alignment.absent, alignment.counts
    if not absent or not alignment.undeclared:
        return {}, ()
    rows = counts["predictions"] + counts.get("unselected", 0)
    columns = sorted(alignment.undeclared)
    whole = [name for name in columns if alignment.undeclared[name] == rows]
    mapping = guess_columns(absent, whole)
    return mapping, [
        f"rows have {shown_columns(absent, columns)}, which the task does not declare; "
        f"{how_to_map('predictions', mapping)}"
    ]


def _label_notices(
    examples: Examples, alignment: Alignment, field: str | None
) -> Sequence[str]:
    """Say which predictions are no label, and which labels differ in form only."""
    from evalkit.diagnosis import (
        label_forms,
        labels_in_other_form,
        labels_of,
        unknown_labels,
    )

    if examples.labels is not None:
        labels: Sequence[str] = examples.labels
        values = Counter(
            violation.value
            for problem in alignment.problems.first("invalid", _MOST_PROBLEMS)
            for violation in problem.violations
            if violation.field.partition(".")[0] == field
            and isinstance(violation.value, str)
        )
        return [*labels_in_other_form(values, labels, "invalid prediction")]
    labels = labels_of(examples.frame["answer"], examples.answer_kind)
    given = alignment.predictions
    if given.dtype == pl.List(pl.String):
        given = given.explode()
    if not labels or given.dtype != pl.String:
        return ()
    values = Counter(given.filter(~given.is_in(labels)).drop_nulls())
    return [
        *label_forms(labels),
        *labels_in_other_form(values, labels),
        *unknown_labels(values, labels),
    ]
