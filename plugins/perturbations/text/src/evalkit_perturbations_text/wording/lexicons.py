"""Where synonyms come from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from evalkit import PluginContractError, RequiredParameterError


def read_lexicon(path: str | Path) -> Mapping[str, Sequence[str]]:
    """Read a user's lexicon."""
    from evalkit.catalog import local_file

    file = local_file(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
        pairs = _json_pairs(text) if file.suffix == ".json" else _lines(text)
    except (OSError, ValueError) as error:
        raise PluginContractError(
            f"perturbations/synonyms: the lexicon {file} cannot be used: {error}; give "
            "a JSON file with an object of lists of texts, or a file with lines of a "
            "word, a tab and its synonyms"
        ) from error
    found: dict[str, list[str]] = {}
    for word, synonyms in pairs:
        known = found.setdefault(word.lower(), [])
        for synonym in synonyms:
            if synonym and synonym.lower() != word.lower() and synonym not in known:
                known.append(synonym)
    return found


def _json_pairs(text: str) -> list[tuple[str, list[str]]]:
    content: Any = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("it is no object")
    pairs = []
    for word, synonyms in content.items():
        given = [synonyms] if isinstance(synonyms, str) else synonyms
        if not isinstance(given, list) or not all(isinstance(s, str) for s in given):
            raise ValueError(f"the synonyms of {word!r} are no list of texts")
        pairs.append((word, given))
    return pairs


def _lines(text: str) -> list[tuple[str, list[str]]]:
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        word, tab, synonyms = line.partition("\t")
        if not tab or not word.strip():
            raise ValueError(f"line {number} has no word before a tab")
        pairs.append((word.strip(), [part.strip() for part in synonyms.split(",")]))
    return pairs


def wordnet_lookup() -> Callable[[str], Sequence[str]]:
    """Return a function that looks words up in WordNet."""
    try:
        from nltk.corpus import wordnet  # type: ignore[import-not-found, unused-ignore]

        wordnet.ensure_loaded()
    except (ImportError, LookupError) as error:
        raise RequiredParameterError(
            "perturbations/synonyms: WordNet is not there; give a lexicon of your own "
            "with lexicon=FILE, or install the package nltk and its data with "
            "python -m nltk.downloader wordnet"
        ) from error

    @lru_cache(maxsize=65_536)
    def look_up(word: str) -> Sequence[str]:
        meanings = wordnet.synsets(word)
        if len({_part_of_speech(meaning) for meaning in meanings}) != 1:
            return ()
        names = meanings[0].lemma_names()
        if word not in names:
            return ()
        return tuple(name for name in names if name != word and name.isalpha())

    return look_up


def _part_of_speech(meaning: Any) -> str:
    # a satellite adjective is an adjective
    name: str = meaning.pos()
    return "a" if name == "s" else name
