"""Turns the rows of a data set into what is scored: answers, tags, clusters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import all_named
from evalkit.base.ids import EXAMPLE_ID_KEYS
from evalkit.base.terms import AnswerKind
from evalkit.examples.answers import Reporter, answer_column
from evalkit.examples.attachments import file_fields, with_attached
from evalkit.examples.checking import checked_inputs
from evalkit.examples.clusters import (
    cluster_column,
    cluster_names,
    cluster_notices,
    count_without,
)
from evalkit.examples.conversion import LABEL_CONVERTER, find_converter, prediction_type
from evalkit.examples.fingerprints import DataIdentity, fingerprint
from evalkit.examples.kept import names_to_keep
from evalkit.examples.label_conversion import convert_labels, tag_column, tag_notices
from evalkit.examples.loading import Asked, load_rows
from evalkit.examples.rows import ExampleRows
from evalkit.plugins.bound import BoundDataset, BoundTask


class Examples(NamedTuple):
    """The checked examples of one split, in the data's order."""

    frame: pl.DataFrame
    """Columns `id`, `answer`, `tags` (list of texts, each once) and `cluster`
    (integers; null where nobody names any)."""
    inputs: pl.DataFrame
    """The rows as loaded, with `uid` as text; only the columns that were asked for."""
    nested: Mapping[str, Sequence[Any]]
    """Values of those columns of `inputs` that hold other values as JSON text."""
    labels: tuple[str, ...] | None
    """The labels, as the task spells them."""
    answer_kind: AnswerKind
    """The task's; `any-of` where the task says `one` and an answer has several."""
    identity: DataIdentity
    """What tells whether the data is the same."""
    notices: tuple[str, ...]
    data_columns: tuple[str, ...] = ()
    """The names of all columns of the data, also of those that `inputs` lacks."""
    choices: pl.Series | None = None
    """Lists of the options that each example has, where the task names such a field."""
    kept: tuple[str, ...] = ()
    """The columns of the data that a run keeps."""
    languages: tuple[str, ...] = ()
    """BCP 47 codes of the languages of the texts."""
    without_cluster: int = 0
    """How many have no value of the columns that a user took clusters from."""

    def where(self, selected: pl.Series) -> Examples:
        """Return some of the examples."""
        return self.at(selected.arg_true().to_numpy())

    def repeated(self, times: int) -> Examples:
        """Return each example several times, one after the other."""
        return self.at(np.repeat(np.arange(self.frame.height), times))

    def at(self, rows: NDArray[Any]) -> Examples:
        """Return the examples at some places."""
        return self._replace(
            frame=self.frame[rows],
            inputs=self.inputs[rows],
            choices=None if self.choices is None else self.choices[rows],
            nested={
                name: [values[row] for row in rows.tolist()]
                for name, values in self.nested.items()
            },
        )

    @property
    def clustered(self) -> bool:
        """Whether rows are grouped into clusters."""
        return self.frame["cluster"].null_count() < self.frame.height


def load_examples(
    dataset: BoundDataset,
    task: BoundTask,
    split: str,
    columns: Collection[str] | None = None,
    given: Any = None,
    limit: int | None = None,
    *,
    is_part: bool = False,
    typed: Callable[[ExampleRows], ExampleRows] = lambda rows: rows,
) -> Examples:
    """Load, check and convert the examples of a split, or of a part of it.

    `typed` brings the columns of a part into the types that they have in the whole.
    """
    needed = None if columns is None else _needed(dataset, task, columns)
    asked = _asked(dataset, task, needed)._replace(limit=limit)
    parts = needed, given, asked
    loaded = load_rows(dataset, task, split, *parts, needs_answer=True, is_part=is_part)
    checked = checked_inputs(dataset, task, typed(loaded))
    checked = with_attached(dataset, task, checked)
    return convert_examples(dataset, task, checked, columns, is_part=is_part)


