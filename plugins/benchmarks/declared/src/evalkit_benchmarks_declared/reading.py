"""Reads benchmark files, and names the line of what is wrong in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from evalkit.base.violations import shorten
from evalkit.errors import AdapterError, SchemaError
from evalkit_adapters_rows import read_stages
from evalkit_benchmarks_declared.schema import Benchmark

Model = TypeVar("Model", bound=BaseModel)

Place = tuple[str | int, ...]
"""Keys and positions that lead to a value of a file."""

Lines = Mapping[Place, int]
"""Line of each key and item of a file, from 1."""


def read_benchmark(path: str | Path) -> Benchmark:
    """Read a benchmark file, as `read_declared` does."""
    return read_declared(path, Benchmark)


def check_benchmark(
    values: Any, where: str, find_lines: Callable[[], Lines] = dict
) -> Benchmark:
    """Check what a benchmark file says, as `check_declared` does."""
    return check_declared(values, where, Benchmark, find_lines)


def read_declared(path: str | Path, model: type[Model]) -> Model:
    """Read a file, in YAML or JSON, that a closed model describes.

    Raises:
        SchemaError: The file cannot be read or breaks the schema. The message has a
            line for each problem, with the file, the line and the key.
    """
    path = Path(path)
    try:
        values = read_stages(path)
    except AdapterError as error:
        raise SchemaError(str(error)) from error
    return check_declared(values, str(path), model, lambda: lines_of(path))


def check_declared(
    values: Any, where: str, model: type[Model], find_lines: Callable[[], Lines] = dict
) -> Model:
    """Check the JSON values of a file, which messages call `where`."""
    if not isinstance(values, Mapping):
        key = model.__name__.lower()
        raise SchemaError(f"{where}: must be a mapping with the key `{key}`")
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problems = [*_problems(error, where, find_lines(), model)]
        raise SchemaError("\n".join(problems)) from error


def lines_of(path: Path) -> Lines:
    """Return the line of each key and item of a YAML file, by its place."""
    import yaml

    lines: dict[Place, int] = {}

    def walk(node: Any, place: Place) -> None:
        lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                inner = (*place, str(key.value))
                lines[inner] = key.start_mark.line + 1
                walk(value, inner)
        elif isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                walk(item, (*place, number))

    text = path.read_text(encoding="utf-8-sig")
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is not None:
        walk(node, ())
    return lines


def variant_lines(path: Path, chosen: Mapping[str, str]) -> Lines:
    """Return the line of each key of a variant: also of what its values override."""
    found = dict(lines_of(path)) if path.is_file() else {}
    for place, line in [*found.items()]:
        if place[:1] == ("variants",) and len(place) > 3:
            axis, value, key = map(str, place[1:4])
            if chosen.get(axis) == value:
                found[(*key.split("."), *place[4:])] = line
    return found


def located(where: str, lines: Lines, place: Sequence[str | int]) -> str:
    """Return the file with the line of a place, or of the nearest one around it."""
    for length in range(len(place), 0, -1):
        if tuple(place[:length]) in lines:
            return f"{where}:{lines[tuple(place[:length])]}"
    return where


def _problems(
    error: ValidationError, where: str, lines: Lines, model: type[BaseModel]
) -> Iterator[str]:
    """Yield a line for each problem, once for each key."""
    found: dict[Place, tuple[int, str]] = {}
    for problem in error.errors():
        keys: Place = ()
        for number, part in enumerate(problem["loc"], start=1):
            is_last = number == len(problem["loc"])
            is_missing = is_last and part in _known_keys(keys, model)
            if not lines or (*keys, part) in lines or is_missing:
                keys = (*keys, part)  # other parts name a branch of a union
        rank, text = _ranked(problem, keys, model)
        if not keys and rank == 0:  # it names its key itself
            name, _, text = text.partition(": ")
            keys = tuple(int(k) if k.isdecimal() else k for k in name.split("."))
        found[keys] = min(found.get(keys, (rank, text)), (rank, text))
    for keys, (rank, text) in found.items():
        # a branch of a union that was not meant
        is_beside = any(other[: len(keys)] == keys != other for other in found)
        if not (is_beside and rank > 1):
            parts = located(where, lines, keys), ".".join(map(str, keys)), text
            yield ": ".join(filter(None, parts))


def _ranked(problem: Any, keys: Place, model: type[BaseModel]) -> tuple[int, str]:
    """Return a rank, which is low for the most telling problem, and its text."""
    kind, message, value = problem["type"], problem["msg"], problem["input"]
    if kind == "extra_forbidden":
        known = _known_keys(keys[:-1], model)
        near = get_close_matches(str(keys[-1]), known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Keys: {', '.join(known)}"
        return 0, f"unknown key. {hint}"
    if kind == "missing":
        return 0, "required key is missing"
    if kind == "value_error":
        return 0, message.removeprefix("Value error, ")
    if kind == "string_type" and isinstance(value, bool | int | float):
        return 1, f"must be a text, got {value!r}. Put it in quotes"
    rank = 3 if kind.endswith("_type") else 2
    return rank, f"{message[0].lower()}{message[1:]}, got {shorten(value)}"


def _known_keys(place: Place, model: type[BaseModel]) -> list[str]:
    """Return the keys that a place of the file may have."""
    models = [model]
    for key in place:
        fields = [model.model_fields.get(str(key)) for model in models]
        inner = [m for field in fields if field for m in _models(field.annotation)]
        models = inner or models
    return [name for model in models for name in model.model_fields]


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]
