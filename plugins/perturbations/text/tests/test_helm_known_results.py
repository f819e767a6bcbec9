"""The perturbations after HELM, compared with what HELM 0.5.16 gave."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from evalkit_perturbations_text.helm import (
    HelmContractions,
    HelmExpansions,
    HelmExtraSpace,
    HelmFillerWords,
    HelmGenderPronouns,
    HelmGenderTerms,
    HelmLowercase,
    HelmSpace,
    HelmSuffix,
    HelmTypos,
    full_forms,
    match_case,
)

KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "typos(prob=0.1)": (HelmTypos, {}),
    "typos(prob=0.5)": (HelmTypos, {"prob": 0.5}),
    "space(max_spaces=3)": (HelmSpace, {}),
    "extra_space(num_spaces=2)": (HelmExtraSpace, {}),
    "filler_words(0.333 default)": (HelmFillerWords, {}),
    "filler_words(0.3,speaker_ph=False)": (
        HelmFillerWords,
        {"insert_prob": 0.3, "speaker_ph": False},
    ),
    "contraction": (HelmContractions, {}),
    "expansion": (HelmExpansions, {}),
    "lowercase": (HelmLowercase, {}),
    "gender(terms,1.0,male->female)": (HelmGenderTerms, {}),
    "gender(pronouns,1.0,male->female)": (HelmGenderPronouns, {}),
    "gender(pronouns,0.5,male->neutral)": (
        HelmGenderPronouns,
        {"prob": 0.5, "target": "neutral"},
    ),
    "style(suffix=pixel art)": (HelmSuffix, {"suffix": "pixel art"}),
}

WITHOUT_ITS_LIST = {"misspellings(prob=1.0)", "mild_mix"}

REFERENCE = "his father is here"


def build(name: str) -> Any:
    kind, values = KINDS[name]
    return kind(kind.Parameters(**values))


def perturb(perturbation: Any, text: str, rng: Random) -> tuple[str, str]:
    """Return the text and the reference, which HELM perturbs for gender alone."""
    if not hasattr(perturbation, "perturb_example"):
        return perturbation.perturb(text, rng), REFERENCE
    example = {"uid": "1", "question": text, "answer": REFERENCE}
    new = perturbation.perturb_example(example, rng, ["question"], "answer", "qa")
    changed = {**example, **(new or {})}
    return changed["question"], changed["answer"]


def read_rows(oracles: Path) -> list[dict[str, Any]]:
    content = json.loads((oracles / "helm_golden.json").read_text(encoding="utf-8"))
    rows: list[dict[str, Any]] = content["perturbations"]
    return rows


@pytest.mark.known_result
def test_the_oracle_has_what_is_compared(oracles: Path) -> None:
    assert {row["perturbation"] for row in read_rows(oracles)} == {
        *KINDS,
        *WITHOUT_ITS_LIST,
    }


@pytest.mark.known_result
@pytest.mark.parametrize("name", KINDS)
def test_the_texts_are_those_of_helm(name: str, oracles: Path) -> None:
    perturbation = build(name)
    rows = [row for row in read_rows(oracles) if row["perturbation"] == name]
    assert len(rows) >= 10
    for row in rows:
        rng = perturbation.make_rng(row["seed"] or 0, row["id"], 0)
        found = perturb(perturbation, row["input"], rng)
        assert found == (row["output"], row["reference"])


@pytest.mark.known_result
def test_the_random_numbers_and_capitals_are_those_of_helm(oracles: Path) -> None:
    content = json.loads((oracles / "helm_golden.json").read_text(encoding="utf-8"))
    for seed, value in content["random"]:
        assert Random(seed).random() == value
    for source, target, expected in content["match_case"]:
        assert match_case(source, target) == expected


def test_a_copy_has_the_random_numbers_of_its_number() -> None:
    perturbation = HelmLowercase()
    for seed, variant, text in ((0, 0, "id0"), (0, 1, "1id0"), (2, 1, "3id0")):
        found = perturbation.make_rng(seed, "id0", variant)
        assert found.random() == Random(text).random()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "typos(prob=0.1)",
            "After their marriage, she started a close collaboration with Karvelas.",
            "After tjeir marriage, she xrwrted a cloae dollabpration with Iarvwlas.",
        ),
        (
            "space(max_spaces=3)",
            "Hello World!\nQuite a day, huh?",
            "Hello   World!\nQuite a  day,   huh?",
        ),
        (
            "filler_words(0.3,speaker_ph=False)",
            "The quick brown fox jumps over the lazy dog.",
            "The quick brown fox jumps over like the lazy probably dog.",
        ),
        (
            "contraction",
            "She is a doctor, and I am a student",
            "She's a doctor, and I'm a student",
        ),
        (
            "expansion",
            "She's a doctor, and I'm a student",
            "She is a doctor, and I am a student",
        ),
        (
            "gender(pronouns,1.0,male->female)",
            "Did she mention that he was coming with his parents and their friends?",
            "Did she mention that she was coming with her parents and their friends?",
        ),
        (
            "gender(terms,1.0,male->female)",
            "His grandsons looked a lot like their dad.",
            "His granddaughters looked a lot like their mom.",
        ),
        ("extra_space(num_spaces=2)", "Hello my name is", "Hello  my  name  is"),
        ("style(suffix=pixel art)", "A blue dog", "A blue dog, pixel art"),
    ],
)
def test_the_examples_of_helms_own_tests(name: str, text: str, expected: str) -> None:
    perturbation = build(name)
    rng = perturbation.make_rng(0, "id0", 0)
    assert perturb(perturbation, text, rng)[0] == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (HelmExpansions, "can't've he'd've HE'S", "cannot've he would've He is"),
        (HelmContractions, "IT IS x he would have gone", "It's x he'd have gone"),
        (HelmContractions, "I know it is.", "I know it is."),
        (HelmExpansions, "It isn’t", "It isn’t"),
        (HelmExpansions, "ſhe's", "ſhe's"),
    ],
)
def test_helms_faults_are_kept(kind: Any, text: str, expected: str) -> None:
    assert kind().perturb(text, Random(0)) == expected


def test_the_table_has_the_size_of_helms() -> None:
    table = full_forms()
    assert len(table) == 77
    assert len(set(table.values())) == 76


def test_gender_words_at_the_edges_are_missed_as_in_helm() -> None:
    perturbation = HelmGenderPronouns()
    assert perturbation.change_text("he saw his his", Random(0)) == ("he saw her his")
    terms = HelmGenderTerms()
    assert terms.change_text("the grandfathers.", Random(0)) == "the grandfathers."


def test_references_come_first_and_lists_are_changed_one_by_one() -> None:
    perturbation = HelmGenderTerms()
    example = {"answer": ["a king.", 3], "question": "a son?", "other": "a man."}
    new = perturbation.perturb_example(
        example, Random(0), ["question"], "answer", "math-qa"
    )
    assert new == {"answer": ["a queen.", 3], "question": "a daughter?"}
    assert list(new) == ["answer", "question"]
    only = perturbation.perturb_example(
        example, Random(0), ["question"], "answer", "hs"
    )
    assert only == {"question": "a daughter?"}
    nothing = {"question": "It rains.", "answer": "No."}
    assert (
        perturbation.perturb_example(nothing, Random(0), ["question"], "answer", "qa")
        is None
    )


def test_the_phrases_of_fillers_are_chosen_and_counted() -> None:
    kind = HelmFillerWords
    none = kind(kind.Parameters(speaker_ph=False, uncertain_ph=False, fill_ph=False))
    assert none.perturb("a b", Random(0)) == "a b"
    one = kind(kind.Parameters(insert_prob=1, max_num_insert=1))
    assert one.perturb("x y z", Random(0)).endswith(" x y z")
