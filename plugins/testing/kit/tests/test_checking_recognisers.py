from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from evalkit import EvalkitError
from evalkit_testing import RECOGNISER_LAWS, RecogniserLawError, check_recogniser

TEXTS = ["I saw Dr. Okafor and Mr. Li.", "Mrs. Ng came."]
TITLE = re.compile(r"\b(?:Dr|Mr|Mrs|Ms)\. (\w+)")


class Titles:
    """Keeps all laws: the base of those below, which break one each."""

    version = "1"
    languages: Sequence[str] = ("en", "pt-BR")

    def find_entities(self, texts: list[str]) -> list[list[Any]]:
        return [self.of_text(text) for text in texts]

    def of_text(self, text: str) -> list[Any]:
        return [(*found.span(1), "person") for found in TITLE.finditer(text)]


class FindsFew(Titles):
    def of_text(self, text: str) -> list[Any]:
        return super().of_text(text)[1:]


class Backwards(Titles):
    def of_text(self, text: str) -> list[Any]:
        return super().of_text(text)[::-1]


class InBytes(Titles):
    def of_text(self, text: str) -> list[Any]:
        return [(found[0], found[0] + 99, found[2]) for found in super().of_text(text)]


class Encoded(Titles):
    def of_text(self, text: str) -> list[Any]:
        return [
            (*(len(text[:end].encode("utf-16-le")) // 2 for end in found[:2]), found[2])
            for found in super().of_text(text)
        ]


class NoKind(Titles):
    def of_text(self, text: str) -> list[Any]:
        return [(*found[:2], "") for found in super().of_text(text)]


class Names(Titles):
    def of_text(self, text: str) -> list[Any]:
        return ["Okafor"]


class Short(Titles):
    def find_entities(self, texts: list[str]) -> list[list[Any]]:
        return super().find_entities(texts)[:1]


class Fails(Titles):
    def of_text(self, text: str) -> list[Any]:
        assert text.split()[0]
        return super().of_text(text)


class Blank(Titles):
    def of_text(self, text: str) -> list[Any]:
        return super().of_text(text) or ([(0, 1, "person")] if text else [])


class Tires(Titles):
    def __init__(self) -> None:
        self.calls = itertools.count()

    def of_text(self, text: str) -> list[Any]:
        return super().of_text(text) if next(self.calls) < 2 else []


class OfInstance(Titles):
    instances = itertools.count()

    def __init__(self) -> None:
        self.number = next(self.instances)

    def of_text(self, text: str) -> list[Any]:
        return super().of_text(text)[: 1 + self.number % 2]


class Sorts(Titles):
    def find_entities(self, texts: list[str]) -> list[list[Any]]:
        found = super().find_entities(texts)
        texts.reverse()
        return found


class English(Titles):
    languages = ("English (US)",)


BROKEN: Mapping[str, Sequence[type]] = {
    "found": [FindsFew, Short],
    "places": [Backwards, InBytes, NoKind, Names],
    "strange": [Fails, Blank],
    "characters": [Encoded],
    "repeatable": [Tires],
    "stateless": [OfInstance],
    "inputs": [Sorts],
    "languages": [English],
}


def test_each_law_is_broken_by_a_recogniser_below() -> None:
    assert [*BROKEN] == [law.name for law in RECOGNISER_LAWS]


@pytest.mark.parametrize(
    ("law", "recogniser"),
    [(law, each) for law, several in BROKEN.items() for each in several],
)
def test_a_recogniser_that_breaks_a_law_is_told_which(
    law: str, recogniser: Any
) -> None:
    with pytest.raises(RecogniserLawError) as caught:
        check_recogniser(recogniser, TEXTS, laws=[law])
    assert caught.value.law == law


def test_a_recogniser_that_keeps_the_laws_passes() -> None:
    check_recogniser(Titles, TEXTS)
    check_recogniser(Titles(), TEXTS)


@pytest.mark.parametrize("texts", [[], "Dr. Okafor"])
def test_texts_are_needed(texts: Any) -> None:
    with pytest.raises(EvalkitError, match="a list that is not empty"):
        check_recogniser(Titles, texts)
