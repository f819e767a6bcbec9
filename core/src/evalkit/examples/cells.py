"""Reads files of examples row by row, also where all cells are texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalkit.base.ids import EXAMPLE_ID_KEYS
from evalkit.examples.conversion import (
    LABEL_CONVERTER,
    answer_name,
    declaration,
    predicted_field,
)
from evalkit.examples.row_stages import names_texts
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.reading.files import read_rows
from evalkit.reading.formats import DELIMITERS, Format
from evalkit.reading.plain import read_plain_rows
from evalkit.reading.rows import Row
from evalkit.reading.schemas import cell_texts


class _Texts:
    """All columns but some."""

    def __init__(self, others: set[str], renamed: Mapping[str, set[str]]) -> None:
        mapped = {name for name, fields in renamed.items() if fields & others}
        self._others = (others - renamed.keys()) | mapped

    def __contains__(self, name: object) -> bool:
        return name not in self._others


def read_cells(
    dataset: BoundDataset, task: BoundTask, path: Path, kind: Format
) -> Iterator[Row]:
    """Read examples row by row; of plain lines each is an answer.

    Where all cells are texts, as in CSV, those of the task's `Input` fields that are no
    texts, and of answers to which predictions are no texts, are read as JSON; a JSON
    list of texts becomes a list as tags, and as an answer that may be one of several.
    Everything else stays the text that it is.
    """
    declared = {*task.Input.model_fields, *EXAMPLE_ID_KEYS}
    others = declared - cell_texts(task.Input) - {*EXAMPLE_ID_KEYS}
    answer = answer_name(dataset, task)
    field = predicted_field(dataset, task)
    is_text = field is None or field in cell_texts(task.Output)
    if answer is not None and (task.answer_kind == "number" or not is_text):
        others.add(answer)
    renamed = {} if dataset.pipeline is None else dataset.pipeline.renamed
    lists = names_texts(_list_names(dataset, task, answer) - declared, renamed)
    if kind is Format.PLAIN:
        yield from read_plain_rows(path, answer or "text")
        return
    for row in read_rows(path, kind, _Texts(others, renamed)):
        if row.values is None or kind not in DELIMITERS:
            yield row
            continue
        values = {
            name: _list_or_text(value) if name in lists else value
            for name, value in row.values.items()
        }
        yield row._replace(values=values)


def _list_names(dataset: BoundDataset, task: BoundTask, answer: str | None) -> set[str]:
    """Name the columns that hold lists, though no field says so."""
    tags = (declaration(LABEL_CONVERTER, dataset, task) or {}).get("tags", "tags")
    names = tags.values() if isinstance(tags, Mapping) else [tags]
    columns = {name for name in names if isinstance(name, str)}
    return columns | ({answer} if answer and task.answer_kind != "one" else set())


def _list_or_text(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith("["):
        return value
    try:
        items = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return items if all(isinstance(item, str) for item in items) else value
