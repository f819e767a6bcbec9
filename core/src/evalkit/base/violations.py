"""What a row breaks: field, rule and value."""

from __future__ import annotations

import json
import linecache
import traceback
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.base.failures import hook_failures, text_of
from evalkit.base.label_fields import RULE

if TYPE_CHECKING:
    from pydantic import ValidationError

_SHOWN = 80
_SHOWN_PROBLEMS = 5
_KEPT = 10_000


REQUIRED = "is required"
"""The rule that a field which is not there breaks."""
WHOLE_RESPONSE = "(response)"
"""In place of a field: a rule of the response as a whole, which quotes no value."""


class Violation(NamedTuple):
    """One rule that one field of a row breaks."""

    field: str
    """Name of the field, with a path into it such as `prob.entailed`."""
    rule: str
    """What must hold, as a person would say it."""
    value: Any = None
    """What was found instead."""

    def __str__(self) -> str:
        is_of_whole = self.field == WHOLE_RESPONSE
        if self.value is None and (is_of_whole or self.rule == REQUIRED):
            return f"{self.field}: {self.rule}"
        return f"{self.field}: {self.rule}, found {shorten(self.value)}"


def shorten(value: Any, length: int = _SHOWN) -> str:
    """Show a value in one line of limited length: its `repr`, cut in the middle.

    Of a value that has none, such as an integer of thousands of digits, its type.
    """
    try:
        text = repr(value)
    except hook_failures() as error:
        text = f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"
    if len(text) <= length:
        return text
    half = (length - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"


def entries_of(value: Any) -> str:
    """Show what should be a list of another length; of a list, its length too."""
    count = f"{len(value)}: " if isinstance(value, list | tuple) else ""
    return f"{count}{shorten(value)}"


def json_value(value: Any) -> Any:
    """Return a value as JSON can hold it, or what it looks like.

    Of more than 10 000 characters of JSON only beginning and end are kept.
    """
    try:
        text = value
        if not isinstance(value, str):
            text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return shorten(value)
    return value if len(text) <= _KEPT else shorten(value, _KEPT)


def from_pydantic(error: ValidationError) -> list[Violation]:
    """Translate each error that pydantic found in a row into a violation."""
    return [
        Violation(
            ".".join(str(part) for part in detail["loc"]) or "(row)",
            _rule(detail["type"], detail["msg"]),
            None if detail["type"] == "missing" else detail["input"],
        )
        for detail in error.errors(include_url=False, include_context=False)
    ]


def _rule(kind: str, message: str) -> str:
    if kind == "missing":
        return REQUIRED
    if kind == "extra_forbidden":
        return "is not declared, and undeclared keys are forbidden"
    if kind == "sequence_str":
        return "must be a list, not one text"
    if kind == RULE:
        return message
    message = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return message.replace("Input should be", "must be").replace("Input", "it")


def from_assertion(error: AssertionError) -> Violation:
    """Turn an assertion in `verify_response` into a violation that quotes it."""
    message, source = text_of(error), failed_statement(error)
    quoted = f"`{source}`" if source else "an assertion of verify_response"
    rule = f"{quoted} must hold" + (f" ({message})" if message else "")
    return Violation(WHOLE_RESPONSE, rule)


def failed_statement(error: BaseException) -> str | None:
    """Return the source line that raised an exception, where it is known."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    for frame in last:
        lines = linecache.getlines(frame.filename)
        part = lines[(frame.lineno or 1) - 1 : frame.end_lineno]
        return " ".join(line.strip() for line in part) or None
    return None


class FirstProblems:
    """The first few of many problems; the others are only counted."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._count = 0

    def add(self, problem: str) -> None:
        """Add a problem."""
        self._count += 1
        if len(self._shown) < _SHOWN_PROBLEMS:
            self._shown.append(problem)

    def __len__(self) -> int:
        return self._count

    def __str__(self) -> str:
        more = self._count - len(self._shown)
        return "; ".join(self._shown) + (f"; and {more} more" if more else "")


def few(problems: Iterable[str]) -> str:
    """Join the first few of many problems into one line, and count the others."""
    found = FirstProblems()
    for problem in problems:
        found.add(problem)
    return str(found)


def describe(violations: Iterable[Violation]) -> str:
    """Join violations into one line."""
    return "; ".join(str(violation) for violation in violations)
