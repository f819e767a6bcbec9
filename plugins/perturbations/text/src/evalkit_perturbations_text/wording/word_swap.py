"""Swaps the words of a user's own list."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from evalkit import Edit, Parameters, Perturbation
from evalkit_perturbations_text.grammar.tokens import APOSTROPHES, Tokens, word_set
from evalkit_perturbations_text.text_perturbations import Share
from evalkit_perturbations_text.wording.word_mappings import (
    Phrase,
    Phrases,
    in_both_directions,
    match_phrase,
    read_phrases,
    with_case_of_phrase,
)


class WordSwapParameters(Parameters):
    """Parameters of `word-swap`."""

    mapping: Annotated[Path, Field(examples=["happy\tglad\nfilm\tmovie\n"])]
    """A file in UTF-8: lines of a word or phrase, a tab and what stands for it, where a
    word with several lines has several replacements, and lines that begin with `#` are
    left out; or a JSON object of texts or lists of texts. Its content is part of the
    identity of copies and runs."""
    both_ways: bool = False
    """Whether each replacement is replaced too, by what it stands for."""
    prob: Share = 1.0
    """The share of the listed words of an example that are replaced, 0 to 1, one draw
    for each word, wherever it stands."""
    answer: Literal["invariant", "uncertain"] = "invariant"
    """Whether the words leave the answer as it is, or may change it; the answers of
    `qa` are changed as the text is."""


class WordSwap(Perturbation):
    """Swaps the words and phrases of your own list: `word-swap:mapping=words.tsv`.

    The file has lines such as `mosque`, a tab, `church`, or is a JSON object such as
    `{"mosque": ["church", "temple"]}`. Nothing but listed words changes, not even `a`
    before one; whole words only, in any letter case, the longest phrase first. `'s` and
    the like after a word stay (`mosque's` to `church's`); a word inside a larger one
    (`don` in `don't`, in `@don`) is none. A replacement is written as in the file, but
    with a first capital or in capitals where the word has them. A word has one
    replacement in all texts of an example, drawn where there are several. Numbers,
    addresses, mark-up and placeholders are left alone, also where they are listed.

    Raises:
        DataError: The file cannot be read, or a line of it is wrong.
    """

    Parameters: ClassVar[type[BaseModel]] = WordSwapParameters
    parameters: WordSwapParameters
    families = frozenset({"words"})
    version = "1"
    label_effect = {"qa": "transforms", "*": "invariant"}

    def __init__(self, parameters: BaseModel | None = None) -> None:
        super().__init__(parameters)
        chosen = self.parameters
        phrases = read_phrases(chosen.mapping)
        self._phrases = in_both_directions(phrases) if chosen.both_ways else phrases
        vars(self)["label_effect"] = {"qa": "transforms", "*": chosen.answer}

    def find_edits(self, texts: Sequence[str], rng: Random) -> list[list[Edit]]:
        """Find the listed words of an example."""
        chosen: dict[Phrase, str | None] = {}
        edits: list[list[Edit]] = []
        for text in texts:
            tokens = Tokens(text)
            made = []
            for start, end, phrase in _find(tokens, self._phrases):
                if phrase not in chosen:
                    is_left = rng.random() >= self.parameters.prob
                    chosen[phrase] = None if is_left else rng.choice(phrase.choices)
                new = chosen[phrase]
                if new is not None:
                    written = with_case_of_phrase(text[start:end], new)
                    made.append(Edit(start, end, written))
            edits.append(made)
        return edits


def _find(tokens: Tokens, phrases: Phrases) -> list[tuple[int, int, Phrase]]:
    """Find listed words, and where each begins and ends in the text."""
    found = []
    end = 0
    for position in range(len(tokens)):
        if position < end:
            continue
        phrase = match_phrase(tokens, position, phrases)
        if phrase is None or _is_part(tokens, position, position + len(phrase.words)):
            continue
        end = position + len(phrase.words)
        found.append((tokens.spans[position][0], tokens.spans[end - 1][1], phrase))
    return found


_ENDINGS = word_set("s ll re ve d m")
"""What may follow a word and an apostrophe without being part of the word."""


def _is_part(tokens: Tokens, position: int, end: int) -> bool:
    """Tell whether words are part of a larger one, such as `don` in `don't`."""
    before, after = tokens.form(position - 1), tokens.form(end)
    if tokens.touches(position - 1):
        joins = before in APOSTROPHES or before == "."
        if before in "@#" or (joins and tokens.touches(position - 2)):
            return True
    if not (tokens.touches(end - 1) and tokens.touches(end)):
        return False
    follows = tokens.word(end + 1)
    if not follows[0].isalnum():
        return False
    return after == "." or (after in APOSTROPHES and follows not in _ENDINGS)
