"""Says what a key of a judge's file may be, where it is something else."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from evalkit.errors import PluginContractError

_FORMS: Mapping[str, str] = {
    "verdict.tag": "letters, digits, - and _, as score for <score>7</score>",
    "verdict.values": "a table of what each label is worth: { good = 1, bad = 0 }",
    "verdict.range": "a list of the least and the greatest number: [1, 10]",
    "verdict.words": 'two texts: ["CORRECT", "INCORRECT"]',
    "verdict.marks": 'three texts: ["[[A]]", "[[B]]", "[[C]]"]',
    "prompt": "a table with user, and system where there is one",
    "judges": "a list of tables with name and model",
    "criteria": "a list of tables with name and rubric",
    "prices": "a table with input and output",
}
"""What stands for keys whose form no kind of value tells."""

_KINDS: Mapping[str, str] = {
    "string": "a text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "finite": "a number",
    "dict": "a table",
    "model": "a table",
    "tuple": "a list",
    "list": "a list",
    "path": "the name of a file",
}
"""What a value must be, by the beginning of pydantic's name of what is wrong."""

_LIMITS: Mapping[str, str] = {
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "less than {lt:g}",
    "less_than_equal": "{le:g} or less",
    "string_too_short": "a text that is not empty",
    "string_too_long": "a text of at most {max_length} characters",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
}


def refusal(error: ValidationError) -> PluginContractError:
    """Say of the first wrong value which key it has, and what it may be."""
    found = error.errors()[0]
    key = _key(found)
    return PluginContractError(f"{key}: {_problem(key, found)}")


def _key(found: ErrorDetails) -> str:
    parts = [str(p + 1) if isinstance(p, int) else p for p in found["loc"]]
    return ".".join(parts) or "it"


def _problem(key: str, found: ErrorDetails) -> str:
    kind, given = found["type"], found["input"]
    if kind == "value_error":
        return str(found["ctx"]["error"])
    if kind == "missing":
        return f"it is lacking; write {_may_be(key, found) or 'it'}"
    may_be = _may_be(key, found)
    if may_be is None:  # none of the above
        text = found["msg"]
        return f"{text[:1].lower()}{text[1:]}, is {given!r}"
    near = _near(given, found)
    return f"it must be {may_be}, is {given!r}{near}"


def _may_be(key: str, found: ErrorDetails) -> str | None:
    kind = found["type"]
    if kind == "literal_error":
        return str(found["ctx"]["expected"])
    if kind in _LIMITS:
        return _LIMITS[kind].format(**found["ctx"])
    if key in _FORMS:
        return _FORMS[key]
    if kind == "missing":
        return _LACKING.get(key)
    if kind == "string_pattern_mismatch":
        return _pattern(key)
    begins = kind.partition("_")[0]
    return _KINDS.get(begins)


_LACKING: Mapping[str, str] = {
    "prompt": "[prompt] with user, the question",
    "prompt.user": "the question to the judge, with {rubric} and {response}",
    "verdict": "[verdict] with kind, which says how a verdict is read",
    "verdict.kind": "'label', 'number', 'json', 'correct' or 'pair'",
}


def _pattern(key: str) -> str:
    if key.endswith(".name"):
        return "lower-case letters, digits and dashes"
    return "a text without blanks at its ends"


def _near(given: Any, found: ErrorDetails) -> str:
    """Return the value that may be meant."""
    if found["type"] != "literal_error" or not isinstance(given, str):
        return ""
    known = [each for each in found["ctx"]["expected"].split("'")[1::2]]
    near = get_close_matches(given, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
