"""Gives the rows of a data set as they are: inputs, answers, tags, and all else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.base.files import new_file
from evalkit.base.json_text import json_lines
from evalkit.examples.checking import checked_inputs
from evalkit.examples.files import bind_dataset
from evalkit.examples.loading import load_rows
from evalkit.examples.table import convert_examples
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.input_rows import rows_of_columns


class WholeRows(NamedTuple):
    """All rows of a split, with every field that they have."""

    dataset: str
    task: str
    split: str
    version: str
    """Of the data set."""
    license: str | None
    source_url: str | None
    rows: Sequence[Mapping[str, Any]]

    def json_lines(self) -> Iterator[str]:
        """Return an iterator over the rows as lines of JSON, each with its end."""
        return json_lines(self.rows)

    def save(self, path: Path) -> None:
        """Write the rows to a new file of JSON lines.

        Args:
            path: The file.

        Raises:
            StorageError: It is there already, or cannot be written.
        """
        with new_file(path, overwrite=False) as part, part.open("wb") as stream:
            stream.writelines(line.encode() for line in self.json_lines())


def load_whole_rows(
    dataset: Any,
    *,
    task: Any = None,
    split: str | None = None,
    registry: Registry | None = None,
) -> WholeRows:
    """Load all rows of a split, as its adapters give them, and check them.

    Args:
        dataset: As for `evaluate`: the name of a data set, or a file.
        task: The task of a file of examples.
        split: Name of the split; by default the data set's own default.
        registry: Where plugins are found; all that are installed by default.

    Returns:
        The rows.

    Raises:
        DataError: The data cannot be loaded.
        PluginError: The data set or its task is unknown or broken.
        SchemaError: Rows break the task's `Input`, repeat an id, or their answers are
            none of the labels.
    """
    resolver = Resolver(registry or Registry())
    bound = bind_dataset(resolver, dataset, task)
    bound_task = resolver.task(bound)
    split = split or bound.default_split
    loaded = checked_inputs(bound, bound_task, load_rows(bound, bound_task, split))
    if bound_task.answer_kind != "none":
        convert_examples(bound, bound_task, loaded)
    return WholeRows(
        bound.component.name,
        bound_task.component.name,
        split,
        bound.version,
        bound.license,
        bound.source_url,
        rows_of_columns(bound_task, loaded.frame, loaded.nested, loaded.frame.columns),
    )
