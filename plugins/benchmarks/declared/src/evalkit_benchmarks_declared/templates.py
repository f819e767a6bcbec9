"""Expressions of a benchmark file: a column, a path, or a template over a row."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from evalkit.errors import DataError
from evalkit_models_base.templates import fields_of, fill

Language = Literal["braces", "jinja"]

_PATH = re.compile(r"[^.\[\]]+(?:\.[^.\[\]]+|\[-?\d+\])*")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+)\]")

Evaluate = Callable[[Mapping[str, Any]], Any]
"""Function of a row that gives a value, None for an empty cell; raises `DataError`."""


def is_template(text: str) -> bool:
    """Tell whether an expression is a template: whether it holds `{`."""
    return "{" in text


def compile_expression(text: str, language: Language, *, native: bool) -> Evaluate:
    """Compile an expression; if `native`, one `{{ … }}` gives its value, not a text."""
    if not is_template(text):
        return _column(text)
    if language == "braces":
        fields_of(text)  # which refuses a malformed template
        return lambda row: fill(text, row)
    from evalkit_benchmarks_declared.sandbox import sandbox

    return sandbox().function(text, native=native)


def _column(text: str) -> Evaluate:
    if not _PATH.fullmatch(text):
        raise DataError(f"invalid expression {text!r}")
    steps = [name or int(place) for name, place in _STEP.findall(text)]

    def evaluate(row: Mapping[str, Any]) -> Any:
        if text in row:
            return row[text]
        value: Any = row
        try:
            for step in steps:
                value = value[step]
        except (KeyError, IndexError, TypeError):
            columns = ", ".join(map(repr, row))
            raise DataError(f"no column {text!r}. Columns: {columns}") from None
        return value

    return evaluate


def read_list(value: Any) -> list[Any] | None:
    """Return a list, also one that is written as a text; None for anything else."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "("):
        try:
            value = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    return list(value) if isinstance(value, list | tuple) else None