def convert_examples(
    dataset: BoundDataset,
    task: BoundTask,
    loaded: ExampleRows,
    columns: Collection[str] | None = None,
    *,
    is_part: bool = False,
) -> Examples:
    """Convert rows that were loaded and checked to what is scored."""
    labels, mapping = labels_of(dataset, task)
    _, dtype = prediction_type(dataset, task)
    converted = convert_labels(dataset, task, loaded, dtype)
    reporter = Reporter(dataset, loaded, converted.field)
    frame = loaded.frame
    kind: AnswerKind = "none"
    column = pl.repeat(None, frame.height, dtype=pl.String, eager=True).alias("answer")
    choices = None if task.choices_field is None else frame[task.choices_field]
    if task.answer_kind != "none":
        answers = converted.answers
        kind, column = answer_column(reporter, task, answers, labels, mapping, choices)
    clusters = cluster_column(dataset, loaded)
    prepared = pl.DataFrame(
        [
            frame["uid"].alias("id"),
            column,
            tag_column(reporter, converted.tags),
            clusters,
        ]
    )
    identity = fingerprint(dataset, loaded)
    notices = (*dataset.notices, *identity.notices)
    without = count_without(dataset, frame)
    notices += tuple(cluster_notices(dataset, without))
    notices += tuple(tag_notices(dataset, task, loaded.columns))
    notices += () if dataset.pipeline is None else (*dataset.pipeline.notices,)

    frame = frame.with_columns(
        paths.alias(name) for name, paths in loaded.attached.items()
    )
    kept = names_to_keep(dataset, task, loaded, is_part)
    if columns is not None:
        wanted = {*columns, *kept} - {"uid"}
        frame = frame.select(
            all_named(["uid", *(name for name in frame.columns if name in wanted)])
        )
    return Examples(
        prepared,
        frame,
        {
            name: values
            for name, values in loaded.nested.items()
            if name in frame.columns
        },
        labels,
        kind,
        identity,
        notices,
        data_columns=tuple(loaded.columns),
        choices=choices,
        kept=kept,
        languages=tuple(dataset.languages),
        without_cluster=without,
    )


def _needed(
    dataset: BoundDataset, task: BoundTask, columns: Collection[str]
) -> set[str] | None:
    """Return the columns that converters, clusters and a caller read; None for all."""
    needed = {*columns, *cluster_names(dataset), *file_fields(task.Input)}
    needed |= {*(dataset.keep or ())}
    needed |= {task.choices_field} if task.choices_field else set()
    declared = find_converter(LABEL_CONVERTER, dataset, task)[1] or {}
    for value in declared.values():
        named = value.values() if isinstance(value, Mapping) else [value]
        if not all(isinstance(name, str) for name in named):
            return None  # an expression may read any column
        needed.update(named)
    return needed


def _asked(dataset: BoundDataset, task: BoundTask, needed: set[str] | None) -> Asked:
    """Say what a data set is asked for that looks at it."""
    fields = task.Input.model_fields
    is_open = task.Input.model_config.get("extra") in ("allow", "forbid")
    aliased = any(field.validation_alias for field in fields.values())
    declared = find_converter(LABEL_CONVERTER, dataset, task)[1]
    own = None if declared is None or is_open or aliased else _needed(dataset, task, ())
    if own is None:
        return Asked()
    always = {*own, *fields, *EXAMPLE_ID_KEYS} - {*dataset.chosen_cluster}
    always |= {*dataset.declared_cluster}
    return Asked(None if needed is None else {*needed, *always}, always)


def labels_of(
    dataset: BoundDataset, task: BoundTask
) -> tuple[tuple[str, ...] | None, Mapping[str, str] | None]:
    """Return a data set's labels as its task spells them."""
    declared = dataset.labels
    if isinstance(declared, Mapping):
        return tuple(dict.fromkeys(declared.values())), declared
    labels = declared if declared is not None else task.labels
    return (None if labels is None else tuple(labels)), None
