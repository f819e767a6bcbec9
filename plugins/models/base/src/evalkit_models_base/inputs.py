"""What a model is sent of a data set or a file: its inputs, and never its answers."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit import Registry
from evalkit.base.files import make_folder
from evalkit.base.ids import EXAMPLE_ID_KEYS
from evalkit.base.json_text import json_lines, json_text
from evalkit.catalog import (
    WITHOUT_PLUGIN,
    BoundDataset,
    BoundTask,
    DataSource,
    Resolver,
    bind_dataset,
)
from evalkit.errors import SchemaError, StorageError
from evalkit.examples.attachments import with_attached
from evalkit.examples.checking import checked_inputs
from evalkit.examples.conversion import answer_name, predicted_field
from evalkit.examples.files import chosen_data
from evalkit.examples.loading import load_rows
from evalkit.examples.rows import ExampleRows
from evalkit.examples.selection import Selection
from evalkit.examples.table import convert_examples
from evalkit.places import file_to_write
from evalkit.predictions.input_rows import rows_of_columns
from evalkit.reporting import new_file

if TYPE_CHECKING:
    import polars as pl


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


@dataclass(frozen=True)
class ModelInputs:
    """What a model is sent, in the data's order; it iterates over the rows.

    Attributes:
        dataset: Name of the data set.
        task: Name of its task.
        split: Name of the split.
        keys: The names of the inputs, without `uid`, which every row has too.
        rows: A dict for each example.
        examples: How many examples the split has, chosen or not.
        notices: What a user should know of them.
        labels: The labels of the data set as the task spells them; None without any.
        choices_field: Name of the field that lists an example's own options; None for
            none.
        answer_field: Name of the answer in a response; None where the task has a
            converter of its own.
        prompts: How a model is asked, by name: of the data set, where it has any,
            else of the task.
        asker: Id of what declares them.
    """

    dataset: str
    task: str
    split: str
    keys: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]
    examples: int
    notices: tuple[str, ...] = ()
    labels: tuple[str, ...] | None = None
    choices_field: str | None = None
    answer_field: str | None = None
    prompts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    asker: str = ""

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def json_lines(self) -> Iterator[str]:
        """Return an iterator over the rows as lines of JSON, each with its end."""
        return json_lines(self.rows)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the rows to a file, which appears when it is whole.

        Its suffix says the format: JSON lines (`.jsonl`, `.ndjson`), CSV, TSV, Parquet
        or Arrow. A file that is there is replaced with `overwrite` only.

        Raises:
            SchemaError: A column has values of several types, which a table cannot
                hold.
            StorageError: It is there already, cannot be written, or has a suffix that
                stands for none of these formats.
        """
        return write_inputs(self.rows, ("uid", *self.keys), path, overwrite=overwrite)


def load_inputs(
    dataset: Any = None,
    *,
    data: Any = None,
    task: Any = None,
    split: str | None = None,
    limit: int | None = None,
    filters: Mapping[str, str | Sequence[str]] | None = None,
    rows: DataSource | None = None,
    registry: Registry | None = None,
) -> ModelInputs:
    """Load what a model is sent: the task's `input_keys` and the id of each example.

    Args:
        dataset: As for `evaluate`; a file need not hold answers.
        data: A file, dicts or a table, in place of the data set, as for `evaluate`.
        task: The task, by name or as a class or instance; only for a file of examples.
        split: Split of the data set; its default split by default.
        limit: Take at most so many examples, the first ones.
        filters: Take only examples with these values, as for `evaluate`.
        rows: What changes rows of the data, as for `evaluate`.
        registry: Where plugins are found; all that are installed by default.

    Returns:
        The rows.

    Raises:
        DataError: The data cannot be read.
        EvalkitError: A filter needs answers, and the file has none; or an argument is
            out of range.
        PluginError: A plugin is unknown or broken.
        SchemaError: Examples break the task's input.
    """
    registry = registry or Registry()
    resolver = Resolver(registry)
    selection = Selection.of(limit, filters)
    bound = bind_dataset(resolver, chosen_data(dataset, data), task, rows)
    bound_task = resolver.task(bound)
    split = split or bound.default_split
    loaded = load_rows(bound, bound_task, split)
    loaded = with_attached(bound, bound_task, checked_inputs(bound, bound_task, loaded))
    keys, notices = _sent_keys(bound, bound_task, loaded)
    selected, found = _selected(bound, bound_task, loaded, selection)
    frame = loaded.frame.with_columns(
        paths.alias(name) for name, paths in loaded.attached.items()
    )
    sent = rows_of_columns(bound_task, frame, loaded.nested, keys)
    if selected is not None:
        sent = [row for row, is_in in zip(sent, selected, strict=True) if is_in]
    asker: BoundDataset | BoundTask = bound if bound.prompts else bound_task
    return ModelInputs(
        bound.component.name,
        bound_task.component.name,
        split,
        keys,
        sent,
        frame.height,
        (*found, *notices),
        _labels(bound, bound_task),
        bound_task.choices_field,
        predicted_field(bound, bound_task) or bound_task.answer_field,
        asker.prompts,
        asker.component.id,
    )


