import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    precision_score,
    recall_score,
)

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


@pytest.mark.parametrize("name", EXPECTED)
def test_a_skipped_example_lowers_the_coverage_and_has_bounds(name: str) -> None:
    result = evalkit.evaluate(
        Reviews, responses(GIVEN), metrics=[name], on_missing="skip"
    )
    found = result[name]
    pairs = [(t, p) for t, p in zip(GOLD, GIVEN, strict=True) if p is not None]
    expected = EXPECTED[name](*zip(*pairs, strict=True))
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert (found.n, found.coverage) == (4, 0.8)
    if "label=" in name:
        # a wrong prediction of the class would give less than none
        assert (found.bound_low, found.bound_high) == (None, None)
        return
    worst = EXPECTED[name](GOLD, [given or "(none)" for given in GIVEN])
    best = EXPECTED[name](GOLD, [p or t for t, p in zip(GOLD, GIVEN, strict=True)])
    assert found.bound_low == pytest.approx(worst, abs=1e-12)
    assert found.bound_high == pytest.approx(best, abs=1e-12)


def test_without_any_prediction_every_class_is_wrong_or_undefined() -> None:
    result = evalkit.evaluate(
        Reviews, [], metrics=["f1", "precision", "recall"], on_missing="wrong"
    )
    assert [result[f"f1#{label}"].value for label in LABELS] == [0.0] * 3
    assert [result[f"recall#{label}"].value for label in LABELS] == [0.0] * 3
    assert [result[f"precision#{label}"].value for label in LABELS] == [None] * 3


# through the console script ---------------------------------------------------------

PLUGIN = """
import evalkit

class Reviews(evalkit.Dataset):
    '''Five reviews.'''

    task = "sentiment"

    def load(self, split):
        return [
            {"uid": str(n), "statement": "Good.", "label": label, "tags": ["good"]}
            for n, label in enumerate(
                ["negative", "negative", "neutral", "positive", "positive"]
            )
        ]
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_reviews(fake_distribution: Any, run_evalkit: Run, tmp_path: Any) -> Run:
    fake_distribution(PLUGIN, {"evalkit.datasets": {"reviews": "Reviews"}})
    lines = (json.dumps(response) for response in responses(GIVEN[:3] + GIVEN[4:] * 2))
    (tmp_path / "p.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_evalkit("eval", "reviews", "-p", "p.jsonl", *arguments)

    return run


@pytest.mark.slow
def test_lists_of_labels_are_taken_from_a_file_of_parameters(
    run_reviews: Run, tmp_path: Any
) -> None:
    params = {"macro-f1": {"labels": ["positive", "negative"]}}
    (tmp_path / "params.json").write_text(json.dumps(params), encoding="utf-8")
    done = run_reviews("-m", "macro-f1", "--params", "params.json", "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["headline"] == "macro-f1:labels=positive/negative"
    assert record["scores"][0]["value"] == pytest.approx((2 / 3 + 4 / 5) / 2)
