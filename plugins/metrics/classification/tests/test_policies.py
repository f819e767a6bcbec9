from collections.abc import Callable
from typing import Any

import pytest
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

import evalkit

GOLD = ["negative", "negative", "neutral", "positive", "positive"]
GIVEN = ["negative", "positive", "neutral", None, "positive"]
"""The fourth example has no prediction."""

LABELS = ["negative", "neutral", "positive"]


class Reviews(evalkit.Dataset):
    name = "reviews"
    task = "sentiment"

    def load(self, split: str) -> list[dict[str, Any]]:
        return [
            {"uid": str(number), "statement": "Good.", "label": label}
            for number, label in enumerate(GOLD)
        ]


def responses(predictions: list[Any]) -> list[dict[str, Any]]:
    return [
        {"id": str(number), "label": label}
        for number, label in enumerate(predictions)
        if label is not None
    ]


def macro(function: Any, labels: list[str]) -> Callable[..., Any]:
    return lambda gold, given: function(
        gold, given, labels=labels, average="macro", zero_division=0
    )


def of_class(function: Any, label: str) -> Callable[..., Any]:
    return lambda gold, given: function(gold, given, labels=[label], average="macro")


EXPECTED = {
    "accuracy": accuracy_score,
    "exact-match": accuracy_score,
    "macro-f1": macro(f1_score, LABELS),
    "macro-f1:labels=negative/positive": macro(f1_score, ["negative", "positive"]),
    "macro-recall": macro(recall_score, LABELS),
    "f1:label=positive": of_class(f1_score, "positive"),
    "precision:label=positive": of_class(precision_score, "positive"),
    "recall:label=positive": of_class(recall_score, "positive"),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_missing_prediction_counts_as_one_that_equals_no_label(name: str) -> None:
    result = evalkit.evaluate(
        Reviews, responses(GIVEN), metrics=[name], on_missing="wrong"
    )
    assert (result.status, result.counts["missing"]) == ("complete", 1)
    found = result[name]
    expected = EXPECTED[name](GOLD, [given or "(none)" for given in GIVEN])
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert (found.n, found.coverage) == (5, 1.0)
    assert (found.bound_low, found.bound_high) == (None, None)


def test_without_any_prediction_every_class_is_wrong_or_undefined() -> None:
    result = evalkit.evaluate(
        Reviews, [], metrics=["f1", "precision", "recall"], on_missing="wrong"
    )
    assert [result[f"f1#{label}"].value for label in LABELS] == [0.0] * 3
    assert [result[f"recall#{label}"].value for label in LABELS] == [0.0] * 3
    assert [result[f"precision#{label}"].value for label in LABELS] == [None] * 3


# through the console script ---------------------------------------------------------
