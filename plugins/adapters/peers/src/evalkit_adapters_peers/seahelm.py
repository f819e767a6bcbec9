"""`seahelm-answer`: the label behind an answer tag, as SEA-HELM reads it."""

from __future__ import annotations

import re
import string
from functools import cache

import polars as pl
from pydantic import Field

from evalkit_adapters_rows import AdapterSettings

_OUTER = f"{string.punctuation} \n"


class SeahelmAnswer:
    r"""Take the label that stands behind an answer tag, as SEA-HELM reads it.

    The labels are the options of the example (`choices_field`). Behind the first tag
    that a label follows, with blanks and `*` between them, as many labels as follow one
    another are read, and the last one is the answer: `Answer: Apple` is A. If there is
    none, the whole text must be a label, except for case, ASCII punctuation and blanks
    around it. The longest of several labels is read. Tag and labels are no patterns
    (in SEA-HELM they are).

    Source: `F1AccMetric`, `PragmaticReasoningMetric` of SEA-HELM 1.2.0.

    Example:
        ```yaml
        - kind: seahelm-answer
          configuration: {tag: "Answer:"}
        ```
    """

    version = "1"
    needs = ("choices",)

    class Parameters(AdapterSettings):
        """The tag, and how it is looked for."""

        tag: str = Field(description="What the answer stands behind")
        case: bool = Field(default=False, description="Whether case counts")
        first: bool = Field(
            default=False, description="Whether only the first tag of a text counts"
        )

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    def extract_texts(
        self, texts: pl.Series, choices: pl.Series | None
    ) -> pl.DataFrame:
        """Return the label of each text."""
        options = [None] * len(texts) if choices is None else choices.to_list()
        find = cache(self._find)
        rows = zip(texts.to_list(), options, strict=True)
        values = [find(text, tuple(each or ())) for text, each in rows]
        found = pl.DataFrame({"value": pl.Series(values, dtype=pl.String)})
        none = pl.lit("no label behind the tag, and the text is none")
        return found.with_columns(reason=pl.when(pl.col("value").is_null()).then(none))

    def _find(self, text: str, labels: tuple[str, ...]) -> str | None:
        parameters = self._parameters
        either = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
        flags = re.NOFLAG if parameters.case else re.IGNORECASE
        many = "*" if parameters.first else "+"
        pattern = rf"{re.escape(parameters.tag)}[\s*]*({either}){many}"
        match = re.search(pattern, text, flags) if labels else None
        named = text if match is None else match.group(1) or text
        return {label.lower(): label for label in labels}.get(_folded(named.strip()))


def _folded(text: str) -> str:
    return " ".join(text.lower().strip(_OUTER).split())
