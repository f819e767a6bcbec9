"""Finds the names of people with a recogniser that is a plugin of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

from evalkit_perturbations_text.grammar.tokens import Tokens
from evalkit_perturbations_text.names import words as name_words
from evalkit_perturbations_text.names.country_names import Gender
from evalkit_perturbations_text.names.person_names import Mention

FindEntities = Callable[..., Any]

PERSON = "person"
"""The kind of entities that are people."""

_PERSONS = ("person", "persons", "people", "per")
"""What other programs call it, in any case."""

_LISTS = (list, tuple)

_TITLES = (name_words.SURNAME_TITLES | name_words.FIRST_NAME_TITLES) - {"young", "old"}


@cache
def load_recogniser(name: str) -> FindEntities:
    """Load a recogniser, once a process.

    Args:
        name: As a user names it, with parameters.

    Returns:
        Its `find_entities`, which raises a `PluginError` that names the recogniser
        where it fails or returns something else.

    Raises:
        PluginError: There is none, or it cannot be loaded.
    """
    from evalkit import Registry
    from evalkit.errors import PluginError

    bound = Registry().load("recognisers", name)
    find_entities = bound.row_function("find_entities")
    where = f"{bound.component.origin}: find_entities"

    def checked(texts: Sequence[str]) -> Any:
        with bound.guard("find_entities"):
            found = find_entities(texts=texts)
        if not _are_entities(found, texts):
            raise PluginError(
                f"{where} must return for each of {len(texts)} texts a list of start, "
                f"end and kind, returned {str(found)[:80]}"
            )
        for _, _, kind in chain.from_iterable(found):
            if kind != PERSON and kind.casefold() in _PERSONS:
                raise PluginError(
                    f"{where} gave the kind {kind!r}: that of a person is {PERSON!r}"
                )
        return found

    return checked


def _are_entities(found: Any, texts: Sequence[str]) -> bool:
    return (
        isinstance(found, _LISTS)
        and len(found) == len(texts)
        and all(
            isinstance(entities, _LISTS)
            and all(_is_entity(entity, text) for entity in entities)
            for entities, text in zip(found, texts, strict=True)
        )
    )


def _is_entity(found: Any, text: str) -> bool:
    if not isinstance(found, _LISTS) or len(found) != 3:
        return False
    start, end, kind = found
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(kind, str)):
        return False
    return 0 <= start <= end <= len(text)


def person_spans(name: str, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Ask a recogniser where people are named.

    Args:
        name: The recogniser.
        texts: The texts of one example.

    Returns:
        For each text start and end of the entities of kind `person`.
    """
    found = load_recogniser(name)(texts=texts)
    return [
        [(start, end) for start, end, kind in entities if kind == PERSON]
        for entities in found
    ]


def first_names_in(
    tokens: Tokens, spans: Sequence[tuple[int, int]], names: Mapping[str, Gender]
) -> list[Mention]:
    """Return the first name of each person that a recogniser found.

    Args:
        tokens: A text.
        spans: Where people are named.
        names: Who has which name, by name in lower case.

    Returns:
        The first word of each span that is no title, unless it is all there is after
        a title such as Mr; `either` for a name that is on no list.
    """
    mentions = []
    for places in _words_in(tokens, spans):
        titled = [place for place in places if tokens.word(place) in _TITLES]
        rest = [place for place in places if place not in titled]
        before = tokens.word(places[0] - 1)
        if before == ".":
            before = tokens.word(places[0] - 2)
        title = tokens.word(titled[-1]) if titled else before
        if not rest or (len(rest) == 1 and title in name_words.SURNAME_TITLES):
            continue
        word = tokens.word(rest[0])
        mentions.append(Mention(rest[0], word, names.get(word, "either")))
    return mentions


def last_names_in(tokens: Tokens, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return where the surname of each person is that a recogniser found.

    Args:
        tokens: A text.
        spans: Where people are named.

    Returns:
        Places of the last word of each span of several words, or of one after a title.
    """
    places_found = []
    for places in _words_in(tokens, spans):
        before = tokens.word(places[0] - 1)
        if before == ".":
            before = tokens.word(places[0] - 2)
        if len(places) > 1 or before in name_words.SURNAME_TITLES:
            places_found.append(places[-1])
    return places_found


def _words_in(tokens: Tokens, spans: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the places of the words in each span, without a possessive `s`."""
    found = []
    for start, end in spans:
        places = [
            place
            for place, (first, last) in enumerate(tokens.spans)
            if start <= first and last <= end and tokens.forms[place][0].isalpha()
        ]
        if len(places) > 1 and tokens.has_possessive(places[-1] - 2):
            places.pop()
        if places:
            found.append(places)
    return found
