"""What each task takes and refuses, seen through an evaluation."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import evalkit

LABELS: dict[str, tuple[str, ...]] = {
    "nli": ("entailed", "neutral", "contradictory"),
    "hs": ("hateful", "not-hateful"),
    "sentiment": ("positive", "negative", "neutral"),
}
CONTEXT = "The cat sat on the mat; the dog did not."
INPUTS: dict[str, dict[str, str]] = {
    "nli": {"context": CONTEXT, "hypothesis": "A cat sat."},
    "hs": {"statement": "It is a good day."},
    "sentiment": {"statement": "It is a good day."},
    "qa": {"context": CONTEXT, "question": "Who sat?"},
    "text-classification": {"statement": "It is a good day."},
    "math-qa": {"question": "How much is 2 + 2?"},
}
ANSWERS: dict[str, dict[str, str]] = {
    "nli": {"label": "neutral"},
    "hs": {"label": "hateful"},
    "sentiment": {"label": "neutral"},
    "qa": {"answer": "cat"},
    "text-classification": {"label": "weather"},
    "math-qa": {"answer": "4"},
}
TOPICS = ("weather", "sport", "other")

Seen = list[tuple[str, str, Any]]


def dataset_of(
    task_name: str,
    named_labels: Sequence[str] | Mapping[str, str] | None = None,
    answers: Sequence[Any] | None = None,
) -> type[evalkit.Dataset]:
    """Make a data set of two examples, `1` and `2`."""
    given_answers = answers or [next(iter(ANSWERS[task_name].values()))] * 2
    if task_name == "text-classification" and named_labels is None:
        named_labels = TOPICS
    (key,) = ANSWERS[task_name]

    class Two(evalkit.Dataset):
        name = "two"
        task = task_name
        labels: ClassVar = named_labels

        def load(self, split: str) -> list[dict[str, Any]]:
            return [
                {"uid": str(number), **INPUTS[task_name], key: answer}
                for number, answer in enumerate(given_answers, start=1)
            ]

    return Two


def evaluate(
    task: str, first: Mapping[str, Any], dataset: Any = None
) -> evalkit.Result:
    """Score a response to the first example beside a valid one to the second."""
    responses = [first, {"id": "2", **ANSWERS[task]}]
    return evalkit.evaluate(
        dataset or dataset_of(task),
        responses,
        metrics=["accuracy"],
        on_invalid="skip",
        on_missing="skip",
    )


def violations(task: str, response: Mapping[str, Any], dataset: Any = None) -> Seen:
    """Return field, rule and value of all that is wrong with a response."""
    result = evaluate(task, {"id": "1", **response}, dataset)
    expected_scored = 1 if result.problems else 2
    assert result.counts["scored"] == expected_scored
    assert result.counts["invalid"] == 2 - expected_scored
    if not result.problems:
        return []
    (problem,) = result.problems
    assert (problem.status, problem.line, problem.id) == ("invalid", 1, "1")
    return [tuple(violation) for violation in problem.violations]


def prob_of(task: str, *values: Any) -> dict[str, Any]:
    return dict(zip(LABELS[task], values, strict=True))


labelled = pytest.mark.parametrize("task", LABELS)
every_task = pytest.mark.parametrize("task", INPUTS)


# What the keys are


@pytest.mark.parametrize(
    ("task", "inputs", "required", "optional"),
    [
        ("nli", ["uid", "context", "hypothesis"], ["id", "label"], ["prob"]),
        ("hs", ["uid", "statement"], ["id", "label"], ["prob"]),
        ("sentiment", ["uid", "statement"], ["id", "label"], ["prob"]),
        ("qa", ["uid", "context", "question"], ["id", "answer"], ["conf"]),
        ("text-classification", ["uid", "statement"], ["id", "label"], ["prob"]),
        ("math-qa", ["uid", "question"], ["id", "answer"], []),
    ],
)
def test_keys_are_exactly_dynabenchs(
    task: str, inputs: list[str], required: list[str], optional: list[str]
) -> None:
    bound = evalkit.Registry().load("tasks", task)
    input_fields = bound.attributes["Input"].model_fields
    assert list(input_fields) == inputs
    assert all(field.is_required() for field in input_fields.values())
    output_fields = bound.attributes["Output"].model_fields
    assert [n for n, f in output_fields.items() if f.is_required()] == required
    assert [n for n, f in output_fields.items() if not f.is_required()] == optional
    assert list(bound.attributes["scored_fields"]) == optional


@pytest.mark.parametrize(
    ("task", "labels"), [*LABELS.items(), ("qa", None), ("text-classification", None)]
)
def test_labels_are_dynabenchs(task: str, labels: tuple[str, ...] | None) -> None:
    assert evalkit.Registry().load("tasks", task).attributes["labels"] == labels


@every_task
def test_example_of_the_task_is_a_valid_input(task: str) -> None:
    attributes = evalkit.Registry().load("tasks", task).attributes
    attributes["Input"].model_validate(attributes["example"])
    assert set(attributes["example"]) == set(attributes["Input"].model_fields)
    assert set(attributes["perturb_fields"]) <= set(INPUTS[task])


# What is accepted


# What is refused: each time all of field, rule and value


def one_of(task: str) -> str:
    return "must be one of " + ", ".join(LABELS[task])


@labelled
@pytest.mark.parametrize("label", ["c", "Neutral", " hateful", ""])
def test_unknown_label_is_named_with_the_labels(task: str, label: str) -> None:
    assert violations(task, {"label": label}) == [("label", one_of(task), label)]


@pytest.mark.parametrize("answer", ["bird", "The  cat", "Cat", "the cat sat on"])
def test_answer_that_is_not_in_the_context_is_refused(answer: str) -> None:
    assert violations("qa", {"answer": answer}) == [
        ("answer", "must be a part of the context", answer)
    ]


@pytest.mark.known_result
def test_squad_2_questions_without_an_answer(cases: Path) -> None:
    found = evalkit.evaluate(
        data=cases / "10-data.jsonl",
        predictions=cases / "10-pred.jsonl",
        task="qa",
        metrics=["squad-em", "exact-match"],
        on_invalid="wrong",  # "unanswerable" is no part of the context
    )
    assert found["squad-em"].value == pytest.approx(0.6)
    assert found["exact-match"].value == pytest.approx(0.4)


@pytest.mark.parametrize("answer", [[], [""], ""])
def test_no_answer_is_the_empty_text(answer: Any) -> None:
    data = [{"uid": str(i), "question": "?", "answer": answer} for i in range(2)]
    said = [{"id": "0", "answer": ""}, {"id": "1", "answer": "4"}]
    found = evalkit.evaluate(data=data, predictions=said, task="math-qa")
    assert found["exact-match"].value == 0.5


@pytest.mark.parametrize(
    ("conf", "rule"),
    [
        ("0.5", "must be a valid number"),
        (True, "must be a valid number"),
        ([0.5], "must be a valid number"),
        (10**400, "must be a valid number"),
        (1.01, "must be less than or equal to 1"),
        (2, "must be less than or equal to 1"),
        (-1, "must be greater than or equal to 0"),
        (-0.01, "must be greater than or equal to 0"),
    ],
)
def test_confidence_is_a_number_from_0_to_1(conf: Any, rule: str) -> None:
    assert violations("qa", {"answer": "cat", "conf": conf}) == [("conf", rule, conf)]


BOUNDS = "must be between 0 and 1"
NUMBER = "must be a number"
SUM = "must sum to 1 (within 0.001)"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1, 1, 1), [("prob", SUM, 3.0)]),
        ((0.5, 0.4, 0.098), [("prob", SUM, pytest.approx(0.998, abs=1e-12))]),
        ((0, 0, 0), [("prob", SUM, 0.0)]),
        (
            (1.5, -0.5, 0),
            [("prob.entailed", BOUNDS, 1.5), ("prob.neutral", BOUNDS, -0.5)],
        ),
        ((2, 0, 0), [("prob.entailed", BOUNDS, 2), ("prob", SUM, 2.0)]),
        (("1", 0, 0), [("prob.entailed", NUMBER, "1")]),
        ((True, 0, 0), [("prob.entailed", NUMBER, True)]),
        ((None, 0, 1), [("prob.entailed", NUMBER, None)]),
        (([1], 0, 0), [("prob.entailed", NUMBER, [1])]),
        ((10**400, 0, 0), [("prob.entailed", BOUNDS, 10**400)]),
        (
            ("a", 2, None),
            [
                ("prob.entailed", NUMBER, "a"),
                ("prob.neutral", BOUNDS, 2),
                ("prob.contradictory", NUMBER, None),
            ],
        ),
    ],
)
def test_every_wrong_probability_is_reported(
    values: tuple[Any, ...], expected: Seen
) -> None:
    response = {"label": "neutral", "prob": prob_of("nli", *values)}
    assert violations("nli", response) == expected


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_number_that_json_does_not_have_is_a_violation(number: float) -> None:
    response = {"label": "neutral", "prob": prob_of("nli", number, 0, 1)}
    found = violations("nli", response)
    assert found[0][:2] == ("prob.entailed", BOUNDS)
    assert found[0][2] == repr(number)
    ((field, rule, value),) = violations("qa", {"answer": "cat", "conf": number})
    assert (field, rule) == ("conf", "must be a finite number")
    assert value == repr(number)


@labelled
def test_every_missing_and_every_foreign_key_of_prob_is_reported(task: str) -> None:
    first, *others = LABELS[task]
    found = violations(task, {**ANSWERS[task], "prob": {first: 0.25, "e": 0.75}})
    assert found == [
        *[(f"prob.{label}", "is required", None) for label in others],
        ("prob.e", one_of(task), "e"),
    ]


@pytest.mark.parametrize("label", ["x", 3], ids=["foreign label", "label of no text"])
def test_all_violations_of_one_response_are_reported(label: Any) -> None:
    found = violations("nli", {"label": label, "prob": {"entailed": 2, "foo": "a"}})
    rule = one_of("nli") if label == "x" else "must be a valid string"
    assert sorted(found, key=repr) == sorted(
        [
            ("label", rule, label),
            ("prob.neutral", "is required", None),
            ("prob.contradictory", "is required", None),
            ("prob.foo", one_of("nli"), "foo"),
            ("prob.foo", NUMBER, "a"),
            ("prob.entailed", BOUNDS, 2),
        ],
        key=repr,
    )


Weird = st.one_of(
    st.floats(),
    st.integers(-1, 2),
    st.sampled_from([10**400, True, False, None, "0.5", [0.5]]),
)


@st.composite
def probabilities(draw: st.DrawFn) -> dict[str, Any]:
    """Draw shares of the labels, in most cases with something wrong about them."""
    counts = draw(st.lists(st.integers(0, 50), min_size=3, max_size=3).filter(any))
    prob: dict[str, Any] = {
        label: count / sum(counts)
        for label, count in zip(LABELS["nli"], counts, strict=True)
    }
    keys = st.sampled_from([*prob, "other"])
    prob |= draw(st.dictionaries(keys, st.floats(0, 1) | Weird, max_size=2))
    for key in draw(st.sets(keys, max_size=1)):
        prob.pop(key, None)
    return prob


@settings(deadline=None)
@given(probabilities())
def test_prob_is_accepted_exactly_if_it_is_a_distribution(prob: dict[str, Any]) -> None:
    found = violations("nli", {"label": "neutral", "prob": prob})
    numbers = [
        Fraction(p)
        for p in prob.values()
        if type(p) in (int, float) and abs(p) < 10**9 and math.isfinite(p)
    ]
    total = sum(numbers, Fraction(0))
    # not asked: what the rounding of the bounds decides
    assume(abs(abs(total - 1) - Fraction(1, 1000)) > Fraction(1, 10**6))
    assume(all(not 0 < -p < 10**-6 and not 0 < p - 1 < 10**-6 for p in numbers))
    is_distribution = (
        set(prob) == set(LABELS["nli"])
        and len(numbers) == len(prob)
        and all(0 <= p <= 1 for p in numbers)
        and abs(total - 1) < Fraction(1, 1000)
    )
    assert (not found) == is_distribution, found
    assert all(field.partition(".")[0] == "prob" for field, _, _ in found)


@pytest.mark.parametrize("off", [0.0009, 0.0011, -0.0009, -0.0011])
def test_prob_is_judged_in_columns_as_in_rows(off: float) -> None:
    prob = {"entailed": 0.5, "neutral": 0.25, "contradictory": 0.25 + off}
    said = [{"id": "1", "label": "neutral", "prob": prob}]
    row = {"uid": "1", "context": "x", "hypothesis": "y", "label": "neutral"}
    for rows in (said, pl.DataFrame(said)):
        found = evalkit.validate(data=[row], task="nli", predictions=rows)
        assert found.counts["invalid"] == (abs(off) > 0.001)


# Ids


# Keys that nobody declared


@every_task
def test_undeclared_keys_are_counted_in_a_notice_and_not_refused(task: str) -> None:
    first = {**ANSWERS[task], "id": "1", "signed": "b1", "signature": "b2"}
    second = {**ANSWERS[task], "id": "2", "signed": "b3"}
    result = evalkit.evaluate(
        dataset_of(task), [first, second], metrics=["exact-match"]
    )
    assert (result["exact-match"].value, result.problems) == (1.0, ())
    assert list(result.notices) == [
        f"1 row with the key 'signature', which the task {task} does not declare; "
        "the key was left out",
        f"2 rows with the key 'signed', which the task {task} does not declare; "
        "the key was left out",
    ]
    assert result.examples is not None
    assert not {"signed", "signature"} & set(result.examples.columns)


# Files, and what a user reads


# Inputs


# Labels that come from the data set


TOPIC_RULE = "must be one of weather, sport, other"


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("sport", []),
        ("neutral", [("label", TOPIC_RULE, "neutral")]),
        ("Weather", [("label", TOPIC_RULE, "Weather")]),
    ],
)
def test_text_classification_takes_the_labels_of_the_data_set(
    label: str, expected: Seen
) -> None:
    assert violations("text-classification", {"label": label}) == expected


def test_probabilities_are_checked_against_the_labels_of_the_data_set() -> None:
    prob = {"weather": 0.5, "sport": 0.25, "neutral": 0.25}
    response = {"label": "sport", "prob": prob}
    assert violations("text-classification", response) == [
        ("prob.other", "is required", None),
        ("prob.neutral", TOPIC_RULE, "neutral"),
    ]


def test_mapped_labels_are_those_that_a_response_may_give() -> None:
    dataset = dataset_of(
        "text-classification", {"0": "weather", "1": "sport"}, ["0", "1"]
    )
    responses = [{"id": "1", "label": "weather"}, {"id": "2", "label": "sport"}]
    result = evalkit.evaluate(dataset, responses)
    assert result["accuracy"].value == 1.0
    assert result.to_dict()["labels"] == ["weather", "sport"]
    found = violations("text-classification", {"label": "0"}, dataset)
    assert found == [("label", "must be one of weather, sport", "0")]


# Headlines


@pytest.mark.parametrize(
    ("task", "headline", "others"),
    [
        ("nli", "accuracy", ["macro-f1"]),
        ("hs", "macro-f1", ["accuracy"]),
        ("sentiment", "macro-f1", ["accuracy"]),
        ("text-classification", "macro-f1", ["accuracy"]),
        ("qa", "exact-match", []),
        ("math-qa", "exact-match", []),
    ],
)
def test_headline_and_other_metrics(
    task: str, headline: str, others: list[str]
) -> None:
    responses = [{"id": uid, **ANSWERS[task]} for uid in "12"]
    result = evalkit.evaluate(dataset_of(task), responses)
    assert result.headline is not None
    assert (result.headline.metric, result.headline.value) == (headline, 1.0)
    assert result.metrics == [headline, *others]


def test_probabilities_and_confidences_are_kept_beside_the_prediction() -> None:
    prob = prob_of("nli", 0.25, 0.5, 0.25)
    result = evaluate("nli", {"id": "1", "label": "neutral", "prob": prob})
    assert result.examples is not None
    assert result.examples["prob"][0] == prob
    result = evaluate("qa", {"id": "1", "answer": "dog", "conf": 1})
    assert result.examples is not None
    assert result.examples["conf"].to_list() == [1.0, None]


def test_any_acceptable_answer_of_a_question_counts() -> None:
    dataset = dataset_of("qa", answers=[["cat", "The cat"], "dog"])
    responses = [{"id": "1", "answer": "The cat"}, {"id": "2", "answer": "cat"}]
    assert evalkit.evaluate(dataset, responses).headline.value == 0.5  # type: ignore[union-attr]
