"""Lists of words or phrases, and of what may stand for each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, Field, model_validator

from evalkit import DataError, Edit, Parameters, Perturbation
from evalkit_perturbations_text.grammar.tokens import (
    APOSTROPHES,
    Tokens,
    article_edits,
    word_set,
)
from evalkit_perturbations_text.text_perturbations import (
    FairnessPerturbation,
    Share,
    with_case_of,
)

SHIPPED = ("en-US", "en-GB")
"""The two dialects whose spelling and words this package has."""

_FILE = "data/dialect_en_us_en_gb.tsv"


class Phrase(NamedTuple):
    """What is replaced."""

    words: tuple[str, ...]
    """Its words and signs in lower case, with straight apostrophes."""
    choices: tuple[str, ...]
    """What may stand there instead."""
    written: str
    """It as its list has it."""


_Found = dict[tuple[str, ...], Phrase]

Phrases = Mapping[str, tuple[Phrase, ...]]
"""Phrases by their first word, the longest first."""


@cache
def shipped_phrases(source: str, target: str) -> Phrases:
    """Return the list that this package ships, in one direction."""
    lines = files("evalkit_perturbations_text").joinpath(_FILE).read_text("utf-8")
    found = _Found()
    wanted = "=>" if source == SHIPPED[0] else "=<"
    for line in lines.splitlines():
        if line.startswith("#"):
            continue
        american, british, direction = line.split("\t")
        if direction in wanted:
            pair = (american, british) if source == SHIPPED[0] else (british, american)
            _add(found, _FILE, *pair)
    return _by_first_word(found.values())


def read_phrases(path: Path) -> Phrases:
    """Read a user's list."""
    from evalkit.catalog import local_file

    path = local_file(path)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: the mapping of words cannot be read: {error}; give the path of "
            "a JSON object or of lines with two columns, in UTF-8"
        ) from error
    is_json = path.suffix == ".json" or text.lstrip().startswith("{")
    found = _from_json(path, text) if is_json else _from_lines(path, text)
    if not found:
        raise DataError(f"{path}: the mapping of words is empty; add at least one")
    return _by_first_word(found.values())


def _from_json(path: Path, text: str) -> _Found:
    try:
        loaded = json.loads(text, object_pairs_hook=partial(_without_repeats, path))
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}, line {error.lineno}: is not valid JSON: {error.msg}"
        ) from error
    if not isinstance(loaded, dict):
        raise DataError(f"{path}: holds {type(loaded).__name__}, not a JSON object")
    found = _Found()
    for key, value in loaded.items():
        choices = [value] if isinstance(value, str) else value
        is_list = isinstance(choices, list) and choices
        if not is_list or not all(isinstance(choice, str) for choice in choices):
            raise DataError(
                f"{path}: {key!r} has {value!r}; give a text or a list of texts"
            )
        for choice in choices:
            _add(found, str(path), key, choice)
    return found


def _without_repeats(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is there twice, of which JSON would keep the last value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise DataError(f"{path}: {twice!r} is there twice; give a list of texts")
    return found


def _from_lines(path: Path, text: str) -> _Found:
    found = _Found()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != 2:
            raise DataError(
                f"{path}, line {number}: has {len(columns)} columns; there must be "
                "two, with one tab between them"
            )
        _add(found, f"{path}, line {number}", *columns)
    return found


def _add(found: _Found, place: str, key: str, choice: str) -> None:
    """Add what stands for a word or phrase, whose letter case plays no part."""
    key, choice = key.strip(), choice.strip()
    words = tuple(map(plain_sign, Tokens(key).lower))
    if not words:
        raise DataError(f"{place}: a word to replace is empty; take it out")
    if not choice:
        raise DataError(
            f"{place}: nothing stands for {key!r}; words are replaced, not deleted"
        )
    known = found.setdefault(words, Phrase(words, (), key))
    if choice not in known.choices:
        found[words] = known._replace(choices=(*known.choices, choice))


def in_both_directions(phrases: Phrases) -> Phrases:
    """Return a list with also each replacement as what is replaced."""
    back = _Found()
    known = {each.words: each for same in phrases.values() for each in same}
    for each in known.values():
        for choice in each.choices:
            _add(back, each.written, choice, each.written)
    return _by_first_word((back | known).values())


def _by_first_word(found: Iterable[Phrase]) -> Phrases:
    phrases: dict[str, list[Phrase]] = {}
    for phrase in found:
        phrases.setdefault(phrase.words[0], []).append(phrase)
    return {
        word: tuple(sorted(same, key=_length, reverse=True))
        for word, same in phrases.items()
    }


def _length(phrase: Phrase) -> int:
    return len(phrase.words)


def plain_sign(word: str) -> str:
    """Write any apostrophe as a straight one; all other words stay."""
    return "'" if word in APOSTROPHES else word


def match_phrase(tokens: Tokens, position: int, phrases: Phrases) -> Phrase | None:
    """Find the longest phrase of a list at a place of a text."""
    for phrase in phrases.get(tokens.lower[position], ()):
        end = position + len(phrase.words)
        if tuple(map(plain_sign, tokens.lower[position:end])) == phrase.words:
            return phrase
    return None


def with_case_of_phrase(old: str, new: str) -> str:
    """Write a word or phrase in the letter case of another."""
    has_first_capital = old[:1].isupper() and not old.isupper()
    return with_case_of("Xx" if has_first_capital else old, new)


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
        return [_find_edits(Tokens(text), self._phrases, prob, rng) for text in texts]


def _find_edits(
    tokens: Tokens, phrases: Phrases, prob: float, rng: Random
) -> list[Edit]:
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
