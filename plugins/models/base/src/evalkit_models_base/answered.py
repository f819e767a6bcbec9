"""Examples with their answers, for prompts that show some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit import Registry
from evalkit.catalog import DataSource, Resolver, bind_dataset
from evalkit.examples.checking import checked_inputs
from evalkit.examples.conversion import answer_name
from evalkit.examples.files import chosen_data
from evalkit.examples.loading import load_rows
from evalkit.examples.table import convert_examples
from evalkit.predictions.input_rows import rows_of_columns


class Answered(NamedTuple):
    """An example with its answer."""

    row: Mapping[str, Any]
    """The columns of the data, with `uid`, and without the answer."""
    answer: Any
    """The answer as it is scored; None where there is none."""
    stored: Any = None
    """The answer as it is in the data, such as a whole solution; None where that is not
    known."""
    tags: Sequence[str] = ()


def load_answered(
    dataset: Any = None,
    *,
    data: Any = None,
    task: Any = None,
    split: str | None = None,
    file: str | Path | None = None,
    rows: DataSource | None = None,
    registry: Registry | None = None,
) -> list[Answered]:
    """Load examples with their answers, in the data's order.

    The arguments are those of `load_inputs`, and `file`: a file in the form of the data
    set's rows, which is read in place of them.

    Raises:
        DataError: The data cannot be read, or lack answers.
        PluginError: A plugin is unknown or broken.
        SchemaError: Examples break the task's input.
    """
    resolver = Resolver(registry or Registry())
    bound = bind_dataset(resolver, chosen_data(dataset, data), task, rows)
    bound_task = resolver.task(bound)
    given = None if file is None else Path(file)
    split = split or bound.default_split
    loaded = load_rows(
        *(bound, bound_task, split), given=given, needs_answer=True, is_part=True
    )
    loaded = checked_inputs(bound, bound_task, loaded)
    examples = convert_examples(bound, bound_task, loaded)
    stored = answer_name(bound, bound_task)
    hidden = {bound_task.answer_field, stored}
    names = [name for name in loaded.frame.columns if name not in hidden]
    others = rows_of_columns(bound_task, loaded.frame, loaded.nested, names)
    wanted = [] if stored is None else [stored]
    as_stored = rows_of_columns(bound_task, loaded.frame, loaded.nested, wanted)
    answers, tags = (examples.frame[name].to_list() for name in ("answer", "tags"))
    return [
        Answered(row, answer, None if stored is None else found.get(stored), of_row)
        for row, answer, found, of_row in zip(
            others, answers, as_stored, tags, strict=True
        )
    ]
