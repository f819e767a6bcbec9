"""Reads extractors that are written as one text: `after:Answer:,which=first|choice`."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from pydantic import BaseModel, RootModel

from evalkit.errors import AdapterError, UnknownPluginError
from evalkit.plugins.importing import import_component
from evalkit.plugins.parameters import as_meant
from evalkit.plugins.registry import Registry
from evalkit_adapters_rows.files import listed
from evalkit_adapters_rows.stages import Stage

_KEY = re.compile(r"(?:^|,)\s*([a-z][a-z_]*)=")
_NUMBER_OF_BRACKETS = {"(": 1, "[": 1, ")": -1, "]": -1}
_PATTERN = "pattern"
"""The parameter of a regular expression, in which `\\|` is not `|`."""


def split_stages(text: str) -> list[str]:
    r"""Cut a text at each `|` that separates stages.

    One that is escaped (`\|`), or within `()` or `[]`, as in a pattern, does not;
    brackets that nothing closes are no brackets.

    Args:
        text: The stages.

    Returns:
        The text of each, without blanks around it.
    """
    found, start = [], 0
    while True:
        end = _end_of_stage(text, start)
        found.append(text[start:end].strip())
        if end == len(text):
            return found
        start = end + 1


def _end_of_stage(text: str, start: int) -> int:
    depth, first, is_escaped = 0, None, False
    for place in range(start, len(text)):
        sign = text[place]
        if is_escaped:
            is_escaped = False
        elif sign == "\\":
            is_escaped = True
        elif sign == "|":
            if depth <= 0:
                return place
            first = place if first is None else first
        else:
            depth += _NUMBER_OF_BRACKETS.get(sign, 0)
    is_unclosed = depth > 0 and first is not None
    return first if is_unclosed and first is not None else len(text)


def read_stage(number: int, text: str, registry: Registry) -> dict[str, Any]:
    """Read one stage.

    What stands after the name is the first parameter that the extractor requires (the
    first one, where it requires none), as in `after:Answer:`; others follow as
    `,KEY=VALUE`.

    Args:
        number: Its number, from 1.
        text: `NAME[@DISTRIBUTION][:VALUE][,KEY=VALUE…]`.
        registry: Where installed adapters are found.

    Returns:
        Its `kind` and `configuration`.

    Raises:
        AdapterError: It is written wrongly.
        PluginError: There is no such extractor, or it is broken.
    """
    name, _, rest = text.partition(":")
    kind = name.strip()
    if not kind:
        raise AdapterError(
            f"stage {number} is empty; stages are separated by '|': "
            "'after:Answer:|choice'"
        )
    if not rest.strip():
        return {"kind": kind}
    try:
        component = registry.select("adapters", kind).component
    except UnknownPluginError as error:
        raise UnknownPluginError(f"stage {number}: {error}") from error
    loaded = import_component(component)
    if hasattr(loaded, "adapt_row"):
        raise adapter_of_rows(number, kind, registry)
    model = getattr(loaded, "Parameters", None)
    if not _has_fields(model):
        raise AdapterError(
            f"it takes no parameters, found {rest!r}", stage=number, kind=kind
        )
    try:
        values = _values(model, rest)
    except AdapterError as error:
        raise AdapterError(
            error.problem, field=error.field, stage=number, kind=kind
        ) from error
    return {"kind": kind, "configuration": listed(model, as_meant(model, values))}


def adapter_of_rows(number: int, kind: str, registry: Registry) -> AdapterError:
    """Return the error for a stage that is no extractor.

    Args:
        number: Its number.
        kind: Its kind.
        registry: Where other ones may be found.
    """
    components = registry.catalog.components
    names = [each.name for each in components if each.kind == "adapters"]
    longer = [name for name in names if name.startswith(f"{kind}-")]
    meant = f"; did you mean {longer[-1]}?" if longer else ""
    problem = f"it is an adapter of rows (--adapter), and no extractor{meant}"
    return AdapterError(problem, stage=number, kind=kind)


def _has_fields(model: Any) -> TypeGuard[type[BaseModel]]:
    is_model = inspect.isclass(model) and issubclass(model, BaseModel)
    return is_model and not issubclass(model, RootModel) and bool(model.model_fields)


def _values(model: type[BaseModel], text: str) -> Mapping[str, Any]:
    known = [*model.model_fields]
    marks = [*_KEY.finditer(text)]
    first = text[: marks[0].start()] if marks else text
    values: dict[str, Any] = {_main(model): first} if first else {}
    for place, mark in enumerate(marks):
        key = mark[1]
        end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
        if key not in known:
            raise AdapterError(_unknown(key, known), field=key)
        if key in values:
            raise AdapterError(f"the parameter {key!r} is given twice", field=key)
        values[key] = text[mark.end() : end]
    return {name: _read(model, name, value) for name, value in values.items()}


def written_stage(stage: Stage) -> str:
    """Write a stage as a text, without parameters that are at their default.

    Args:
        stage: The stage.

    Returns:
        What `read_stage` reads, but for values that a text cannot hold, such as a
        mapping with slashes.
    """
    model = getattr(stage.adapter.plugin, "Parameters", None)
    given = stage.configuration
    if not _has_fields(model) or not isinstance(given, Mapping):
        return stage.kind
    fields = model.model_fields
    changed = {
        name: value
        for name, value in given.items()
        if value != fields[name].get_default(call_default_factory=True)
    }
    main = _main(model)
    first = [_plain(main, changed.pop(main))] if main in changed else []
    rest = [f"{name}={_plain(name, value)}" for name, value in changed.items()]
    return f"{stage.kind}:{','.join([*first, *rest])}" if first or rest else stage.kind


def _plain(name: str, value: Any) -> str:
    if isinstance(value, list | tuple):
        return "/".join(map(str, value))
    if isinstance(value, Mapping):
        return "/".join(f"{key}:{each}" for key, each in value.items())
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if split_stages(text) == [text.strip()]:
        return text
    return f"(?:{text})" if name == _PATTERN else text.replace("|", r"\|")


def _main(model: type[BaseModel]) -> str:
    """Name the parameter that needs no name: the first that must be given, or is."""
    fields = model.model_fields
    required = (name for name, field in fields.items() if field.is_required())
    return next(required, next(iter(fields)))


def _unknown(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return (
        f"there is no parameter {key!r}; it takes: {', '.join(known)}{meant} (a value "
        f"that holds ',{key}=' can be written in a file of stages)"
    )


def _read(model: type[BaseModel], name: str, value: str) -> Any:
    """Return a value, of which a list is written with slashes."""
    value = value.replace(r"\|", "|") if name != _PATTERN else value
    kinds = str(model.model_fields[name].annotation)
    return value.split("/") if "list[" in kinds and "/" in value else value
