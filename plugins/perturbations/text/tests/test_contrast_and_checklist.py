"""Contrast sets that come with data, and CheckList's three kinds of test."""

from random import Random
from typing import Any

import pytest

from evalkit import DataError
from evalkit_commands_perturb import apply_edits
from evalkit_perturbations_text.checklist import (
    CASES,
    ChecklistDirection,
    ChecklistInvariance,
    ChecklistMinimum,
    ContrastSets,
)

NLI = {
    "uid": "7",
    "context": "A dog runs.",
    "hypothesis": "An animal runs.",
    "label": "entailed",
    "contrast_inputs": [{"hypothesis": "A cat runs."}, {"context": "A dog sleeps."}],
    "contrast_answers": ["neutral", "contradictory"],
}
FIELDS = ("context", "hypothesis")


def contrast(example: dict[str, Any], fields: tuple[str, ...] = FIELDS) -> Any:
    return ContrastSets().perturb_example(example, Random(0), fields, "label")


def test_all_contrasting_inputs_are_copies() -> None:
    assert contrast(NLI) == [
        {"hypothesis": "A cat runs.", "label": "neutral"},
        {"context": "A dog sleeps.", "label": "contradictory"},
    ]


def test_one_of_them_may_be_drawn() -> None:
    perturbation = ContrastSets(ContrastSets.Parameters(copies="one"))
    drawn = [
        perturbation.perturb_example(NLI, Random(seed), FIELDS, "label")
        for seed in range(20)
    ]
    assert all(copies is not None and len(copies) == 1 for copies in drawn)
    assert {copies[0]["label"] for copies in drawn if copies} == {
        "neutral",
        "contradictory",
    }


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"contrast_answers": ["neutral"]}, "'7': .* the same length"),
        ({"contrast_answers": None}, "'7': .* the same length"),
        ({"contrast_inputs": "A cat runs."}, "'7': .* the same length"),
        ({"contrast_inputs": ["text", {}]}, "fields context, hypothesis, got 'text'"),
        ({"contrast_inputs": [{}, {}]}, "got {}"),
        ({"contrast_inputs": [{"premise": "x"}, {}]}, "got {'premise': 'x'}"),
    ],
)
def test_columns_that_do_not_fit_are_an_error(
    columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        contrast({**NLI, **columns})


def test_the_answers_need_a_field() -> None:
    with pytest.raises(DataError, match="in which field the answer is"):
        ContrastSets().perturb_example(NLI, Random(0), FIELDS, None)


def test_invariance_expects_the_same_prediction() -> None:
    test = ChecklistInvariance()
    assert test.expect("positive", "positive") == "pass"
    assert test.expect("positive", "negative") == "fail"
    assert test.expect(None, "negative") == "not applicable"
    assert test.expect("negative", None) == "not applicable"
    strong = ChecklistInvariance(ChecklistInvariance.Parameters(prob=1))
    assert strong.find_edits(["form"], Random(0)) == [[(1, 3, "ro")]]
    assert test.prob == 0.1


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("positive", "negative", "pass"),
        ("positive", "positive", "pass"),
        ("neutral", "negative", "pass"),
        ("negative", "neutral", "fail"),
        ("neutral", "positive", "fail"),
        ("hateful", "positive", "not applicable"),
        ("positive", None, "not applicable"),
        (["positive"], "positive", "not applicable"),
    ],
)
def test_direction_expects_nothing_better(
    before: Any, after: Any, expected: str
) -> None:
    assert ChecklistDirection().expect(before, after) == expected


@pytest.mark.parametrize(
    ("text", "beginning", "end"),
    [
        ("It is good.", "It is good. I", "."),
        ("It is good \n", "It is good. I", ". \n"),
        ("Good!", "Good! I", "."),
    ],
)
def test_direction_appends_a_negative_sentence(
    text: str, beginning: str, end: str
) -> None:
    for task in ("sentiment", ""):
        edits = ChecklistDirection().find_edits([text, "b"], Random(0), task)
        new = apply_edits(text, edits[0])
        assert new.startswith(beginning)
        assert new.endswith(end)
        assert edits[1] == []


@pytest.mark.parametrize(
    ("task", "fields"), [("sentiment", ("statement",)), ("nli", FIELDS)]
)
def test_minimum_functionality_has_cases_with_their_label(
    task: str, fields: tuple[str, ...]
) -> None:
    test = ChecklistMinimum()
    drawn = set()
    for seed in range(200):
        new = test.perturb_example(Random(seed), fields, "label", task)
        assert new is not None
        drawn.add((tuple(new[field] for field in fields), new["label"]))
    assert drawn == set(CASES[task])


def test_minimum_functionality_needs_cases_of_the_task() -> None:
    test = ChecklistMinimum()
    assert test.perturb_example(Random(0), ("statement",), "label", "hs") is None
    assert test.perturb_example(Random(0), FIELDS, "label", "sentiment") is None
    assert test.perturb_example(Random(0), ("statement",), None, "sentiment") is None


def test_minimum_functionality_is_judged_by_the_label_of_the_case() -> None:
    test = ChecklistMinimum()
    case = {"statement": "I hate this place.", "label": "negative"}
    assert test.expect(case, "negative") == "pass"
    assert test.expect(case, "positive") == "fail"
    assert test.expect({"answer": "x"}, "x") == "pass"
    assert test.expect(case, None) == "not applicable"
    assert test.expect({}, "negative") == "not applicable"
