"""The options of an example: in which order, and under which letters."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalkit.errors import DataError
from evalkit_models_base.inputs import ModelInputs
from evalkit_models_base.prompts import LETTERS, Choices, Prompt
from evalkit_models_base.templates import fill

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
