"""`map-values`: a word that stands for an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from pydantic import Field, field_validator

from evalkit import AdapterError
from evalkit_adapters_extraction.regex import Regex
from evalkit_adapters_extraction.settings import OtherwiseSettings, found_or


class MapValues:
    """Replace a text by what it stands for: `B` by the second option, say.

    The whole text, without blanks around it, must be a key of `mapping`; case does not
    count unless `case=true`. With `pattern` it is what the pattern matches that must be
    one, see `regex`. A text that is no key is unparsed, or with `otherwise=text` the
    text itself. On the command line pairs are written `KEY:VALUE` and joined by
    slashes: `map-values:A:yes/B:no`.

    Source: `output_mapping` and `output_mapping_pattern` of HELM, where a text that is
    no key is scored as if there was none.

    Example:
        ```yaml
        - kind: map-values
          configuration: {mapping: {A: entailed, B: neutral}, pattern: '[AB]'}
        ```
    """

    version = "1"

    class Parameters(OtherwiseSettings):
        """What stands for what."""

        mapping: dict[str, str] = Field(description="Answers by what stands for them")
        pattern: str | None = Field(
            default=None, description="What finds the key in the text"
        )
        case: bool = Field(default=False, description="Whether case counts")

        @field_validator("mapping", mode="before")
        @classmethod
        def _of_text(cls, given: Any) -> Any:
            pairs = given.split("/") if isinstance(given, str) else given
            if not isinstance(pairs, list):
                return given
            if not all(isinstance(each, str) and ":" in each for each in pairs):
                raise ValueError("must be pairs KEY:VALUE, joined by slashes")
            return dict(each.split(":", 1) for each in pairs)

    def __init__(self, parameters: Parameters) -> None:
        self._case = parameters.case
        self._mapping = _folded(parameters.mapping, parameters.case)
        self._otherwise = parameters.otherwise
        self._regex = None
        if parameters.pattern is not None:
            self._regex = Regex(Regex.Parameters(pattern=parameters.pattern))

    def extract_texts(self, texts: pl.Series) -> pl.DataFrame:
        """Return what each text stands for."""
        keys = texts
        if self._regex is not None:
            keys = self._regex.extract_texts(texts)["value"]
        keys = keys.str.strip_chars()
        if not self._case:
            keys = keys.str.to_lowercase()
        values = keys.replace_strict(
            self._mapping, default=None, return_dtype=pl.String
        )
        return found_or(texts, values, "it stands for nothing", self._otherwise)


def _folded(mapping: Mapping[str, str], case: bool) -> dict[str, str]:
    made: dict[str, str] = {}
    for key, value in mapping.items():
        word = key.strip() if case else key.strip().lower()
        if made.setdefault(word, value) != value:
            raise AdapterError(
                f"{key!r} stands for two answers, as case does not count",
                field="mapping",
            )
    if not made:
        raise AdapterError("it is empty", field="mapping")
    return made
