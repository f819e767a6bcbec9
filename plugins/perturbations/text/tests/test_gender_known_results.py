"""`gender-swap` on HateCheck and GSM8K: what must change, return, and stay."""

import csv
import json
import re
from pathlib import Path
from random import Random

import pytest

from evalkit import Edit
from evalkit_commands_perturb import apply_edits, checked_edits
from evalkit_perturbations_text.gender.contexts import gendered_words
from evalkit_perturbations_text.gender.swap import GenderSwap, GenderSwapParameters
from evalkit_perturbations_text.names.lists import first_names

pytestmark = pytest.mark.known_result

PLUGIN = GenderSwap()
WORDS_ONLY = GenderSwap(GenderSwapParameters(names=False))
WOMEN = re.compile(r"\b(?:woman|women|girls?|females?)\b", re.IGNORECASE)
PRONOUN = re.compile(r"\b(?:he|she|him|her|his|herself|himself)\b", re.IGNORECASE)
NAME = re.compile(r"\w+")


@pytest.fixture
def statements(external_data: Path) -> list[str]:
    path = external_data / "hatecheck" / "test_suite_cases.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [row["test_case"] for row in csv.DictReader(file)]


@pytest.fixture
def questions(external_data: Path) -> list[str]:
    path = external_data / "gsm8k" / "test.jsonl"
    lines = path.read_text("utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


def edits_of(text: str, plugin: GenderSwap = PLUGIN) -> list[Edit]:
    (edits,) = plugin.find_edits([text], Random(text))
    return checked_edits(text, edits)


def swap(text: str, plugin: GenderSwap = PLUGIN) -> str:
    return apply_edits(text, edits_of(text, plugin))


def test_hatecheck_rows_about_women_change(statements: list[str]) -> None:
    about = [text for text in statements if WOMEN.search(text)]
    changed = [text for text in about if swap(text, WORDS_ONLY) != text]
    assert len(about) == 397
    assert len(changed) >= 0.95 * 397


def test_gsm8k_questions_with_pronouns_change_and_return(questions: list[str]) -> None:
    gendered = [text for text in questions if PRONOUN.search(text)]
    swapped = [swap(text, WORDS_ONLY) for text in gendered]
    back = [swap(text, WORDS_ONLY) for text in swapped]
    assert len(gendered) == 805
    changed = sum(a != b for a, b in zip(gendered, swapped, strict=True))
    restored = sum(a == b for a, b in zip(gendered, back, strict=True))
    assert changed >= 0.95 * 805
    assert restored >= 0.95 * 805


def test_each_name_has_one_replacement(questions: list[str]) -> None:
    n_names = 0
    for text in questions:
        replaced: dict[str, set[str]] = {}
        for start, end, new in edits_of(text):
            old = text[start:end].lower()
            if old in first_names() and old not in gendered_words():
                replaced.setdefault(old, set()).add(new.lower())
        assert all(len(news) == 1 for news in replaced.values()), text
        flat = [new for news in replaced.values() for new in news]
        assert len(set(flat)) == len(flat), text
        n_names += len(flat)
    assert n_names > 1_000


def test_no_row_without_a_gendered_word_or_a_name_changes(
    statements: list[str], questions: list[str]
) -> None:
    known = gendered_words() | set(first_names())
    plain = [
        text
        for text in [*statements, *questions]
        if known.isdisjoint(word.lower() for word in NAME.findall(text))
    ]
    assert len(plain) > 2_000
    assert [text for text in plain if swap(text) != text] == []
