"""The list of misspellings, and the words that it changes."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from evalkit_commands_perturb import apply_edits
from evalkit_perturbations_text.typos import Misspellings, read_misspellings


def change(text: str, prob: float = 1, seed: int = 0) -> str:
    perturbation = Misspellings(Misspellings.Parameters(prob=prob))
    (edits,) = perturbation.find_edits([text], Random(seed))
    return apply_edits(text, edits)


def test_the_list_has_thousands_of_words_with_other_spellings() -> None:
    known = read_misspellings()
    assert len(known) == 13_053
    for word, misspellings in known.items():
        assert re.fullmatch("[a-z]{2,}", word)
        found = misspellings.split(" ")
        assert 1 <= len(found) <= 5
        assert len(set(found)) == len(found)
        for misspelling in found:
            assert re.fullmatch("[a-z]{2,}", misspelling)
            assert misspelling not in known


def test_each_misspelling_is_one_that_people_make() -> None:
    for word, misspellings in read_misspellings().items():
        for misspelling in misspellings.split():
            assert misspelling[0] == word[0]
            assert abs(len(misspelling) - len(word)) <= (1 if len(word) < 6 else 2)
            if len(word) < 5 and len(misspelling) == len(word):
                assert sorted(misspelling) == sorted(word)
            if len(word) < 5:
                assert set(misspelling) == set(word)


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    path = Path(__file__).parents[1] / "make_misspellings.py"
    spec = spec_from_file_location("make_misspellings", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("word", "misspelling", "plausible"),
    [
        ("the", "teh", True),
        ("and", "adn", True),
        ("the", "thhe", True),
        ("well", "wel", True),
        ("the", "ethe", False),
        ("is", "ois", False),
        ("the", "thr", False),
        ("the", "hte", False),
        ("right", "rihgt", True),
        ("right", "rit", False),
        ("because", "becuase", True),
        ("because", "becasue", True),
        ("because", "bcuas", False),
        ("different", "diffrant", True),
        ("different", "ifferent", False),
    ],
)
def test_plausible_misspellings(
    maker: ModuleType, word: str, misspelling: str, plausible: bool
) -> None:
    assert maker.is_plausible(word, misspelling) == plausible


def test_capitals_are_kept() -> None:
    misspelled = change("different Different DIFFERENT.").rstrip(".").split(" ")
    known = read_misspellings()["different"].split()
    assert misspelled[0] in known
    assert misspelled[1].lower() in known
    assert misspelled[1][0] == "D"
    assert misspelled[1][1:].islower()
    assert misspelled[2].isupper()
    assert misspelled[2].lower() in known


@pytest.mark.parametrize(
    "text",
    [
        "I a 16th the_end U.S.the people's differenté different\u0301 @people",
        "isn't 3.5% 10:30 #different e.people",
        "qwertz",
    ],
)
def test_words_beside_other_signs_stay(text: str) -> None:
    assert change(text) == text
