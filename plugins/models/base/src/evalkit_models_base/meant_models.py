"""What a user may have meant who names a model in a way that is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit import Registry
from evalkit.catalog import Component, import_component
from evalkit.errors import EvalkitError, UnknownPluginError


@contextmanager
def told_what_is_meant(given: Any, registry: Registry) -> Iterator[None]:
    """Add to the error of a name what may have been meant by it."""
    try:
        yield
    except UnknownPluginError as error:
        meant = _meant(given, registry) if isinstance(given, str) else None
        text = str(error) if meant is None else f"{error}; {meant}"
        if without_keys(text) != text:  # nor in what it came of
            raise UnknownPluginError(without_keys(text)) from None
        raise UnknownPluginError(text) from error


def without_keys(text: str) -> str:
    """Return a text that names a model, without what may be a key in it.

    In `openai:model=m,api_key_variable=…` a user may have given the key itself.
    """
    return re.sub(r"((?:key|_variable)=)[^,'\"\s]+", r"\1…", text)


def _meant(given: str, registry: Registry) -> str | None:
    name, _, rest = given.partition(":")
    bare = rest.partition(",")[0]
    if not bare or "=" in bare or name.endswith(".py"):
        return None
    module = Path(f"{name if '/' in name else name.replace('.', '/')}.py")
    if module.is_file():
        return f"did you mean {module}:{rest}?"
    try:
        component = registry.select("models", name).component
    except EvalkitError as error:
        if any(word in str(error) for word in ("did you mean", "distribution")):
            return str(error)
        return f"{error}; a function in a file is FILE.py:FUNCTION, as {module}:{rest}"
    first = _first_parameter(component)
    return None if first is None else f"did you mean {name}:{first}={rest}?"


def _first_parameter(component: Component) -> str | None:
    try:
        plugin = import_component(component)
    except EvalkitError:
        return None
    fields = getattr(getattr(plugin, "Parameters", None), "model_fields", {})
    needed = [each for each, field in fields.items() if field.is_required()]
    return next(iter([*needed, *fields]), None)
