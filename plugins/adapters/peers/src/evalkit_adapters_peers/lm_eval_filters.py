"""Filters of lm-evaluation-harness as one extractor."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import polars as pl
from pydantic import Field, field_validator

from evalkit_adapters_rows import AdapterSettings


class LmEvalFilter(AdapterSettings):
    """One filter."""

    function: Literal[
        "regex",
        "multi_choice_regex",
        "remove_whitespace",
        "lowercase",
        "uppercase",
        "map",
    ]
    regex_pattern: str = r"#### (\-?[0-9\.\,]+)"
    group_select: int = 0
    """Place of the match that counts; -1 for the last."""
    fallback: str = "[invalid]"
    """What a text becomes without a match."""
    ignore_case: bool = False
    ignore_punctuation: bool = False
    regexes_to_ignore: tuple[str, ...] | None = None
    mapping_dict: dict[str, str] = {}
    default_value: str | None = None

    @field_validator("regex_pattern")
    @classmethod
    def _compile(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"invalid regular expression: {error}") from error
        return pattern


class LmEvalFilters:
    r"""Apply filters of lm-evaluation-harness to a text, one after the other.

    `regex` takes the match number `group_select` of all matches, and of it the first
    group with a text, or else the whole; `fallback` stands for no match.
    `multi_choice_regex` then looks for the text of an option and for `: A`, and returns
    the letter as `(A)`. Patterns are Python's. `map` replaces a text that is a key.

    Source: `filters` of lm-evaluation-harness 0.4.13.

    Example:
        ```yaml
        - kind: lm-eval-filters
          configuration:
            filters: [{function: regex, regex_pattern: '(-?\d+)', group_select: -1}]
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """The filters, in their order."""

        filters: list[LmEvalFilter] = Field(description="Filters, in their order")

    def __init__(self, parameters: Parameters) -> None:
        self._steps = [_step(each) for each in parameters.filters]
        functions = {each.function for each in parameters.filters}
        self.needs = ("choices",) if "multi_choice_regex" in functions else ()

    def extract_texts(
        self, texts: pl.Series, choices: pl.Series | None
    ) -> pl.DataFrame:
        """Return what the filters make of each text."""
        listed: list[Any] = (
            [None] * len(texts) if choices is None else choices.to_list()
        )
        values = []
        for text, own in zip(texts, listed, strict=True):
            value: str | None = text
            for step in self._steps:
                value = None if value is None else step(value, tuple(own or ()))
            values.append(value)
        made = pl.Series("value", values, dtype=pl.String)
        reason = pl.when(pl.col("value").is_null()).then(pl.lit("the map has no value"))
        return made.to_frame().with_columns(reason=reason)


Step = Callable[[str, tuple[str, ...]], str | None]


def _step(given: LmEvalFilter) -> Step:
    """Return the function of a text and the options that a filter is."""
    if given.function == "regex":
        pattern = re.compile(given.regex_pattern)
        return lambda text, _: _selected(pattern, text, given, given.fallback)
    if given.function == "multi_choice_regex":
        return _MultiChoice(given)
    if given.function == "map":
        return lambda text, _: given.mapping_dict.get(text, given.default_value)
    if given.function == "remove_whitespace":
        return lambda text, _: text.strip()
    if given.function == "lowercase":
        return lambda text, _: text.lower()
    return lambda text, _: text.upper()


def _selected(
    pattern: re.Pattern[str], text: str, given: LmEvalFilter, fallback: str
) -> str:
    """Return one of the matches: its first group with a text, or the whole.

    Raises:
        IndexError: There are fewer matches.
    """
    matches = pattern.findall(text)
    if not matches:
        return fallback
    match = matches[given.group_select]
    if isinstance(match, tuple):
        match = next((group for group in match if group), fallback)
    return str(match.strip())


@cache
def _punctuation() -> dict[int, None]:
    """Return the characters of Unicode's categories of punctuation."""
    return {
        code: None
        for code in range(0x10FFFF)
        if unicodedata.category(chr(code)).startswith("P")
    }


class _MultiChoice:
    """`multi_choice_regex`."""

    def __init__(self, given: LmEvalFilter) -> None:
        self._given = given
        self._pattern = re.compile(given.regex_pattern)

    def __call__(self, text: str, choices: tuple[str, ...]) -> str:
        texts = [self._cleared(choice.strip()) for choice in choices]
        letters = [chr(ord("A") + number) for number in range(len(choices))]
        named = {own: f"({a})" for own, a in zip(texts, letters, strict=True)}
        lettered = {letter: f"({letter})" for letter in letters}
        patterns = sorted(map(re.escape, texts), key=len, reverse=True)
        by_text = re.compile("|".join(patterns))
        by_letter = re.compile(rf":[\s]*({'|'.join(letters)})")
        match = _selected(self._pattern, text, self._given, "")
        if not match:
            found = _selected(by_text, self._cleared(text), self._given, "")
            match = named.get(found, found)
        if not match:
            found = _selected(by_letter, text, self._given, "")
            match = lettered.get(found, found)
        return match or self._given.fallback

    def _cleared(self, text: str) -> str:
        for pattern in self._given.regexes_to_ignore or ():
            text = re.sub(pattern, "", text)
        text = text.lower() if self._given.ignore_case else text
        if self._given.ignore_punctuation:
            text = text.translate(_punctuation())
        return text
