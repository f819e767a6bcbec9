"""The options of an example: in which order, and under which letters."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.errors import DataError
from evalkit_models_base.inputs import ModelInputs
from evalkit_models_base.prompts import LETTERS, Choices, Prompt
from evalkit_models_base.templates import fill

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


_SIGNS = r"[\s\"'()*_`\[\]{}<>#$,.:;!?-]*"
_MARK = r"[*_`]*[).:\]](?![0-9])"


@dataclass(frozen=True)
class Shown:
    """Options as they are shown, and what stands for each."""

    options: tuple[str, ...]
    letters: tuple[str, ...]
    places: tuple[int, ...]
    """Where each stands among the example's own."""

    def listed(self, choices: Choices) -> str:
        """Write them, one to a line."""
        return choices.separator.join(
            fill(choices.line, {"letter": letter, "choice": option})
            for letter, option in zip(self.letters, self.options, strict=True)
        )

    def letter_of(self, option: Any) -> str | None:
        """Return the letter of an option; None where it is none of them."""
        if option not in self.options:
            return None
        return self.letters[self.options.index(option)]

    def lettered(self, text: str) -> str | None:
        """Return the option whose letter is the whole text, but for signs around it."""
        return self._named_by(text, rf"{_SIGNS}$")

    def repeated(self, text: str) -> str | None:
        """Return the option whose letter and text are the whole text, marked or not."""
        return next(
            (
                option
                for letter, option in zip(self.letters, self.options, strict=True)
                if re.fullmatch(
                    rf"{_SIGNS}{re.escape(letter.strip())}{_MARK}"
                    rf"{_SIGNS}{re.escape(option.strip())}{_SIGNS}",
                    text,
                )
            ),
            None,
        )

    def marked(self, text: str) -> str | None:
        """Return the option with whose letter, marked as in a list, a text begins."""
        first = self._named_by(text, _MARK)
        others = [
            option
            for letter, option in zip(self.letters, self.options, strict=True)
            if re.search(rf"(?<!\w){re.escape(letter.strip())}\)(?!\w)", text)
        ]
        return "" if first is not None and {*others} - {first} else first

    def _named_by(self, text: str, end: str) -> str | None:
        """Return the option whose letter a text begins with, before some end.

        Letters that differ in case alone are told apart by it.
        """
        for flags in (re.NOFLAG, re.IGNORECASE):
            for letter, option in zip(self.letters, self.options, strict=True):
                pattern = rf"{_SIGNS}{re.escape(letter.strip())}{end}"
                if re.match(pattern, text, flags):
                    return option
        return None


def choices_name(prompt: Prompt, inputs: ModelInputs) -> str | None:
    """Return the field that holds an example's options; None for the labels."""
    return prompt.choices.field or inputs.choices_field


def shown_options(prompt: Prompt, inputs: ModelInputs, row: Mapping[str, Any]) -> Shown:
    """Return the options of an example as a prompt shows them."""
    name, choices = choices_name(prompt, inputs), prompt.choices
    options = inputs.labels if name is None else row.get(name)
    if not isinstance(options, list | tuple) or not all(
        isinstance(each, str) for each in options or [None]
    ):
        what = "there are no labels" if name is None else f"{name!r} holds none"
        raise DataError(
            f"the prompt asks for choices, and {what}; name the field that holds a "
            "list of texts in choices.field"
        )
    letters = choices.letters
    if prompt.uses_continuations and "choices" not in prompt.named():
        letters = (*letters, *map(str, range(len(letters), len(options))))  # not shown
    if len(options) > len(letters):
        raise DataError(
            f"there are {len(options)} options, and choices.letters has "
            f"{len(choices.letters)}; add letters to it"
        )
    places = [*range(len(options))]
    if choices.order == "sorted":
        places.sort(key=options.__getitem__)
    elif choices.order == "shuffled":
        random.Random(f"{choices.seed}:{row['uid']}").shuffle(places)
    ordered = tuple(options[place] for place in places)
    return Shown(ordered, letters[: len(places)], tuple(places))


def is_single_letter(option: str) -> bool:
    """Tell whether the extractor `choice` takes an option for a letter of its own."""
    return re.fullmatch(r"[\W_]*[A-Za-z][\W_]*", option) is not None


def reads_as_given(prompt: Prompt, inputs: ModelInputs) -> bool:
    """Tell whether the extractor `choice` reads the letters as the prompt shows them.

    It does but for options that are single letters.
    """
    letters = prompt.choices.letters
    return (
        prompt.choices.order == "given"
        and "".join(letters) == LETTERS[: len(letters)]
        and inputs.choices_field is not None
        and choices_name(prompt, inputs) == inputs.choices_field
    )
