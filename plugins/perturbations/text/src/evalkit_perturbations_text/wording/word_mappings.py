"""Lists of words or phrases, and of what may stand for each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from evalkit import DataError
from evalkit_perturbations_text.grammar.tokens import APOSTROPHES, Tokens
from evalkit_perturbations_text.letter_case import with_case_of

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
