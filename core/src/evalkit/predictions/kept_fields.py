"""Which fields of responses are kept beside the prediction, and their types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import get_origin

import polars as pl
from pydantic import BaseModel

from evalkit.base.ids import REPLICATION_KEY, RESPONSES_KEY
from evalkit.examples.table import Examples
from evalkit.plugins.attributes import RESERVED_FIELDS
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.reading.field_types import bare, model_types


def fields_asked_for(
    task: BoundTask, dataset: BoundDataset, examples: Examples, wanted: Iterable[str]
) -> Iterator[str]:
    """Find the fields that somebody asks for and only responses can have.

    Args:
        task: The task.
        dataset: The data set.
        examples: Its examples, whose columns are no fields of responses.
        wanted: What metrics ask for.

    Yields:
        The names of fields, beside the scored fields of the task.
    """
    yield from dataset.scored_fields
    others = {*examples.data_columns, *task.Input.model_fields, *task.scored_fields}
    others |= {*RESERVED_FIELDS, "uid", REPLICATION_KEY}
    if RESPONSES_KEY not in task.Output.model_fields:
        others.add(RESPONSES_KEY)  # the predictions of alternatives
    yield from {*wanted} - others


def types_of_fields(
    output: type[BaseModel], labels: Sequence[str] | None
) -> dict[str, pl.DataType]:
    """Return the types of fields but for those that map labels to numbers.

    The keys that those have are the plan's and the task's to check.

    Args:
        output: The task's `Output`.
        labels: The labels; None where there are none.

    Returns:
        The types by name, as far as the annotations say them.
    """
    types = model_types(output, labels)
    by_label = {
        name
        for name, dtype in types.items()
        if isinstance(dtype, pl.Struct)
        and get_origin(bare(output.model_fields[name].annotation)) is dict
    }
    return {name: types[name] for name in types.keys() - by_label}
