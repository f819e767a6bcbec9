"""Turns stored rows into examples: fields, answers, options and tags."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from evalkit.base.ids import EXAMPLE_ID_KEYS
from evalkit.base.violations import shorten
from evalkit.errors import AdapterError, DataError
from evalkit_benchmarks_declared.schema import Data, Position
from evalkit_benchmarks_declared.sources import StoredRow
from evalkit_benchmarks_declared.tasks import CHOICES, TYPES
from evalkit_benchmarks_declared.templates import (
    Evaluate,
    Language,
    compile_expression,
    read_list,
)

Rows = Callable[[str], Iterable[Mapping[str, Any]]]
"""Function of a stored split that gives stored rows."""

ROW_NUMBERS = {"#row": 0, "#row0": -1}
"""What an id expression adds to the number of a row."""

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Target(NamedTuple):
    """The fields of examples."""

    types: Mapping[str, tuple[str, bool]]
    """Type of each input field ("" if the task is an installed one), and whether
    examples may lack it."""
    answer: str
    """Name of the answer."""
    answer_type: str
    """Type of the answer; "" if the task is an installed one."""
    computed: Mapping[str, str] = {}
    """Template over columns and fields of each field that a prompt needs."""


class Examples:
    """Makes examples of stored rows.

    Args:
        data: What the file says of its data.
        target: The fields of examples.
        templates: Language of templates.

    Raises:
        DataError: An expression is malformed.
    """

    def __init__(self, data: Data, target: Target, templates: Language) -> None:
        self._data, self._target, self._templates = data, target, templates
        self._fields: dict[str, tuple[str, Evaluate]] = {}
        for name, texts in data.fields.items():
            kind = target.types.get(name, ("", True))[0]
            self._fields[name] = self._compile(f"data.fields.{name}", texts, kind)
        if data.choices is not None:
            self._fields[CHOICES] = self._compile("data.choices", data.choices, "texts")
        self._computed = {
            name: self._compile(name.replace("_", ".", 1), text, "text")
            for name, text in target.computed.items()
        }
        self._id = None
        if data.id is not None and data.id not in ROW_NUMBERS:
            self._id = self._compile("data.id", data.id, "text")
        self._tags = {
            facet: self._compile(f"data.tags.{facet}", text, "")
            for facet, text in data.tags.items()
        }
        self._way, answer = "", data.answer
        if isinstance(answer, Position):
            [(self._way, answer)] = answer.model_dump(exclude_unset=True).items()
        elif answer is not None and target.answer_type == "choice":
            raise DataError(
                "data.answer: an option is named by its index, letter or text. Write "
                "{index: …}, {letter: …} or {text: …}"
            )
        key = f"data.answer.{self._way}".rstrip(".")
        self._answer = None if answer is None else self._compile(key, answer, "")

    def _compile(
        self, key: str, texts: str | Sequence[str], kind: str
    ) -> tuple[str, Evaluate]:
        """Compile an expression, or a list of them; return it with its key."""
        try:
            if isinstance(texts, str):
                is_native = kind != "text"
                return key, compile_expression(texts, self._templates, native=is_native)
            parts = [
                compile_expression(text, self._templates, native=False)
                for text in texts
            ]
        except DataError as error:
            raise DataError(f"{key}: {error}") from error
        return key, lambda row: [evaluate(row) for evaluate in parts]

    def examples(
        self, rows: Iterable[StoredRow], prefix: str = ""
    ) -> list[dict[str, Any]]:
        """Make examples of the rows of a split.

        Args:
            rows: The stored rows.
            prefix: Text before the ids that are numbers of rows.

        Raises:
            DataError: A row lacks a column, or a value cannot be used.
        """
        kept = self._chosen(self._adapted(rows))
        made = [self._example(f"{prefix}{number}", row) for number, row in kept]
        if self._data.answer_extract is not None:
            self._extract_answers(made, [row.place for _, row in kept])
        return made

    def _adapted(self, rows: Iterable[StoredRow]) -> Iterator[StoredRow]:
        if not self._data.adapters:
            yield from rows
            return
        from evalkit_adapters_rows import pipeline

        place = ""
        try:
            adapt = pipeline(self._data.adapters)
            for number, (place, values) in enumerate(rows, start=1):
                for adapted in adapt([dict(values)], number):
                    yield StoredRow(place, adapted)
        except AdapterError as error:
            key = f"{place}: data.adapters" if place else "data.adapters"
            raise DataError(f"{key}: {error}") from error

    def _chosen(self, rows: Iterable[StoredRow]) -> list[tuple[int, StoredRow]]:
        """Return the rows that `where` and `sample` leave, with their numbers."""
        shift = ROW_NUMBERS.get(self._data.id or "", 0)
        kept = [
            (number + shift, row)
            for number, row in enumerate(rows, start=1)
            if all(_has(row, *each) for each in self._data.where.items())
        ]
        sample = self._data.sample
        if sample is None:
            return kept
        if sample.count > len(kept):
            raise DataError(
                f"data.sample.count: must be at most {len(kept)}, the number of "
                f"examples, got {sample.count}"
            )
        chosen = random.Random(sample.seed).sample(range(len(kept)), sample.count)
        return [kept[place] for place in sorted(chosen)]

    def _example(self, number: str, row: StoredRow) -> dict[str, Any]:
        columns = row.values.items()
        made = {name: value for name, value in columns if name not in EXAMPLE_ID_KEYS}
        made["uid"] = self._uid(number, row)
        for name, field in self._fields.items():
            made[name] = _value(row, field)
        if self._target.answer_type:
            for name, (kind, optional) in self._target.types.items():
                key = self._fields[name][0] if name in self._fields else f"field {name}"
                try:
                    made[name] = _typed(kind, optional, made.get(name))
                except ValueError as error:
                    raise DataError(f"{row.place}: {key}: {error}") from error
        if self._answer is not None:
            value = _value(row, self._answer)
            try:
                made[self._target.answer] = self._read_answer(value, made.get(CHOICES))
            except ValueError as error:
                raise DataError(f"{row.place}: {self._answer[0]}: {error}") from error
        fields = StoredRow(row.place, made)
        made |= {name: _value(fields, each) for name, each in self._computed.items()}
        tags = [*self._tags_of(row)]
        if tags:
            made["tags"] = [*(row.values.get("tags") or []), *tags]
        return made

    def _uid(self, number: str, row: StoredRow) -> str:
        if self._data.id in ROW_NUMBERS:
            return number
        values = row.values
        value = values.get("id", values.get("uid"))
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
        if self._way:
            if not isinstance(options, list):
                raise ValueError("the example has no options. Write data.choices")
            several = value if isinstance(value, list) else [value]
            found = [_option(self._way, each, options) for each in several]
            return found if isinstance(value, list) else found[0]
        kind = self._target.answer_type
        if kind == "number":
            return _typed("number", False, value)
        if kind == "spans":
            return json.loads(value) if isinstance(value, str) else value
        items = read_list(value) if kind == "labels" else value
        if kind == "labels" and items is None:
            raise ValueError(f"must be a list of labels, got {shorten(value)}")
        if isinstance(items, list):
            return [self._label(item) for item in items]
        return self._label(items)

    def _label(self, value: Any) -> Any:
        mapping = self._data.labels
        if mapping is None:
            return str(value) if self._target.answer_type else value
        if str(value) not in mapping:
            known = ", ".join(map(repr, mapping))
            raise ValueError(
                f"unknown label {str(value)!r}. Labels of data.labels: {known}"
            )
        return mapping[str(value)]

    def _tags_of(self, row: StoredRow) -> Iterator[str]:
        for facet, field in self._tags.items():
            value = _value(row, field)
            for each in value if isinstance(value, list) else [value]:
                text = "" if each is None else str(each).strip()
                if text:
                    yield f"{facet}:{text}"

    def _extract_answers(
        self, examples: Sequence[dict[str, Any]], places: Sequence[str]
    ) -> None:
        """Replace the answers by what `answer_extract` takes out of them."""
        import polars as pl

        from evalkit_adapters_rows import extraction

        name = self._target.answer
        texts = pl.Series([example[name] for example in examples], dtype=pl.String)
        found = extraction(self._data.answer_extract).extract(texts)
        columns = zip(examples, places, found.values, found.reasons, strict=True)
        for example, place, value, reason in columns:
            if value is None:
                raise DataError(f"{place}: data.answer_extract: {reason}")
            example[name] = value


def _value(row: StoredRow, field: tuple[str, Evaluate]) -> Any:
    key, evaluate = field
    try:
        return evaluate(row.values)
    except DataError as error:
        raise DataError(f"{row.place}: {key}: {error}") from error


def _has(row: StoredRow, column: str, value: Any) -> bool:
    """Tell whether a column has a value, or one of a list of values."""
    if column not in row.values:
        raise DataError(f"{row.place}: data.where: no column {column!r}")
    found = row.values[column]
    values = value if isinstance(value, list) else [value]
    return any(
        found == each and isinstance(found, bool) == isinstance(each, bool)
        for each in values
    )


def _typed(kind: str, optional: bool, value: Any) -> Any:
    """Return a value as the type of its field."""
    if value is None and optional:
        return None
    if value is None:
        raise ValueError("the value is missing")
    if kind == "texts":
        value = read_list(value)
        value = value if value is None else [*map(str, value)]
    elif kind == "text" and not isinstance(value, list | dict):
        value = str(value)
    is_misfit = isinstance(value, bool) != (kind == "boolean")
    try:
        if is_misfit:
            raise ValueError
        return TypeAdapter(TYPES[kind][0]).validate_python(value)
    except ValueError as error:
        shown = "a list" if value is None else shorten(value)
        raise ValueError(f"must be of the type {kind}, got {shown}") from error


def _option(way: str, value: Any, options: Sequence[str]) -> str:
    """Return the text of the option that an answer names."""
    text = str(value).strip()
    place = -1
    if way == "text" and str(value) in options:
        place = options.index(str(value))
    elif way == "letter" and len(text) == 1:
        place = _LETTERS.find(text.upper())
    elif way == "index":
        with_sign = text.removesuffix(".0")
        place = int(with_sign) if with_sign.isdecimal() else -1
    if not 0 <= place < len(options):
        raise ValueError(
            f"no option has the {way} {shorten(value)}. Options: {shorten(options)}"
        )
    return options[place]
