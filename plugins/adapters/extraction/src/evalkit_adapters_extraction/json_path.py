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
_DECODER = json.JSONDecoder()


class JsonPath:
    """Take a value out of the JSON that a model wrote.

    The JSON may stand among other words or in a code fence: of the objects and lists in
    the text the last one counts that can be read. The path is `$.answer`,
    `$.choices[0].label` or `$['final answer']`; `$` may be left out. A text is taken as
    it is, a number or a boolean as JSON writes it.

    A text without JSON is an error, one in which it is broken too. Where the path leads
    nowhere, to null, or to a list or an object, the text is unparsed. With
    `otherwise=text` a text without JSON is the text itself.

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
        values = _values(text)
        if not values:
            if self._keeps_text:
                return Found(text)
            return Found(None, "there is no JSON that can be read", failed=True)
        value = values[-1]
        for step in self._steps:
            try:
                value = value[step]
            except (LookupError, TypeError):
                return Found(None, "the path leads nowhere")
        if value is None:
            return Found(None, "the value is null")
        if isinstance(value, list | dict):
            return Found(None, "the value is a list or an object")
        return Found(value if isinstance(value, str) else json.dumps(value))


def _values(text: str) -> list[Any]:
    """Return the objects and lists of a text, the outermost ones."""
    found: list[Any] = []
    place = 0
    while match := re.compile(r"[{\[]").search(text, place):
        try:
            value, place = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            place = match.end()
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
