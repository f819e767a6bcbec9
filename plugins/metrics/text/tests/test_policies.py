from typing import Any

import pytest

import evalkit

NAMES = ["squad-f1", "squad-em"]
CONTEXT = "The Denver Broncos beat the Carolina Panthers in Santa Clara."
ANSWERS: list[Any] = [["Denver Broncos", "Broncos"], ["Carolina Panthers"], [""]]


class Questions(evalkit.Dataset):
    name = "questions"
    task = "qa"

    def load(self, split: str) -> list[dict[str, Any]]:
        return [
            {"uid": str(n), "context": CONTEXT, "question": "Who?", "answer": answer}
            for n, answer in enumerate(ANSWERS)
        ]


RESPONSES = [{"id": "0", "answer": "The Denver Broncos"}, {"id": "2", "answer": "The"}]
"""The first and third are right, also by normalisation; the second is missing."""


def evaluate(responses: list[dict[str, Any]], name: str, **policies: Any) -> Any:
    return evalkit.evaluate(Questions, responses, metrics=[name], **policies)[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_prediction_counts_nothing(name: str) -> None:
    found = evaluate(RESPONSES, name, on_missing="wrong")
    assert found.value == pytest.approx(2 / 3)
    assert (found.n, found.coverage, found.min) == (3, 1.0, 0.0)


@pytest.mark.parametrize("name", NAMES)
def test_an_invalid_prediction_counts_nothing(name: str) -> None:
    invalid = {"id": "1", "answer": "not in the context"}
    found = evaluate([*RESPONSES, invalid], name, on_invalid="wrong")
    assert (found.value, found.n) == (pytest.approx(2 / 3), 3)


@pytest.mark.parametrize("name", NAMES)
def test_a_skipped_example_lowers_the_coverage_and_has_bounds(name: str) -> None:
    found = evaluate(RESPONSES, name, on_missing="skip")
    assert (found.value, found.n, found.coverage) == (1.0, 2, pytest.approx(2 / 3))
    assert found.bound_low == pytest.approx(2 / 3)
    assert found.bound_high == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_without_any_prediction_all_are_wrong(name: str) -> None:
    # also the third question, whose right answer is the empty one
    found = evaluate([], name, on_missing="wrong")
    assert (found.value, found.n) == (0.0, 3)


@pytest.mark.parametrize("name", NAMES)
def test_each_example_has_its_score(name: str) -> None:
    result = evalkit.evaluate(Questions, RESPONSES, metrics=[name], on_missing="wrong")
    assert result.examples is not None
    assert result.examples[name].to_list() == [1.0, 0.0, 1.0]