def _labels(dataset: BoundDataset, task: BoundTask) -> tuple[str, ...] | None:
    given = dataset.labels or task.labels
    values = given.values() if isinstance(given, Mapping) else given
    return None if values is None else tuple(dict.fromkeys(values))


def _sent_keys(
    dataset: BoundDataset, task: BoundTask, loaded: ExampleRows
) -> tuple[tuple[str, ...], list[str]]:
    """Return what is sent of the columns that there are, and what was left out."""
    answers = {task.answer_field, answer_name(dataset, task)}
    notices = [
        f"{key!r} is among the inputs of the task {task.component.name}, and holds the "
        "answer; it is left out"
        for key in task.sent_keys
        if key in answers
    ]
    others = {*answers, *EXAMPLE_ID_KEYS}
    keys = [key for key in task.sent_keys if key not in others]
    return tuple(key for key in keys if key in loaded.frame.columns), notices


def _selected(
    dataset: BoundDataset, task: BoundTask, loaded: ExampleRows, selection: Selection
) -> tuple[pl.Series | None, tuple[str, ...]]:
    """Tell which examples are chosen, and what is to be said of the data."""
    has_plugin = dataset.component.distribution not in WITHOUT_PLUGIN
    field = answer_name(dataset, task)
    if has_plugin or task.answer_kind == "none" or field in loaded.columns:
        examples = convert_examples(dataset, task, loaded)
        return selection.mask(examples), examples.notices
    source, rows = loaded.source(dataset), loaded.frame.height
    return selection.mask_without_answers(source, field, rows), ()


_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_SUFFIXES = (".jsonl", ".ndjson", *_SEPARATORS, ".parquet", ".arrow")


def write_inputs(
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    path: str | Path,
    *,
    overwrite: bool,
) -> Path:
    """Write rows to a file, which appears when it is whole."""
    with file_to_write(path, overwrite=overwrite) as place:
        content = _content(rows, names, place)
        try:
            make_folder(place.parent)
        except OSError as error:
            reason = error.strerror
            raise StorageError(f"{place}: cannot be written: {reason}") from error
        with new_file(place, overwrite=overwrite) as part, part.open("wb") as stream:
            stream.writelines(content)
    return place


def _content(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], path: Path
) -> Iterable[bytes]:
    suffix, columns = path.suffix.lower(), list[Any]()
    if suffix in (".jsonl", ".ndjson", ".json"):
        return (line.encode("utf-8") for line in json_lines(rows))
    if suffix not in _SUFFIXES:
        raise StorageError(
            f"{path}: inputs are written to a file of the suffix {', '.join(_SUFFIXES)}"
        )
    import polars as pl

    for name in names:
        values = [row.get(name) for row in rows]
        if suffix in _SEPARATORS:  # as evalkit reads it: a list is JSON
            values = [
                v if v is None or isinstance(v, str) else json_text(v) for v in values
            ]
        try:
            columns.append(pl.Series(name, values, strict=True))
        except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
            raise SchemaError(
                f"{path}: {name}: has values of several types, which a table cannot "
                "hold; write .jsonl"
            ) from error
    frame, stream = pl.DataFrame(columns), io.BytesIO()
    if suffix in _SEPARATORS:
        frame.write_csv(stream, separator=_SEPARATORS[suffix])
    elif suffix == ".parquet":
        frame.write_parquet(stream)
    else:
        frame.write_ipc(stream)
    return [stream.getvalue()]
