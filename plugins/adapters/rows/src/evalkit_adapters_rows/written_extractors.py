"""The short form of extractors: `after:Answer:,which=first|choice`."""

from __future__ import annotations

import inspect
import re
from typing import Any

from pydantic import BaseModel, RootModel

from evalkit import Registry
from evalkit.catalog import import_component
from evalkit.errors import AdapterError, UnknownPluginError
from evalkit.plugins.registry import as_meant
from evalkit_adapters_rows.files import listed

_KEY = re.compile(r"(?:^|,)\s*([a-z][a-z_]*)=")
_DEPTHS = {"(": 1, "[": 1, ")": -1, "]": -1}
_LIST_FORM = 'write a list: [{"kind": NAME, "configuration": {PARAMETER: VALUE}}]'


def split_stages(text: str) -> list[str]:
    r"""Split a text at each `|` that is not escaped (`\|`) or within brackets."""
    stages, depth, is_inside = [""], 0, False
    for sign in re.findall(r"\\.|.", text, re.DOTALL):
        if sign == "|" and not depth:
            stages.append("")
            continue
        is_inside = is_inside or sign == "|"
        depth = max(0, depth + _DEPTHS.get(sign, 0))
        stages[-1] += sign
    if depth and is_inside:
        raise AdapterError(
            f"unclosed bracket before '|' in {text!r}. To keep it, {_LIST_FORM}"
        )
    return [stage.strip() for stage in stages]


def read_stage(number: int, text: str, registry: Registry) -> dict[str, Any]:
    """Read one stage: `NAME[@DISTRIBUTION][:VALUE][,KEY=VALUE…]`."""
    name, _, rest = text.partition(":")
    kind = name.strip()
    if not kind:
        raise AdapterError(f"stage {number} is empty. Separate stages by one '|'")
    if not rest.strip():
        return {"kind": kind}
    try:
        component = registry.select("adapters", kind).component
    except UnknownPluginError as error:
        raise UnknownPluginError(f"stage {number}: {error}") from error
    model = getattr(import_component(component), "Parameters", None)
    if not (inspect.isclass(model) and issubclass(model, BaseModel)):
        problem = f"it takes no parameters, got {rest!r}"
        raise AdapterError(problem, stage=number, kind=kind)
    if issubclass(model, RootModel):
        problem = f"its configuration has no short form, {_LIST_FORM}"
        raise AdapterError(problem, stage=number, kind=kind)
    try:
        values = _values(model, rest)
    except AdapterError as error:
        raise AdapterError(
            error.problem, field=error.field, stage=number, kind=kind
        ) from error
    return {"kind": kind, "configuration": listed(model, as_meant(model, values))}


def _values(model: type[BaseModel], text: str) -> dict[str, Any]:
    fields = model.model_fields
    required = [key for key in fields if fields[key].is_required()]
    main = [*required, *fields, ""][0]
    first, *others = _KEY.split(text)
    pairs = [*zip(others[::2], others[1::2], strict=True)]
    if first:
        pairs.insert(0, (main, first))
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key not in fields or key in values:
            problem = "given twice" if key in fields else "unknown"
            raise AdapterError(
                f"the parameter {key!r} is {problem}. It takes: {', '.join(fields)}. "
                f"If {key + '='!r} is part of a value, {_LIST_FORM}",
                field=key,
            )
        unescaped = value if key == "pattern" else value.replace(r"\|", "|")
        values[key] = unescaped.split("/") if "/" in unescaped else unescaped
    return values
