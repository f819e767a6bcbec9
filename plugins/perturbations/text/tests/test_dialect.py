"""`dialect`: the shipped list, a user's own, letter case, and names."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from evalkit import DataError, PluginLoadError
from evalkit_commands_perturb import apply_edits, checked_edits, perturb
from evalkit_perturbations_text.wording.word_mappings import (
    Dialect,
    DialectParameters,
    shipped_phrases,
)


def write(text: str, seed: int = 0, **parameters: Any) -> str:
    plugin = Dialect(DialectParameters(**parameters))
    (edits,) = plugin.find_edits([text], Random(seed))
    return apply_edits(text, checked_edits(text, edits))


def american(text: str) -> str:
    return write(text, source="en-GB", target="en-US")


BOTH_WAYS = """
color | colour
Color! | Colour!
COLOR | COLOUR
the color, the flavor and the odor | the colour, the flavour and the odour
color color colors | colour colour colours
He organizes it; I analyzed it. | He organises it; I analysed it.
He traveled to the theater. | He travelled to the theatre.
My favorite gray catalog | My favourite grey catalogue
a 5-liter bottle, kilometers away | a 5-litre bottle, kilometres away
the neighbor's jewelry | the neighbour's jewellery
a skillful, marvelous counselor | a skilful, marvellous counsellor
self-defense | self-defence
My mom likes math. | My mum likes maths.
an airplane | an aeroplane
"Honor thy mother" | "Honour thy mother"
“Color,” | “Colour,”
"""

ONE_WAY = """
an apartment | a flat
An elevator | A lift
AN ELEVATOR | A LIFT
A driver’s license | A driving licence
the parking lots | the car parks
a dialog | a dialogue
He analyzes it. | He analyses it.
Gas station | Petrol station
"""

UNCHANGED = """
size, prize, seize and capsize
four, hour, pour, tour, our, your, flour, sour
water, over, number, timber, member
advertise, exercise, surprise, wise, rise, promise, otherwise
Rockefeller Center is in New York.
We met at Pearl Harbor.
the Department of Defense
the doctor, the actor, the error and the mirror
spelling, rolled, filled and called
the meter runs; I check the tire
discolorx colorx xcolor col\u200bor colo\u0301r
12 !? …
"""


def rows(text: str) -> list[list[str]]:
    return [line.split(" | ") for line in text.strip("\n").split("\n")]


@pytest.mark.parametrize(("us", "gb"), rows(BOTH_WAYS))
def test_spelling_both_ways(us: str, gb: str) -> None:
    assert write(us) == gb
    assert american(gb) == us
    assert write(gb) == gb
    assert american(us) == us


@pytest.mark.parametrize(("us", "gb"), rows(ONE_WAY))
def test_one_way(us: str, gb: str) -> None:
    assert write(us) == gb


@pytest.mark.parametrize("text", UNCHANGED.strip("\n").split("\n"))
def test_leaves_alone(text: str) -> None:
    assert write(text) == text


def test_the_list_is_large_and_has_no_circle() -> None:
    forth, back = shipped_phrases("en-US", "en-GB"), shipped_phrases("en-GB", "en-US")
    assert sum(map(len, forth.values())) > 1_000
    assert sum(map(len, back.values())) > 1_000
    for phrases in (forth, back):
        for same in phrases.values():
            for phrase in same:
                assert len(phrase.choices) == 1
                assert " ".join(phrase.words) != phrase.choices[0]
    for same in forth.values():
        for phrase in same:
            british = phrase.choices[0]
            assert write(british) == british


def test_a_list_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"isn't": "ain't", "You all": ["y'all"]}), "utf-8")
    options = {"source": "a", "target": "b", "mapping": path}
    text = "It isn’t; ISN'T it? You all know."
    assert write(text, **options) == "It ain't; AIN'T it? Y'all know."


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "[]", "not a JSON object"),
        ("a.json", "{", "not valid JSON"),
        ("a.json", '{"a": 1}', "give a text or a list of texts"),
        ("a.json", '{"a": []}', "give a text or a list of texts"),
        ("a.json", '{" ": "b"}', "is empty"),
        ("a.json", "{}", "is empty"),
        ("a.tsv", "a\tb\nc\n", "line 2: has 1 columns"),
        ("a.tsv", "\tb\n", "line 1: a word to replace is empty"),
    ],
)
def test_lists_that_cannot_be_read(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=words):
        write("a", mapping=path)


def test_a_list_that_is_not_there(tmp_path: Path) -> None:
    """It is missed when the perturbation is built, and not at the first example."""
    parameters = DialectParameters(mapping=tmp_path / "none.tsv")
    with pytest.raises(
        DataError, match=r"none\.tsv: the mapping of words cannot be read"
    ):
        Dialect(parameters)
    with pytest.raises(PluginLoadError, match=r"none\.tsv"):
        perturb([], f"dialect:mapping={tmp_path / 'none.tsv'}", task="sentiment")


@pytest.mark.parametrize(
    "options",
    [
        {"source": "en-US", "target": "en-AU"},
        {"source": "en-US", "target": "en-US"},
        {"prob": 1.5},
    ],
)
def test_parameters_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DialectParameters(**options)


def test_share_of_places() -> None:
    text = "color " * 400
    assert write(text, prob=0) == text
    assert 120 < write(text, prob=0.5).count("colour") < 280
