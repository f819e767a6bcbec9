"""Reads which option a text names, where only the prompt knows their letters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from evalkit_models_base.choosing import Shown, is_single_letter
from evalkit_models_base.prompts import LETTERS

_CHOICE = "choice"
NO_EXTRACTOR = "none"
"""What a user says for none."""
ANY_TEXT = "regex:pattern=(?s).+"
"""The extractor of options that are read already: only an empty text is unparsed."""

_FILES = (".yaml", ".yml", ".json")
_NO_LETTER = "option \ue000"


class OptionReader:
    """Reads letters that the extractor `choice` cannot know."""

    def __init__(self, extract: Any) -> None:
        from evalkit_adapters_rows import Extraction, extraction

        is_said = extract not in (None, NO_EXTRACTOR)
        found = extraction(extract) if is_said else None
        stages = found.stages if found is not None else ()
        if stages and stages[-1].kind in (_CHOICE, "labels"):
            stages = stages[:-1]
        self._before = Extraction(stages) if stages else None
        self._choice = extraction(_CHOICE)

    def read(self, text: str, shown: Shown) -> str:
        """Return the text of the option that is named; an empty one for none."""
        if self._before is not None:
            import polars as pl

            found = self._before.extract(pl.Series([text], dtype=pl.String))
            text = found.values[0] or ""
        bare = text.strip()
        letters = [letter.strip().casefold() for letter in shown.letters]
        if bare in shown.options and bare.casefold() not in letters:
            return bare
        is_usual = "".join(shown.letters) == LETTERS[: len(shown.letters)]
        readers = [shown.repeated, shown.lettered, shown.marked]
        for read in readers[:1] if is_usual else readers:
            named = read(text)
            if named is not None:
                return named
        if is_usual:
            return self._chosen(text, shown, [*map(_standing_in, shown.options)], 0)
        # another alphabet: only the texts of options are looked for, and A is no letter
        places = [None] * len(LETTERS)
        return self._chosen(text, shown, [*places, *shown.options], len(places))

    def _chosen(
        self, text: str, shown: Shown, options: Sequence[str | None], first: int
    ) -> str:
        import polars as pl

        chosen = self._choice.extract(
            pl.Series([text], dtype=pl.String),
            pl.Series([[*options]], dtype=pl.List(pl.String)),
        ).values[0]
        if chosen is None:
            return ""
        return shown.options[options.index(chosen) - first]


def stages_of(extract: Any) -> Any:
    """Return extractors as they are recorded: what a file says, not where it is."""
    if not isinstance(extract, str) or not extract.endswith(_FILES):
        return extract
    from evalkit_adapters_rows import extraction

    said = extraction(extract).specification
    keys = ("kind", "configuration")
    return [{key: each[key] for key in keys if key in each} for each in said]


def _standing_in(option: str) -> str:
    """Return an option, or a text that no model writes in place of a single letter.

    A prompt that asks for a letter is answered with one, and never with that option.
    """
    return _NO_LETTER + option.strip() if is_single_letter(option) else option


def json_list(text: str) -> list[Any] | None:
    """Return the list that a text holds in JSON, in a code fence or not."""
    start, end = text.find("["), text.rfind("]")
    try:
        found = json.loads(text[start : end + 1])
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None
