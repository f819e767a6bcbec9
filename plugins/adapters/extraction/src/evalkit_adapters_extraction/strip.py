"""`strip`: what is left without the signs around it."""

from __future__ import annotations

import polars as pl
from pydantic import Field

from evalkit_adapters_rows import AdapterSettings

_SIGNS = "$*_~`\"'“”„‘’«»"
_BLANKS = " \t\r\n\v\f\u00a0\u2003\u3000\u200b\ufeff"
_FENCE = r"(?s)^\s*`{3,}[^\n`]*\n(.*?)\n?\s*(?:`{3,}.*)?$"


class Strip:
    """Leave out `$`, quotes, Markdown emphasis, code fences and blanks around a text.

    A text that begins with a code fence becomes what stands in it, without the name of
    the language. At both ends blanks and the signs ``$ * _ ~ ` " '`` go, and
    quotes of other forms, also where they stand at one end only; those within the text
    stay. `also` names further signs, such as `.`.

    Source: the post-processing that SEA-HELM's guide to new tasks describes.

    Example:
        ```yaml
        - kind: strip
          configuration: {also: ".!"}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """What else is left out."""

        also: str = Field(
            default="", description="Further signs to leave out at both ends"
        )

    def __init__(self, parameters: Parameters) -> None:
        self._signs = _SIGNS + _BLANKS + parameters.also

    def extract_texts(self, texts: pl.Series) -> pl.DataFrame:
        """Return each text without what stands around it."""
        inner = texts
        if texts.str.contains("```", literal=True).any():
            inner = (
                pl.DataFrame({"text": texts, "inner": texts.str.extract(_FENCE, 1)})
                .select(pl.coalesce("inner", "text"))
                .to_series()
            )
        return pl.DataFrame({"value": inner.str.strip_chars(self._signs)})
