"""Writes a text as another dialect does: spelling, and a few words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from pydantic import BaseModel, model_validator

from evalkit import Edit, Parameters
from evalkit_perturbations_text.fairness_perturbations import FairnessPerturbation
from evalkit_perturbations_text.grammar.tokens import Tokens, article_edits
from evalkit_perturbations_text.text_perturbations import Share
from evalkit_perturbations_text.wording.word_mappings import (
    Phrases,
    match_phrase,
    read_phrases,
    shipped_phrases,
    with_case_of_phrase,
)


class DialectParameters(Parameters):
    """Parameters of `dialect`."""

    source: str = "en-US"
    """The dialect of the texts: `en-US` or `en-GB`, or any name with a `mapping`."""
    target: str = "en-GB"
    """The dialect to write."""
    mapping: Path | None = None
    """A list of one's own: a JSON object, or two columns with a tab between them. It
    takes the place of the list that is shipped."""
    prob: Share = 1.0
    """The share of places that are changed, 0 to 1, each drawn by itself."""

    @model_validator(mode="after")
    def _check_shipped(self) -> DialectParameters:
        if self.mapping is None and {self.source, self.target} != {"en-US", "en-GB"}:
            raise ValueError(
                f"no list from {self.source!r} to {self.target!r} is shipped, only "
                "between 'en-US' and 'en-GB'; give the path of your own as `mapping`"
            )
        return self


class Dialect(FairnessPerturbation):
    """Replaces what one dialect writes by what another writes.

    The shipped list has American and British spelling, word by word, and some words
    for things (`apartment`, `flat`). Names, such as Rockefeller Center, are left alone:
    a word with a capital is changed at the beginning of a sentence only, or where most
    words have one. `a` and `an` before a word follow it.

    Raises:
        DataError: The `mapping` cannot be read.
    """

    Parameters = DialectParameters
    parameters: DialectParameters

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        if chosen.mapping is None:
            self._phrases = shipped_phrases(chosen.source, chosen.target)
        else:
            self._phrases = read_phrases(chosen.mapping)

    def find_edits(self, texts: Sequence[str], rng: Random) -> list[list[Edit]]:
        """Find what the target dialect writes otherwise."""
        prob = self.parameters.prob
        return [_find(Tokens(text), self._phrases, prob, rng) for text in texts]


def _find(tokens: Tokens, phrases: Phrases, prob: float, rng: Random) -> list[Edit]:
    edits: list[Edit] = []
    end = 0
    for position in range(len(tokens)):
        if position < end or _is_name(tokens, position):
            continue
        phrase = match_phrase(tokens, position, phrases)
        if phrase is None or (prob < 1 and rng.random() >= prob):
            continue
        end = position + len(phrase.words)
        choices = phrase.choices
        new = choices[0] if len(choices) == 1 else rng.choice(choices)
        edits += _edits_of(tokens, position, end, new)
    return edits


def _is_name(tokens: Tokens, position: int) -> bool:
    """Tell whether a word has a capital that nothing but a name explains."""
    form = tokens.forms[position]
    if not form[0].isupper() or tokens.starts_sentence(position):
        return False
    shouted = len(form) > 1 and form.isupper()
    return not (shouted or tokens.is_title)


def _edits_of(tokens: Tokens, position: int, end: int, new: str) -> list[Edit]:
    start, stop = tokens.spans[position][0], tokens.spans[end - 1][1]
    written = with_case_of_phrase(tokens.text[start:stop], new)
    return [*article_edits(tokens, position, new), Edit(start, stop, written)]
