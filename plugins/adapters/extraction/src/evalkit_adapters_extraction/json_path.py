"""`json-path`: a value of the JSON in a text."""

from __future__ import annotations

import json
import re
from typing import Any

import polars as pl
from pydantic import Field

from evalkit import AdapterError
from evalkit_adapters_extraction.settings import (
    Found,
    OtherwiseSettings,
    by_distinct,
)

_STEP = re.compile(
    r"\.?(?P<name>[^\W\d][\w-]*)|\[(?P<place>-?\d+)\]|\[(?P<quote>['\"])(?P<key>.*?)(?P=quote)\]"
)
_OPENING = re.compile(r"""\{(?=\s*["}])|\[(?=\s*[\]\[{"\dtfnNI-])""")
"""A bracket behind which JSON may stand."""
_MOST_READ_AGAIN = 50
"""How often on average a sign of a text may be read in JSON that turns out broken."""
_ERROR = 500
"""To find an error is as much work as to read so many signs."""
_MOST_BEFORE = 1 << 14
"""So much of a text may stand before a bracket: each error counts the lines of it."""


class _Contradicting(dict[str, Any]):
    """An object that has keys twice, with different values."""

    keys_twice: frozenset[str] = frozenset()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    marked = _Contradicting(found)
    marked.keys_twice = frozenset(key for key, each in pairs if found[key] != each)
    return marked


_DECODER = json.JSONDecoder(
    parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_object
)
"""Numbers stay as they are written: none is rounded, too long or too large."""


class JsonPath:
    """Take a value out of the JSON that a model wrote.

    The JSON may stand among other words or in a code fence: of the objects and lists in
    the text the last one counts that can be read. The path is `$.answer`,
    `$.choices[0].label` or `$['final answer']`; `$` may be left out. A text is taken as
    it is, a number as it is written, a boolean as `true` or `false`.

    A text without JSON is an error, one in which it is broken too, and one with more
    open brackets than can be followed. Where the path leads nowhere, to null, to a list
    or an object, or through a key that an object has twice with different values, the
    text is unparsed. With `otherwise=text` a text without JSON is the text itself.

    Source: RFC 9535, of which it takes names and positions.

    Example:
        ```yaml
        - kind: json-path
          configuration: {path: "$.answer"}
        ```
    """

    version = "1"

    class Parameters(OtherwiseSettings):
        """The path."""

        path: str = Field(description="The path, such as `$.answer`")

    def __init__(self, parameters: Parameters) -> None:
        self._steps = _steps(parameters.path)
        self._keeps_text = parameters.otherwise == "text"

    def extract_texts(self, texts: pl.Series) -> pl.DataFrame:
        """Return the value in each text."""
        return by_distinct(texts, self._find)

    def _find(self, text: str) -> Found:
        try:
            values = _values(text)
        except RecursionError:
            return Found(None, "brackets are nested too deeply", failed=True)
        if not values:
            if self._keeps_text:
                return Found(text)
            return Found(None, "there is no JSON that can be read", failed=True)
        value: Any = values[-1]
        for step in self._steps:
            if isinstance(value, str):
                return Found(None, "the path leads nowhere")
            if isinstance(value, _Contradicting) and step in value.keys_twice:
                return Found(None, "a key of the path is there twice")
            try:
                value = value[step]
            except (LookupError, TypeError):
                return Found(None, "the path leads nowhere")
        if value is None:
            return Found(None, "the value is null")
        if isinstance(value, list | dict):
            return Found(None, "the value is a list or an object")
        return _as_text(value)


def _as_text(value: str | bool) -> Found:
    if isinstance(value, bool):
        return Found(json.dumps(value))
    if any("\ud800" <= sign <= "\udfff" for sign in value):
        return Found(None, "the value has half a character", failed=True)
    return Found(value)


def _values(text: str) -> list[Any]:
    """Return the objects and lists of a text, the outermost ones.

    Raises:
        RecursionError: They are nested too deeply, or would have to be read again and
            again from each of many brackets that nothing closes.
    """
    found: list[Any] = []
    place, left = 0, _MOST_READ_AGAIN * (len(text) + 1000)
    while match := _OPENING.search(text, place):
        try:
            value, place = _DECODER.raw_decode(text, match.start())
        except json.JSONDecodeError as error:
            place = match.end()
            left -= _ERROR + error.pos - match.start()
            if left < 0:
                raise RecursionError from error
            if place > _MOST_BEFORE:
                text, place = text[place:], 0
        else:
            found.append(value)
    return found


def _steps(path: str) -> list[str | int]:
    rest = path.strip().removeprefix("$")
    steps: list[str | int] = []
    place = 0
    while place < len(rest):
        match = _STEP.match(rest, place)
        if match is None:
            raise AdapterError(
                f"{path!r} is no path of names and positions, such as "
                "$.choices[0].label; there is something else at "
                f"{rest[place:]!r}",
                field="path",
            )
        is_place = match["place"] is not None
        steps.append(int(match["place"]) if is_place else match["name"] or match["key"])
        place = match.end()
    if not steps:
        raise AdapterError("the path names no value", field="path")
    return steps
