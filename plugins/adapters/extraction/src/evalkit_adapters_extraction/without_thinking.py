"""`without-thinking`: what is left without a model's thoughts."""

from __future__ import annotations

import re

import polars as pl
from pydantic import Field

from evalkit import AdapterError
from evalkit_adapters_rows import AdapterSettings

_FINAL = r"(?s)^.*<\|channel\|>final[^<]*<\|message\|>"
_OTHER_CHANNEL = r"(?s)<\|channel\|>.*$"
_END = r"(?s)<\|(?:return|end|im_end)\|>.*$"


class WithoutThinking:
    """Leave out what a model thought before it answered.

    `<think>…</think>` goes, so do `thinking`, `thought`, `reasoning`, `reflection` and
    `scratchpad`, in angle or square brackets, in any case; what stands before an end
    without a beginning, which a chat template took; and what stands behind a beginning
    without an end, where the answer was cut off. Of the channels of gpt-oss
    (`<|channel|>final<|message|>`) the final one is left. A text that is nothing but
    thoughts is empty.

    Source: the tags that DeepSeek-R1, Qwen, Magistral and gpt-oss write.

    Example:
        ```yaml
        - kind: without-thinking
          configuration: {tags: [think, plan]}
        ```
    """

    version = "1"

    class Parameters(AdapterSettings):
        """The tags."""

        tags: list[str] = Field(
            default=[
                *("think", "thinking", "thought", "reasoning", "reflection"),
                "scratchpad",
            ],
            description="Names of the tags around thoughts",
        )

    def __init__(self, parameters: Parameters) -> None:
        if not parameters.tags or not all(each.strip() for each in parameters.tags):
            raise AdapterError("there must be tags with names", field="tags")
        names = [re.escape(each.strip()) for each in parameters.tags]
        self._pairs = [f"(?is){_opening(name)}.*?{_closing(name)}" for name in names]
        every = f"(?:{'|'.join(names)})"
        self._stray_end = f"(?is)^.*{_closing(every)}"
        self._stray_start = f"(?is){_opening(every)}.*$"
        self._any = f"(?i){_opening(every)}|{_closing(every)}|<\\|"

    def extract_texts(self, texts: pl.Series) -> pl.DataFrame:
        """Return each text without thoughts."""
        places = texts.str.contains(self._any).arg_true()
        if not len(places):
            return pl.DataFrame({"value": texts})
        cut = texts.gather(places)
        for pattern in (*self._pairs, self._stray_end, self._stray_start):
            cut = cut.str.replace_all(pattern, "")
        for pattern in (_FINAL, _OTHER_CHANNEL, _END):
            cut = cut.str.replace(pattern, "")
        return pl.DataFrame(
            {"value": texts.clone().scatter(places, cut.str.strip_chars())}
        )


def _opening(name: str) -> str:
    return rf"[<\[]{name}(?:\s[^>\]]*)?[>\]]"


def _closing(name: str) -> str:
    return rf"[<\[]/{name}\s*[>\]]"
