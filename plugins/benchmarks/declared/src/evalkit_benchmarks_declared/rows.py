"""Turns stored rows into examples: fields, answers, options and tags."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.errors import AdapterError, DataError
from evalkit_benchmarks_declared.schema import Data, Position
from evalkit_benchmarks_declared.sources import StoredRow
from evalkit_benchmarks_declared.tasks import CHOICES
from evalkit_benchmarks_declared.templates import (
    Evaluate,
    Language,
    compile_expression,
    read_list,
)

ROW_NUMBERS = {"#row": 0, "#row0": -1}
"""What an id expression adds to the number of a row."""

_IDS = ("id", "uid")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Target:
    """The fields of examples.

    Attributes:
        types: Type of each input field, and whether it may be missing.
        answer: Name of the answer's field.
        answer_type: Type of the answer; "" if the task is an installed one.
        computed: Jinja template of each field that a prompt needs.
    """

    types: Mapping[str, tuple[str, bool]]
    answer: str
    answer_type: str = ""
    computed: Mapping[str, str] | None = None


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
        self._id = (
            None
            if data.id in (None, *ROW_NUMBERS)
            else self._compile("data.id", data.id or "", "text")
        )
        self._fields = {
            name: self._field(name, kind) for name, (kind, _) in target.types.items()
        }
        self._fields |= {
            name: self._field(name, "text")
            for name in data.fields
            if name not in self._fields
        }
        self._choices = (
            None if data.choices is None else self._listed("data.choices", data.choices)
        )
        self._answer = self._compiled_answer()
        self._tags = {
            facet: self._compile(f"data.tags.{facet}", text, "")
            for facet, text in data.tags.items()
        }
        self._computed = {
            name: self._compile(f"prompt ({name})", text, "text")
            for name, text in (target.computed or {}).items()
        }

    def _compile(self, key: str, text: str, kind: str) -> Evaluate:
        try:
            return compile_expression(text, self._templates, native=kind != "text")
        except DataError as error:
            raise DataError(f"{key}: {error}") from error

    def _listed(self, key: str, texts: str | Sequence[str]) -> Evaluate:
        if isinstance(texts, str):
            return self._compile(key, texts, "texts")
        each = [self._compile(key, text, "text") for text in texts]
        return lambda row: [evaluate(row) for evaluate in each]

    def _field(self, name: str, kind: str) -> Evaluate | None:
        """Compile the expression of a field; None for the column of its name."""
        if name not in self._data.fields:
            return None
        texts = self._data.fields[name]
        if kind == "texts" or not isinstance(texts, str):
            return self._listed(f"data.fields.{name}", texts)
        return self._compile(f"data.fields.{name}", texts, kind)

    def _compiled_answer(self) -> tuple[str, Evaluate] | None:
        declared = self._data.answer
        if declared is None:
            return None
        if isinstance(declared, Position):
            [(way, text)] = declared.model_dump(exclude_unset=True).items()
            return way, self._compile(f"data.answer.{way}", text, "")
        if self._target.answer_type == "choice":
            raise DataError(
                "data.answer: an option is named by its index, letter or text. Write "
                "{index: …}, {letter: …} or {text: …}"
            )
        return "", self._listed("data.answer", declared)

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
        made = [self._example(number, row, prefix) for number, row in kept]
        places = [row.place for _, row in kept]
        if self._data.answer_extract is not None:
            self._extract_answers(made, places)
        return made

    def _adapted(self, rows: Iterable[StoredRow]) -> Iterator[StoredRow]:
        if not self._data.adapters:
            yield from rows
            return
        from evalkit_adapters_rows import pipeline

        adapt = pipeline(self._data.adapters)
        for number, row in enumerate(rows, start=1):
            try:
                for values in adapt([dict(row.values)], number):
                    yield StoredRow(row.place, values)
            except AdapterError as error:
                raise DataError(f"{row.place}: data.adapters: {error}") from error

    def _chosen(self, rows: Iterable[StoredRow]) -> list[tuple[int, StoredRow]]:
        """Return the rows that `where` and `sample` leave, with their numbers."""
        kept = [
            (number, row)
            for number, row in enumerate(rows, start=1)
            if all(self._has(row, *each) for each in self._data.where.items())
        ]
        sample = self._data.sample
        if sample is None:
            return kept
        if sample.count > len(kept):
            raise DataError(
                f"data.sample.count: {sample.count} examples of {len(kept)}"
            )
        chosen = random.Random(sample.seed).sample(range(len(kept)), sample.count)
        return [kept[place] for place in sorted(chosen)]

    @staticmethod
    def _has(row: StoredRow, column: str, value: Any) -> bool:
        if column not in row.values:
            raise DataError(f"{row.place}: data.where: no column {column!r}")
        found = row.values[column]
        values = value if isinstance(value, list) else [value]
        return any(found == each and _is_same_kind(found, each) for each in values)

    def _example(self, number: int, row: StoredRow, prefix: str) -> dict[str, Any]:
        values = row.values
        made = dict(values)
        made["uid"] = self._uid(number, row, prefix)
        for name, evaluate in self._fields.items():
            kind, optional = self._target.types.get(name, ("text", True))
            value = (
                values.get(name)
                if evaluate is None
                else self._at(row, f"data.fields.{name}", evaluate)
            )
            if name == CHOICES and self._choices is not None:
                value = self._at(row, "data.choices", self._choices)
            made[name] = self._typed(row, name, kind, optional, value)
        for name, evaluate in self._computed.items():
            made[name] = self._at(row, name, evaluate)
        if self._answer is not None:
            made[self._target.answer] = self._answer_of(row, made)
        tags = [*self._tags_of(row)]
        if tags:
            made["tags"] = [*(values.get("tags") or []), *tags]
        return made

    @staticmethod
    def _at(row: StoredRow, key: str, evaluate: Evaluate) -> Any:
        try:
            return evaluate(row.values)
        except DataError as error:
            raise DataError(f"{row.place}: {key}: {error}") from error

    def _uid(self, number: int, row: StoredRow, prefix: str) -> str:
        if self._data.id in ROW_NUMBERS:
            return f"{prefix}{number + ROW_NUMBERS[self._data.id or '']}"
        if self._id is not None:
            value = self._at(row, "data.id", self._id)
        else:
            value = next(
                (row.values[name] for name in _IDS if row.values.get(name) is not None),
                None,
            )
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise DataError(
                f"{row.place}: data.id: an id must be a text or an integer, got "
                f'{_shown(value)}. Name a column, or write `id: "#row"` to number rows'
            )
        return str(value)

    def _typed(
        self, row: StoredRow, name: str, kind: str, optional: bool, value: Any
    ) -> Any:
        """Return a value as the type of a field that is declared in place."""
        if not self._target.answer_type:
            return value
        key = f"data.fields.{name}" if name in self._data.fields else f"field {name}"
        if name == CHOICES and self._choices is not None:
            key = "data.choices"
        if value is None:
            if optional:
                return None
            raise DataError(f"{row.place}: {key}: the value is missing")
        if kind == "texts":
            items = read_list(value)
            if items is None:
                raise DataError(
                    f"{row.place}: {key}: must be a list, got {_shown(value)}"
                )
            return [_as_text(item) for item in items]
        if kind == "text" and not isinstance(value, dict | list):
            return _as_text(value)
        read = {"number": _as_number, "integer": _as_integer, "boolean": _as_boolean}
        found = read[kind](value) if kind in read else None
        if found is None:
            raise DataError(
                f"{row.place}: {key}: must be a {kind}, got {_shown(value)}"
            )
        return found

    def _answer_of(self, row: StoredRow, made: Mapping[str, Any]) -> Any:
        assert self._answer is not None
        way, evaluate = self._answer
        key = f"data.answer.{way}" if way else "data.answer"
        value = self._at(row, key, evaluate)
        try:
            if way:
                return _option(way, value, made.get(CHOICES))
            return self._read_answer(value)
        except ValueError as error:
            raise DataError(f"{row.place}: {key}: {error}") from error

    def _read_answer(self, value: Any) -> Any:
        kind = self._target.answer_type
        if value is None or (value == "" and kind != "text"):
            raise ValueError("the answer is missing")
        if kind in ("labels", "spans"):
            items = read_list(value) if kind == "labels" else _read_json(value)
            if items is None:
                raise ValueError(f"must be a list, got {_shown(value)}")
            return items if kind == "spans" else [self._label(item) for item in items]
        if kind == "number":
            number = _as_number(value)
            if number is None:
                raise ValueError(f"must be a number, got {_shown(value)}")
            return number
        if isinstance(value, list):
            return [self._label(item) for item in value]
        return self._label(value)

    def _label(self, value: Any) -> Any:
        mapping = self._data.labels
        if mapping is None:
            is_text = self._target.answer_type in ("text", "label", "labels")
            return _as_text(value) if is_text else value
        text = _as_text(value)
        if text not in mapping:
            known = ", ".join(map(repr, mapping))
            raise ValueError(f"unknown label {text!r}. Labels of data.labels: {known}")
        return mapping[text]

    def _tags_of(self, row: StoredRow) -> Iterator[str]:
        for facet, evaluate in self._tags.items():
            value = self._at(row, f"data.tags.{facet}", evaluate)
            for each in value if isinstance(value, list) else [value]:
                text = "" if each is None else _as_text(each).strip()
                if text:
                    yield f"{facet}:{text}"

    def _extract_answers(
        self, examples: Sequence[dict[str, Any]], places: Sequence[str]
    ) -> None:
        """Replace the answers by what `answer_extract` takes out of them."""
        import polars as pl

        from evalkit_adapters_rows import extraction

        name = self._target.answer
        texts = [_as_text(example[name]) for example in examples]
        found = extraction(self._data.answer_extract).extract(
            pl.Series(texts, dtype=pl.String)
        )
        columns = zip(examples, places, found.values, found.reasons, strict=True)
        for example, place, value, reason in columns:
            if value is None:
                raise DataError(f"{place}: data.answer_extract: {reason}")
            example[name] = value


def _is_same_kind(found: Any, value: Any) -> bool:
    return isinstance(found, bool) == isinstance(value, bool)


def _option(way: str, value: Any, options: Any) -> Any:
    """Return the text of the option that an answer names."""
    several = value if isinstance(value, list) else [value]
    if not isinstance(options, list):
        raise ValueError("the example has no options. Write data.choices")
    found = []
    for each in several:
        if way == "text":
            place = options.index(_as_text(each)) if _as_text(each) in options else -1
        elif way == "letter":
            text = _as_text(each).strip().upper()
            place = _LETTERS.find(text) if len(text) == 1 else -1
        else:
            number = _as_integer(each)
            place = -1 if number is None else number
        if not 0 <= place < len(options):
            raise ValueError(
                f"no option with the {way} {_shown(each)}. Options: {_shown(options)}"
            )
        found.append(options[place])
    return found if isinstance(value, list) else found[0]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _as_integer(value: Any) -> int | None:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _as_boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _read_json(value: Any) -> list[Any] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return value if isinstance(value, list) else None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


Rows = Callable[[str], Iterable[Mapping[str, Any]]]
"""Function of a stored split that gives stored rows."""
