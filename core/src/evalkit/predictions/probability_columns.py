"""Probabilities that predictions hold in a column for each label."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evalkit.adapting.files import with_map
from evalkit.adapting.stages import Stage
from evalkit.base.label_forms import folded
from evalkit.base.violations import shorten
from evalkit.errors import DataError
from evalkit.plugins.bound import BoundTask
from evalkit.predictions.adapted import AdaptedPredictions
from evalkit.predictions.causes import PROBABILITIES
from evalkit.reading.files import TABLES, read_rows
from evalkit.reading.formats import Format, detect_format
from evalkit.reading.given_rows import local_path
from evalkit.reading.tables import read_frames

PREFIX = "prob_"

Rows = str | Path | pl.DataFrame | Sequence[Mapping[str, Any]]
Given = Rows | AdaptedPredictions


def with_probability_columns(
    predictions: Given, labels: Sequence[str] | None, task: BoundTask
) -> tuple[Given, list[str]]:
    """Put columns `prob_LABEL` into the field `prob`, where the task declares it.

    Only where there is a column for every label, and neither `prob` itself nor an
    adapter that may have made it: a map of other fields does not.

    Args:
        predictions: A file, rows or a table.
        labels: The labels; None where none are declared.
        task: The task.

    Returns:
        The predictions, and what a reader should know.

    Raises:
        DataError: Some labels have a column, and others not in whose place there may be
            one of no label.
    """
    declared = {*task.scored_fields, *task.Output.model_fields}
    if not labels or PROBABILITIES not in declared:
        return predictions, []
    given, adapters = predictions, None
    if isinstance(given, AdaptedPredictions):
        given, adapters = given
        if not all(_leaves_columns(stage) for stage in adapters.stages):
            return predictions, []
    columns = _columns_of(given)
    wanted = {label: f"{PREFIX}{label}" for label in labels}
    absent = [label for label, column in wanted.items() if column not in columns]
    if PROBABILITIES in columns or any("." in label for label in labels):
        return predictions, []
    if absent:
        return predictions, [*_strangers(columns, absent, labels)]
    mapping = {f"{PROBABILITIES}.{label}": column for label, column in wanted.items()}
    pipeline = with_map(adapters, mapping)
    assert pipeline is not None
    told = (
        f"the probabilities (`{PROBABILITIES}`) were taken from the columns "
        f"{', '.join(wanted.values())}"
    )
    return AdaptedPredictions(given, pipeline), [told]


def _strangers(
    columns: Collection[str], absent: Sequence[str], labels: Sequence[str]
) -> Iterator[str]:
    """Say which columns are called like one of a label, and of none.

    Where only some labels have a column and there are no others, or columns whose names
    differ only in case, a notice of what looks like probabilities says so.
    """
    forms = {folded(label) for label in labels}
    strange = [
        name
        for name in columns
        if name.startswith(PREFIX) and folded(name.removeprefix(PREFIX)) not in forms
    ]
    if not strange:
        return
    named = f"{shorten(strange[0])} names none of the labels {', '.join(labels)}"
    if len(absent) < len(labels):
        raise DataError(
            f"the column {named}, and {PREFIX}{absent[0]} is not there: probabilities "
            f"({PREFIX}LABEL) need a column for each label; rename it or leave them out"
        )
    yield f"the column {named}, and no probabilities are read from it"


def _leaves_columns(stage: Stage) -> bool:
    """Tell whether an adapter surely has nothing to do with probabilities."""
    if stage.kind != "map-fields":
        return stage.kind == "normalise-labels"
    mapping: Mapping[str, str] = stage.configuration
    return not any(
        name.startswith(PROBABILITIES) for name in (*mapping, *mapping.values())
    )


def _columns_of(predictions: Rows) -> Collection[str]:
    """Return the columns of a table, or the keys of the first row that is an object."""
    if isinstance(predictions, pl.DataFrame):
        return predictions.columns
    if not isinstance(predictions, str | Path):
        return next((list(row) for row in predictions if isinstance(row, Mapping)), [])
    path = local_path(predictions)
    kind = detect_format(path)
    if not _may_be_read(path):
        return []  # whoever reads the predictions says why not
    if kind in TABLES:
        return next((frame.columns for frame in read_frames(path, kind)), [])
    if kind is Format.PLAIN:
        return []
    rows = (row.values for row in read_rows(path, kind, (), ()))
    return next((list(values) for values in rows if values is not None), [])


def _may_be_read(path: Path) -> bool:
    try:
        with path.open("rb"):
            return True
    except OSError:
        return False
