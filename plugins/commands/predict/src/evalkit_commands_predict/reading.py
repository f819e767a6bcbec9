"""Reads which option a text names, where only the prompt knows their letters."""

from __future__ import annotations

import json
from typing import Any

from evalkit_commands_predict.choosing import Shown
from evalkit_commands_predict.prompts import LETTERS

_CHOICE = "choice"


class OptionReader:
    """Reads letters that the extractor `choice` cannot know.

    Args:
        extract: What takes the letter out of the reply, as a prompt says it; its last
            stage `choice` is done here.
    """

    def __init__(self, extract: Any) -> None:
        from evalkit.adapters import Extraction, extraction

        found = None if extract is None else extraction(extract)
        stages = found.stages if found is not None else ()
        if stages and stages[-1].kind in (_CHOICE, "labels"):
            stages = stages[:-1]
        self._before = Extraction(stages) if stages else None
        self._choice = extraction(_CHOICE)

    def read(self, text: str, shown: Shown) -> str:
        """Return the text of the option that is named; an empty one for none.

        Args:
            text: What a model wrote.
            shown: The options as it saw them.
        """
        import polars as pl

        if self._before is not None:
            found = self._before.extract(pl.Series([text], dtype=pl.String))
            text = found.values[0] or ""
        if text.strip() in shown.options:
            return text.strip()
        named = shown.named_by(text)
        if named is not None:
            return named
        has_letters = "".join(shown.letters) == LETTERS[: len(shown.letters)]
        # another alphabet: only the texts of options are looked for, and A is no letter
        options = [*shown.options] if has_letters else [*_without_places(shown)]
        chosen = self._choice.extract(
            pl.Series([text], dtype=pl.String),
            pl.Series([options], dtype=pl.List(pl.String)),
        )
        return chosen.values[0] or ""


def _without_places(shown: Shown) -> list[str | None]:
    """Return the options behind places that no letter of the alphabet stands for."""
    return [*([None] * len(LETTERS)), *shown.options]


def json_list(text: str) -> list[Any] | None:
    """Return the list that a text holds in JSON, in a code fence or not.

    Args:
        text: What a model wrote.

    Returns:
        The list; None where there is none.
    """
    start, end = text.find("["), text.rfind("]")
    try:
        found = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None
