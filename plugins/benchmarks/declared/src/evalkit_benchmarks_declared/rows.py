"""Turns stored rows into examples: fields, answers, options and tags."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from evalkit.base.ids import EXAMPLE_ID_KEYS
from evalkit.base.violations import shorten
from evalkit.errors import DataError
from evalkit_benchmarks_declared.schema import Benchmark, Task
from evalkit_benchmarks_declared.sources import StoredRow
from evalkit_benchmarks_declared.tasks import CHOICES, TYPES, input_types
from evalkit_benchmarks_declared.templates import (
    Evaluate,
    compile_expression,
    named,
    read_list,
)

ROW_NUMBERS = {"#row": 0, "#row0": -1}
"""What an id expression adds to the number of a row."""

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_TYPES = {kind: TypeAdapter(type_) for kind, (type_, _) in TYPES.items()}

_Example = dict[str, Any]
_Numbered = tuple[int, StoredRow]
_Texts = str | Sequence[str]
_Field = tuple[str, Evaluate]
"""A key of the benchmark file, and its compiled expression."""


class Examples:
    """Makes examples of stored rows; raises `DataError` for malformed expressions."""

    def __init__(
        self, benchmark: Benchmark, answer_field: str, computed: Mapping[str, str]
    ) -> None:
        task, self._data = benchmark.task, benchmark.data
        self._templates, self._answer_field = benchmark.templates, answer_field
        # an installed task has types of its own
        self._types = input_types(task) if isinstance(task, Task) else {}
        self._answer_type = task.answer if isinstance(task, Task) else ""
        data = self._data
        self._fields: dict[str, _Field] = {}
        for name, texts in data.fields.items():
            is_native = self._types.get(name, ("",))[0] != "text"
            key = f"data.fields.{name}"
            self._fields[name] = self._compile(key, texts, native=is_native)
        if data.choices is not None:
            self._fields[CHOICES] = self._compile("data.choices", data.choices)
        self._computed = {
            name: self._compile(name.replace("_", ".", 1), text, native=False)
            for name, text in computed.items()
        }
        self._tags = {
            facet: self._compile(f"data.tags.{facet}", text)
            for facet, text in data.tags.items()
        }
        self._where = {key: self._compile("data.where", key) for key in data.where}
        self._id: _Field | None = None
        if data.id is not None and data.id not in ROW_NUMBERS:
            self._id = self._compile("data.id", data.id, native=False)
        self._way, answer = "", data.answer
        if isinstance(answer, Mapping):
            [(self._way, answer)] = answer.items()
        elif answer is not None and self._answer_type == "choice":
            raise DataError(
                "data.answer: an option is named by its index, letter or text. Write "
                "{index: …}, {letter: …} or {text: …}"
            )
        key = f"data.answer.{self._way}".rstrip(".")
        self._answer = None if answer is None else self._compile(key, answer)

    def _compile(self, key: str, texts: _Texts, *, native: bool = True) -> _Field:
        """Compile an expression, or a list of them, whose values are texts."""
        is_one = isinstance(texts, str)
        with named(key):
            parts = [
                compile_expression(text, self._templates, native=native and is_one)
                for text in ([texts] if isinstance(texts, str) else texts)
            ]
        return key, parts[0] if is_one else lambda row: [part(row) for part in parts]

    def examples(self, rows: Iterable[StoredRow], split: str = "") -> list[_Example]:
        """Make examples of the rows of a split; "" is the one to evaluate."""
        kept = self._chosen(self._adapted(rows), split)
        answers = self._answers([row for _, row in kept])
        prefix = f"{split}-" if split else ""
        return [
            self._example(f"{prefix}{number}", row, answer)
            for (number, row), answer in zip(kept, answers, strict=True)
        ]

    def _adapted(self, rows: Iterable[StoredRow]) -> Iterator[StoredRow]:
        if not self._data.adapters:
            yield from rows
            return
        from evalkit_adapters_rows import pipeline

        with named("data.adapters"):
            adapt = pipeline(self._data.adapters)
        for number, (place, values) in enumerate(rows, start=1):
            with named(f"{place}: data.adapters"):
                adapted = [*adapt([dict(values)], number)]
            yield from (StoredRow(place, row) for row in adapted)

    def _chosen(self, rows: Iterable[StoredRow], split: str) -> list[_Numbered]:
        """Return the rows that `where` and `sample` leave, with their numbers."""
        where = self._data.where.items()
        shift = ROW_NUMBERS.get(self._data.id or "", 0)
        kept = [
            (number + shift, row)
            for number, row in enumerate(rows, start=1)
            if all(_is_one_of(_value(row, self._where[key]), x) for key, x in where)
        ]
        sample = self._data.sample
        if sample is None or split:
            return kept
        if sample.count > len(kept):
            raise DataError(
                f"data.sample.count: must be at most {len(kept)}, the number of "
                f"examples, got {sample.count}"
            )
        chosen = random.Random(sample.seed).sample(range(len(kept)), sample.count)
        return [kept[place] for place in sorted(chosen)]

    def _answers(self, rows: Sequence[StoredRow]) -> list[Any]:
        """Return the stored answers, or what `answer_extract` takes out of them."""
        if self._answer is None:
            return [None] * len(rows)
        answers = [_value(row, self._answer) for row in rows]
        if self._data.answer_extract is None:
            return answers
        import polars as pl

        from evalkit_adapters_rows import extraction

        for row, answer in zip(rows, answers, strict=True):
            if not isinstance(answer, str):
                got = shorten(answer)
                key = f"{row.place}: data.answer_extract"
                raise DataError(f"{key}: the stored answer must be a text, got {got}")
        texts = pl.Series(answers, dtype=pl.String)
        found = extraction(self._data.answer_extract).extract(texts)
        for row, reason in zip(rows, found.reasons, strict=True):
            if reason is not None:
                raise DataError(f"{row.place}: data.answer_extract: {reason}")
        return found.values.to_list()

    def _example(self, number: str, row: StoredRow, answer: Any) -> _Example:
        columns = row.values.items()
        made = {name: value for name, value in columns if name not in EXAMPLE_ID_KEYS}
        made["uid"] = self._uid(number, row)
        made |= {name: _value(row, field) for name, field in self._fields.items()}
        for name, (kind, optional) in self._types.items():
            key = self._fields[name][0] if name in self._fields else f"field {name}"
            with named(f"{row.place}: {key}"):
                made[name] = _typed(kind, optional, made.get(name))
        if self._answer is not None:
            with named(f"{row.place}: {self._answer[0]}"):
                made[self._answer_field] = self._read_answer(answer, made.get(CHOICES))
        fields = StoredRow(row.place, made)
        made |= {name: _value(fields, each) for name, each in self._computed.items()}
        if tags := [*self._tags_of(row)]:
            own = row.values.get("tags") or []
            made["tags"] = [*(own if isinstance(own, list) else [str(own)]), *tags]
        return made

    def _uid(self, number: str, row: StoredRow) -> str:
        if self._data.id in ROW_NUMBERS:
            return number
        value = row.values.get("id", row.values.get("uid"))
        if self._id is not None:
            value = _value(row, self._id)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise DataError(
                f"{row.place}: data.id: must be a text or an integer, got "
                f'{shorten(value)}. Name a column, or number the rows by "#row"'
            )
        return str(value)

    def _read_answer(self, value: Any, options: Any) -> Any:
        """Return an answer as the task has it; a list where there are several."""
        if value is None:
            raise ValueError("the answer is missing")
        kind = "" if self._way else self._answer_type
        if self._way and not isinstance(options, list):
            raise ValueError("the example has no options. Write data.choices")
        if kind == "number":
            return _typed("number", False, value)
        if kind == "spans":
            return json.loads(value) if isinstance(value, str) else value
        items = read_list(value) if kind == "labels" else value
        if items is None:
            raise ValueError(f"must be a list of labels, got {shorten(value)}")
        if isinstance(items, list):
            return [self._one_answer(item, options) for item in items]
        return self._one_answer(items, options)

    def _one_answer(self, value: Any, options: Any) -> Any:
        """Return the option or label that a value names, or else the value."""
        if self._way:
            return _option(self._way, value, options)
        mapping = self._data.labels
        if mapping is None:
            return str(value) if self._answer_type else value
        if str(value) not in mapping:
            known = ", ".join(map(repr, mapping))
            raise ValueError(f"unknown label {str(value)!r}. data.labels has {known}")
        return mapping[str(value)]

    def _tags_of(self, row: StoredRow) -> Iterator[str]:
        for facet, field in self._tags.items():
            value = _value(row, field)
            for each in value if isinstance(value, list) else [value]:
                text = "" if each is None else str(each).strip()
                if text:
                    yield f"{facet}:{text}"


def _value(row: StoredRow, field: _Field) -> Any:
    key, evaluate = field
    with named(f"{row.place}: {key}"):
        return evaluate(row.values)


def _is_one_of(found: Any, value: Any) -> bool:
    """Tell whether a cell has a value, or one of a list of values."""
    values = value if isinstance(value, list) else [value]
    is_bool = isinstance(found, bool)
    return any(found == each and isinstance(each, bool) == is_bool for each in values)


def _typed(kind: str, optional: bool, value: Any) -> Any:
    """Return a value as the type of its field."""
    if value is None and optional:
        return None
    if value is None:
        raise ValueError("the value is missing")
    read = value
    if kind == "texts":
        items = read_list(value)
        read = items and [*map(str, items)]
    elif kind == "text" and not isinstance(value, list | dict):
        read = str(value)
    try:
        if isinstance(read, bool) != (kind == "boolean"):
            raise ValueError
        return _TYPES[kind].validate_python(read)
    except ValueError as error:
        raise ValueError(f"must be of the type {kind}, got {shorten(value)}") from error


def _option(way: str, value: Any, options: Sequence[str]) -> str:
    """Return the text of the option that an answer names."""
    text, place = str(value).strip(), -1
    if way == "text":
        place = options.index(str(value)) if str(value) in options else -1
    elif way == "letter":
        place = _LETTERS.find(text.upper()) if len(text) == 1 else -1
    elif text.removesuffix(".0").isdecimal():
        place = int(text.removesuffix(".0"))
    if not 0 <= place < len(options):
        known = f"Options: {shorten(options)}"
        raise ValueError(f"no option has the {way} {shorten(value)}. {known}")
    return options[place]
