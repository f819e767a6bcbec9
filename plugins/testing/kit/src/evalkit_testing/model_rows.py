"""Draws the rows that a pydantic model takes, such as a task's `Input` and `Output`."""

from __future__ import annotations

import datetime
import enum
import math
import re
import types
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from evalkit.catalog import BoundTask
from evalkit_testing.checking import collect_drawn

_TEXTS = ("a", "b", "a red car", "The car!", "Straße", "日本", "e\u0301", "", " ", "7")
_KEYS = ("a", "b", "user")
_MOST_ITEMS = 4
_DEEPEST = 3
_GREATEST = 1000.0
_DRAWN_FOR_ONE = 200

Values = st.SearchStrategy[Any]


def drawn_rows(
    model: type[BaseModel], count: int, given: Mapping[str, Values] | None = None
) -> list[dict[str, Any]]:
    """Return different rows, as in a file of JSON, that a model takes, always the same.

    Texts, numbers, booleans, choices, dates, lists, mappings and other models in it are
    drawn by their annotations, with the bounds of `Field`; optional fields are left out
    now and then.
    """
    rows = _rows(model, given or {}, _DEEPEST)
    found: dict[str, dict[str, Any]] = {}
    for row in collect_drawn(rows, max(_DRAWN_FOR_ONE, 2 * count)):
        if takes(model, row):
            found.setdefault(repr(row), row)
    return [*found.values()][:count]


def takes(model: type[BaseModel], row: Mapping[str, Any]) -> bool:
    """Tell whether a model takes a row."""
    try:
        model.model_validate(row)
    except ValidationError:
        return False
    return True


def values_of(field: FieldInfo) -> Values:
    """Draw values of a field."""
    return _of(field.annotation, field.metadata, _DEEPEST)


def read_values_of(field: FieldInfo) -> Values:
    """Draw values of a field as they are once read: dates, and models as mappings."""
    kind: Any = field.annotation
    for limit in field.metadata:
        kind = Annotated[kind, limit]
    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def is_taken(value: Any) -> bool:
        try:
            adapter.validate_python(value)
        except ValidationError:
            return False
        return True

    taken = values_of(field).filter(is_taken)
    return taken.map(lambda each: adapter.dump_python(adapter.validate_python(each)))


def _rows(
    model: type[BaseModel], given: Mapping[str, Values], depth: int
) -> st.SearchStrategy[dict[str, Any]]:
    required: dict[str, Values] = {}
    optional: dict[str, Values] = {}
    for name, field in model.model_fields.items():
        found = given.get(name)
        if found is None:
            found = _of(field.annotation, field.metadata, depth)
        kind = required if field.is_required() or name in given else optional
        kind[field.alias or name] = found
    return st.fixed_dictionaries(required, optional=optional)


def _of(annotation: Any, metadata: Sequence[Any], depth: int) -> Values:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _of(arguments[0], [*metadata, *arguments[1:]], depth)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        # an optional field is there more often than not
        each = [_of(one, metadata, depth) for one in arguments]
        return st.one_of(*(one for one in each for _ in range(2)))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _rows(annotation, {}, depth - 1) if depth else st.nothing()
    if origin in (list, set, frozenset, tuple, Sequence, Collection):
        return _lists(origin, arguments, metadata, depth)
    if origin in (dict, Mapping):
        key, value = arguments or (str, Any)
        keys = st.sampled_from(_KEYS) if key is str else _of(key, (), depth - 1)
        return st.dictionaries(keys, _of(value, (), depth - 1), max_size=_MOST_ITEMS)
    return _plain(annotation, _limits(metadata))


def _lists(
    origin: Any, arguments: Sequence[Any], metadata: Sequence[Any], depth: int
) -> Values:
    if not depth:
        return st.just([])
    if origin is tuple and len(arguments) > 1 and arguments[-1] is not Ellipsis:
        each = [_of(one, (), depth - 1) for one in arguments]
        return st.tuples(*each).map(list)
    limits = _limits(metadata)
    least = int(limits.get("min_length", 0))
    most = int(limits.get("max_length", max(_MOST_ITEMS, least)))
    item = _of(arguments[0] if arguments else Any, (), depth - 1)
    return st.lists(item, min_size=least, max_size=most)


