"""Variants of a benchmark: values of axes, such as languages, with what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, create_model

from evalkit import Parameters
from evalkit_benchmarks_declared.reading import Lines
from evalkit_benchmarks_declared.schema import Benchmark

EXTRACT = "extract"
"""Parameter that names one of several extractors."""


def axes_of(benchmark: Benchmark) -> dict[str, tuple[str, ...]]:
    """Return the values of each axis, that of the extractors last."""
    axes = {axis: tuple(values) for axis, values in benchmark.variants.items()}
    names = extractors_of(benchmark)
    return axes | ({EXTRACT: names} if len(names) > 1 else {})


def extractors_of(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the names of the extractors, the default one first."""
    names = benchmark.extract if isinstance(benchmark.extract, Mapping) else ()
    main = getattr(benchmark.headline, "extract", None)
    return tuple(sorted(names, key=lambda name: name != main))


def parameters_of(benchmark: Benchmark) -> type[BaseModel]:
    """Make the parameters of the dataset; only that of the extractor has a default."""
    fields: dict[str, Any] = {}
    for axis, values in axes_of(benchmark).items():
        kind = Literal.__getitem__(values)
        fields[axis] = (kind, values[0] if axis == EXTRACT else ...)
    return create_model("Parameters", __base__=Parameters, **fields)


def variant_of(benchmark: Benchmark, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return what the file says of the variant with these values of the axes."""
    values = benchmark.model_dump(exclude_unset=True)
    axes = [f"macro:{axis}" for axis in values.pop("variants", {})]
    if values.get("aggregate") in axes:  # a mean over variants
        del values["aggregate"]
    for axis, value in chosen.items():
        if axis == "language":
            values["languages"] = [value]
        for key, override in benchmark.variants[axis][value].items():
            override_at(values, key.split("."), override)
    return values


def variant_lines(lines: Lines, chosen: Mapping[str, str]) -> Lines:
    """Return the line of each key of a variant: also of what its values override."""
    found = dict(lines)
    for place, line in lines.items():
        if place[:1] == ("variants",) and len(place) > 3:
            axis, value, key = map(str, place[1:4])
            if chosen.get(axis) == value:
                found[(*key.split("."), *place[4:])] = line
    return found


def override_at(values: dict[str, Any], keys: Sequence[str], override: Any) -> None:
    """Put a value in place of another: mappings are merged, other values replaced."""
    first, *others = keys
    inner = values.get(first)
    if others:
        parts = [(others, override)]
    elif isinstance(override, Mapping) and isinstance(inner, Mapping):
        parts = [([key], value) for key, value in override.items()]
    else:
        values[first] = override
        return
    values[first] = inner = dict(inner) if isinstance(inner, Mapping) else {}
    for rest, value in parts:
        override_at(inner, rest, value)
