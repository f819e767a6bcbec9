"""Finds the names of people with a recogniser of another distribution.

A recogniser is an entry point of the group `evalkit_perturbations_text.recognisers`: a
class whose instances have `find_entities(texts)`. A name with parameters, such as
`spacy:model=NAME`, passes them to the class as keyword arguments (texts).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from evalkit_perturbations_text.grammar.tokens import Tokens
from evalkit_perturbations_text.names import words as name_words
from evalkit_perturbations_text.names.country_names import Gender
from evalkit_perturbations_text.names.person_names import Mention

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

FindEntities = Callable[[Sequence[str]], Any]

GROUP = "evalkit_perturbations_text.recognisers"
"""The group of entry points."""

PERSON = "person"
"""The kind of entities that are people."""

_PERSONS = ("person", "persons", "people", "per")
"""What other programs call it, in any case."""

_LISTS = (list, tuple)

_TITLES = (name_words.SURNAME_TITLES | name_words.FIRST_NAME_TITLES) - {"young", "old"}


@cache
def load_recogniser(name: str) -> FindEntities:
    """Load a recogniser, once per process."""
    from evalkit.errors import PluginError

    entry_name, _, values = name.partition(":")
    pairs = [value.partition("=") for value in values.split(",") if value]
    parameters = {key.strip(): value.strip() for key, _, value in pairs}
    entry_point = _installed_recogniser(entry_name)
    origin = f"recogniser {entry_name} ({_distribution(entry_point)})"
    try:
        find_entities = entry_point.load()(**parameters).find_entities
    except Exception as error:
        raise PluginError(
            f"{origin}: loading failed with {type(error).__name__}: {error}"
        ) from error

    def checked(texts: Sequence[str]) -> Any:
        where = f"{origin}: find_entities"
        try:
            entities = find_entities(texts)
        except Exception as error:
            raise PluginError(
                f"{where} failed with {type(error).__name__}: {error}"
            ) from error
        if not _are_entities(entities, texts):
            raise PluginError(
                f"{where} must return for each of {len(texts)} texts a list of start, "
                f"end and kind, got {str(entities)[:80]}"
            )
        for _, _, kind in chain.from_iterable(entities):
            if kind != PERSON and kind.casefold() in _PERSONS:
                raise PluginError(
                    f"{where} gave the kind {kind!r}: that of a person is {PERSON!r}"
                )
        return entities

    return checked


def _installed_recogniser(name: str) -> EntryPoint:
    from importlib.metadata import entry_points

    from evalkit.errors import PluginError

    installed = entry_points(group=GROUP)
    named = installed.select(name=name)
    if not named:
        names = ", ".join(sorted({"rules", *installed.names}))
        raise PluginError(f"no recogniser {name!r} is installed. Installed: {names}")
    if len(named) > 1:
        owners = ", ".join(map(_distribution, named))
        raise PluginError(f"several distributions have a recogniser {name!r}: {owners}")
    return named[name]


def _distribution(entry_point: EntryPoint) -> str:
    distribution = entry_point.dist
    return f"{distribution.name} {distribution.version}" if distribution else "?"


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
    """Ask a recogniser where people are named."""
    found = load_recogniser(name)(texts)
    return [
        [(start, end) for start, end, kind in entities if kind == PERSON]
        for entities in found
    ]


def first_names_in(
    tokens: Tokens, spans: Sequence[tuple[int, int]], names: Mapping[str, Gender]
) -> list[Mention]:
    """Return the first name of each person that a recogniser found."""
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
    """Return where the surname of each person is that a recogniser found."""
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
