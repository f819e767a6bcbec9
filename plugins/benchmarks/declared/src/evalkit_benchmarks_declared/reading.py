"""Reads benchmark files, and names the line of what is wrong in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from evalkit.errors import AdapterError, SchemaError
from evalkit_adapters_rows import read_stages
from evalkit_benchmarks_declared.schema import Benchmark

Lines = Mapping[tuple[str | int, ...], int]
"""Line of each key and item of a file, from 1."""


def read_benchmark(path: str | Path) -> Benchmark:
    """Read a benchmark file.

    Args:
        path: The file, in YAML or JSON.

    Returns:
        The benchmark.

    Raises:
        SchemaError: The file cannot be read or breaks the schema. The message has a
            line for each problem, with the file, the line and the key.
    """
    path = Path(path)
    try:
        values = read_stages(path)
    except AdapterError as error:
        raise SchemaError(str(error)) from error
    return check_benchmark(values, str(path), lambda: lines_of(path))


def check_benchmark(
    values: Any, where: str, find_lines: Callable[[], Lines] = dict
) -> Benchmark:
    """Check what a benchmark file says.

    Args:
        values: JSON values.
        where: What messages call the file.
        find_lines: Function that returns the line of each key.

    Returns:
        The benchmark.

    Raises:
        SchemaError: It breaks the schema.
    """
    if not isinstance(values, Mapping):
        raise SchemaError(f"{where}: must be a mapping with the key `benchmark`")
    try:
        return Benchmark.model_validate(values)
    except ValidationError as error:
        problems = [*_problems(error, where, find_lines())]
        raise SchemaError("\n".join(problems)) from error


def lines_of(path: Path) -> Lines:
    """Return the line of each key and item of a YAML file, by its place."""
    import yaml

    lines: dict[tuple[str | int, ...], int] = {}

    def walk(node: Any, place: tuple[str | int, ...]) -> None:
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


def located(where: str, lines: Lines, place: Sequence[str | int]) -> str:
    """Return the file with the line of a place, or of the nearest one around it."""
    for length in range(len(place), 0, -1):
        if tuple(place[:length]) in lines:
            return f"{where}:{lines[tuple(place[:length])]}"
    return where


def _problems(error: ValidationError, where: str, lines: Lines) -> Iterator[str]:
    """Yield a line for each problem, once for each key."""
    found: dict[tuple[str | int, ...], tuple[int, str]] = {}
    for each in error.errors():
        keys = _keys(each["loc"], lines)
        rank, text = _text_of(each, keys)
        if not keys and rank == 0:  # it names its key itself
            name, _, text = text.partition(": ")
            keys = tuple(
                int(key) if key.isdecimal() else key for key in name.split(".")
            )
        found[keys] = min(found.get(keys, (rank, text)), (rank, text))
    for keys, (rank, text) in found.items():
        # a branch of a union that was not meant
        is_beside = any(other[: len(keys)] == keys != other for other in found)
        if not (is_beside and rank > 1):
            name = ".".join(map(str, keys))
            place = located(where, lines, keys)
            yield f"{place}: {name}: {text}" if name else f"{place}: {text}"


def _keys(place: Sequence[str | int], lines: Lines) -> tuple[str | int, ...]:
    """Leave out of a place what names a branch of a union and not a key."""
    keys: tuple[str | int, ...] = ()
    for number, part in enumerate(place):
        is_key = (*keys, part) in lines
        is_missing = number == len(place) - 1 and part in _known_keys(keys)
        if is_key or is_missing or not lines:
            keys = (*keys, part)
    return keys


def _text_of(problem: Any, keys: Sequence[str | int]) -> tuple[int, str]:
    """Return a rank, which is low for the most telling problem, and its text."""
    kind, value = problem["type"], problem["input"]
    if kind == "extra_forbidden":
        known = _known_keys(keys[:-1])
        near = get_close_matches(str(keys[-1]), known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Keys: {', '.join(known)}"
        return 0, f"unknown key. {hint}"
    if kind == "missing":
        return 0, "required key is missing"
    if kind == "value_error":
        return 0, problem["msg"].removeprefix("Value error, ")
    if kind == "string_type" and isinstance(value, bool | int | float):
        return 1, f"must be a text, got {value!r}. Put it in quotes"
    text = problem["msg"][:1].lower() + problem["msg"][1:]
    shown = repr(value)
    return 2 + kind.endswith(
        "_type"
    ), f"{text}, got {shown if len(shown) <= 60 else shown[:60] + '…'}"


def _known_keys(place: Sequence[str | int]) -> list[str]:
    """Return the keys that a place of the file may have."""
    models: list[type[BaseModel]] = [Benchmark]
    for key in place:
        if isinstance(key, int):
            continue
        inner = [
            found
            for model in models
            if key in model.model_fields
            for found in _models_in(model.model_fields[key].annotation)
        ]
        models = inner or models
    return [name for model in models for name in model.model_fields]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]
