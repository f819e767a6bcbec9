"""Lists of what one dialect writes for what another writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from evalkit import DataError
from evalkit_perturbations_text.grammar.tokens import APOSTROPHES, Tokens

SHIPPED = ("en-US", "en-GB")
"""The two dialects whose spelling and words this package has."""

_FILE = "data/dialect_en_us_en_gb.tsv"


class Phrase(NamedTuple):
    """What is replaced."""

    words: tuple[str, ...]
    """Its words and signs in lower case, with straight apostrophes."""
    choices: tuple[str, ...]
    """What may stand there instead."""


Phrases = Mapping[str, tuple[Phrase, ...]]
"""Phrases by their first word, the longest first."""


@cache
def shipped_phrases(source: str, target: str) -> Phrases:
    """Return the list that this package ships, in one direction.

    Args:
        source: `en-US` or `en-GB`.
        target: The other one.

    Returns:
        Its phrases. What the target dialect writes in both ways, or for two things,
        is replaced in one direction only: `cheque` becomes `check`, which stays.
    """
    lines = files("evalkit_perturbations_text").joinpath(_FILE).read_text("utf-8")
    found: dict[str, list[str]] = {}
    wanted = "=>" if source == SHIPPED[0] else "=<"
    for line in lines.splitlines():
        if line.startswith("#"):
            continue
        american, british, direction = line.split("\t")
        if direction in wanted:
            pair = (american, british) if source == SHIPPED[0] else (british, american)
            found.setdefault(pair[0], []).append(pair[1])
    return _by_first_word(found)


@cache
def read_phrases(path: Path) -> Phrases:
    """Read a user's list.

    Args:
        path: A JSON object from words or phrases to what stands for them, a text or a
            list of texts; or lines of two columns with a tab between them, where a
            word may have several lines, and lines that begin with `#` are left out.

    Returns:
        Its phrases.

    Raises:
        DataError: The file cannot be read, or is neither.
    """
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
    return _by_first_word(found)


def _from_json(path: Path, text: str) -> dict[str, list[str]]:
    try:
        loaded = json.loads(text)
    except ValueError as error:
        raise DataError(f"{path}: is not valid JSON: {error}") from error
    if not isinstance(loaded, dict):
        raise DataError(f"{path}: holds {type(loaded).__name__}, not a JSON object")
    found = {}
    for key, value in loaded.items():
        choices = [value] if isinstance(value, str) else value
        is_list = isinstance(choices, list) and choices
        if not is_list or not all(isinstance(choice, str) for choice in choices):
            raise DataError(
                f"{path}: {key!r} has {value!r}; give a text or a list of texts"
            )
        found[_checked(path, key)] = choices
    return found


def _from_lines(path: Path, text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != 2:
            raise DataError(
                f"{path}, line {number}: has {len(columns)} columns; there must be "
                "two, with one tab between them"
            )
        key = _checked(f"{path}, line {number}", columns[0])
        found.setdefault(key, []).append(columns[1].strip())
    return found


def _checked(place: object, key: str) -> str:
    if not key.strip():
        raise DataError(f"{place}: a word to replace is empty; take it out")
    return key.strip()


def _by_first_word(found: Mapping[str, Iterable[str]]) -> Phrases:
    phrases: dict[str, list[Phrase]] = {}
    for key, choices in found.items():
        words = tuple(map(plain_sign, Tokens(key).lower))
        phrases.setdefault(words[0], []).append(Phrase(words, tuple(choices)))
    return {
        word: tuple(sorted(same, key=_length, reverse=True))
        for word, same in phrases.items()
    }


def _length(phrase: Phrase) -> int:
    return len(phrase.words)


def plain_sign(word: str) -> str:
    """Write any apostrophe as a straight one; all other words stay."""
    return "'" if word in APOSTROPHES else word