def _limits(metadata: Sequence[Any]) -> dict[str, Any]:
    names = ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern")
    return {
        name: value
        for one in metadata
        for name in names
        if (value := getattr(one, name, None)) is not None
    }


def _plain(annotation: Any, limits: Mapping[str, Any]) -> Values:
    if annotation is str:
        return _texts(limits)
    if annotation is bool:
        return st.booleans()
    if annotation in (int, float):
        return _numbers(annotation, limits)
    if annotation in (None, type(None)):
        return st.none()
    if annotation is Any:
        return st.one_of(_texts({}), st.integers(-9, 9), st.none())
    if annotation in (datetime.date, datetime.datetime, datetime.time):
        return st.from_type(annotation).map(lambda each: each.isoformat())
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return st.sampled_from([each.value for each in annotation])
    if annotation in (list, tuple, set):
        return st.lists(_texts({}), max_size=_MOST_ITEMS)
    if annotation in (dict, Mapping):
        return st.dictionaries(st.sampled_from(_KEYS), _texts({}))
    return st.nothing()


def _texts(limits: Mapping[str, Any]) -> Values:
    if "pattern" in limits:
        return st.from_regex(limits["pattern"])
    least = int(limits.get("min_length", 0))
    most = int(limits.get("max_length", max(6, least)))
    longest = int(limits.get("max_length", 99))
    known = [text for text in _TEXTS if least <= len(text) <= longest]
    drawn = st.text(min_size=least, max_size=most)
    return st.sampled_from(known) | drawn if known else drawn


def _numbers(kind: Any, limits: Mapping[str, Any]) -> Values:
    low, high = (
        next((limits[name] for name in names if name in limits), None)
        for names in (("ge", "gt"), ("le", "lt"))
    )
    if kind is int:
        least, greatest = _range(low, high, 9)
        return st.integers(math.ceil(least), math.floor(greatest))
    least, greatest = _range(low, high, _GREATEST)
    return st.floats(least, greatest).map(lambda each: round(each, 6))


def _range(low: Any, high: Any, wide: Any) -> tuple[Any, Any]:
    """Return a range that is no wider than it has to be."""
    if low is None and high is None:
        return -wide, wide
    if low is None:
        return high - 2 * wide, high
    return low, low + 2 * wide if high is None else high


_MANY = 40


def drawn_examples(task: BoundTask, count: int) -> list[dict[str, Any]]:
    """Return examples that the task's `Input` takes."""
    return drawn_rows(task.Input, count)


def drawn_responses(task: BoundTask, count: int = _MANY) -> list[dict[str, Any]]:
    """Return responses that the task's `Output` takes, with answers that are labels."""
    return drawn_rows(task.Output, count, _answers(task))


def _answers(task: BoundTask) -> Mapping[str, st.SearchStrategy[Any]]:
    if task.answer_field is None or not task.labels:
        return {}
    return {task.answer_field: _labels(task)}


def answers_of(task: BoundTask) -> st.SearchStrategy[Any] | None:
    """Draw answers: labels where there are some, or what `Output` takes, once read."""
    field = task.Output.model_fields.get(task.answer_field or "")
    if field is None:
        return None
    return _labels(task) if task.labels else read_values_of(field)


def _labels(task: BoundTask) -> st.SearchStrategy[Any]:
    label = st.sampled_from([*(task.labels or ())])
    is_list = task.answer_kind in ("all-of", "ranked")
    return st.lists(label, max_size=3, unique=True) if is_list else label


def damaged_rows(
    model: type[BaseModel], row: Mapping[str, Any], key: str | None
) -> list[tuple[str, dict[str, Any]]]:
    """Return copies of a row that lack a required field, or hold an object in it."""
    required = [
        info.alias or name
        for name, info in model.model_fields.items()
        if info.is_required() and (info.alias or name) in row
    ]
    copies = []
    for name in required:
        if name == key:
            continue
        without = {other: value for other, value in row.items() if other != name}
        copies.append((name, without))
        if not isinstance(row[name], Mapping):
            copies.append((name, {**row, name: {"strange": [1]}}))
    return copies


def names_field(text: str, name: str) -> bool:
    """Tell whether a message names a field, and not only as a part of a word."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
