"""Brier's score and log loss, against scikit-learn and a plain loop."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss

import evalkit

LABELS = ["negative", "neutral", "positive"]
REASON = "the response holds no probabilities of the labels (`prob`)"
METRICS = ["brier", "log-loss"]

every_metric = pytest.mark.parametrize("name", METRICS)


def evaluate(
    gold: list[str], probabilities: list[Any], **options: Any
) -> evalkit.Result:
    class Reviews(evalkit.Dataset):
        name = "reviews"
        task = "sentiment"

        def load(self, split: str) -> list[dict[str, Any]]:
            return [
                {"uid": str(n), "statement": "Good.", "label": label}
                | {"tags": ["even"] * (n % 2 == 0)}
                for n, label in enumerate(gold)
            ]

    responses = [
        {"id": str(n), "label": "neutral"} | ({"prob": prob} if prob else {})
        for n, prob in enumerate(probabilities)
        if prob != "missing"
    ]
    return evalkit.evaluate(Reviews, responses, metrics=METRICS, **options)


def sure(label: str) -> dict[str, float]:
    return {each: float(each == label) for each in LABELS}


def brier_by_hand(gold: list[str], rows: list[dict[str, float]]) -> float:
    return math.fsum(
        (row[label] - (label == answer)) ** 2
        for answer, row in zip(gold, rows, strict=True)
        for label in LABELS
    ) / len(gold)


weights = st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any)
rows_of_examples = st.lists(
    st.tuples(st.sampled_from(LABELS), weights), min_size=1, max_size=25
)


@settings(max_examples=15, deadline=None)
@given(rows=rows_of_examples)
@pytest.mark.slow
def test_they_equal_the_references_for_the_set_and_a_tag(
    rows: list[tuple[str, list[int]]],
) -> None:
    gold = [answer for answer, _ in rows]
    given = [
        dict(zip(LABELS, (w / sum(drawn) for w in drawn), strict=True))
        for _, drawn in rows
    ]
    result = evaluate(gold, given)
    for step, tag in ((1, None), (2, "even")):
        part, probabilities = gold[::step], given[::step]
        found = {s.metric: s.value for s in result.scores if s.tag == tag}
        array = np.array([[row[label] for label in LABELS] for row in probabilities])
        expected = log_loss(part, array, labels=LABELS)
        assert found["log-loss"] == pytest.approx(expected, rel=1e-12)
        by_hand = brier_by_hand(part, probabilities)
        assert found["brier"] == pytest.approx(by_hand, rel=1e-12, abs=1e-15)


def test_sure_and_right_is_zero_and_sure_and_wrong_is_the_worst() -> None:
    right = evaluate(["positive"], [sure("positive")])
    assert [right[name].value for name in METRICS] == [0.0, 0.0]
    wrong = evaluate(["positive"], [sure("negative")])
    assert wrong["brier"].value == 2.0
    assert wrong["log-loss"].value == pytest.approx(36.0436533891)
    flag = "answers of probability 0, which count as 2.2e-16: 1"
    assert (wrong["log-loss"].flag, right["log-loss"].flag) == (flag, None)


@every_metric
def test_a_response_without_probabilities_is_not_scored(name: str) -> None:
    gold = ["positive", "negative", "neutral"]
    result = evaluate(gold, [sure("positive"), None, sure("neutral")])
    found = result[name]
    assert (found.value, found.n) == (0.0, 2)
    notice = next(notice for notice in result.notices if f"metrics/{name}" in notice)
    assert "did not score 1 of 3 examples" in notice
    assert REASON in notice


@every_metric
def test_without_any_probabilities_it_is_null_with_the_reason(name: str) -> None:
    found = evaluate(["positive", "negative"], [None, None])[name]
    assert found.value is None
    assert found.reason is not None
    assert REASON in found.reason


def test_a_missing_prediction_that_counts_is_the_worst() -> None:
    gold = ["positive", "negative"]
    result = evaluate(gold, [sure("positive"), "missing"], on_missing="wrong")
    assert result["brier"].value == 1.0
    assert result["log-loss"].value == pytest.approx(36.0436533891 / 2)
    assert (result["brier"].n, result["brier"].higher_is_better) == (2, False)


@every_metric
def test_what_an_example_that_is_left_out_might_score_is_not_known(name: str) -> None:
    gold = ["positive", "negative"]
    found = evaluate(gold, [sure("positive"), "missing"], on_missing="skip")[name]
    assert (found.value, found.coverage) == (0.0, 0.5)
    assert (found.bound_low, found.bound_high) == (None, None)


@pytest.mark.parametrize(
    "name", ["auroc", "average-precision", "brier", "log-loss", "ece"]
)
def test_nan_is_no_probability(name: str) -> None:
    known = [{"a": 0.7, "b": 0.3}, {"a": 0.6, "b": 0.4}, {"a": 0.2, "b": 0.8}] * 4
    gold = ["a", "b", "a"] * 4
    alone = evalkit.score(name, gold, gold, fields={"prob": known})[name]
    fields = {"prob": [{"a": math.nan, "b": 0.5}, *known]}
    result = evalkit.score(name, ["a", *gold], ["a", *gold], fields=fields)
    assert result[name].value == alone.value
    assert result[name].n == len(gold)
    assert "did not score 1 of 13 examples" in result.notices[0]


def test_a_label_that_one_response_leaves_out_has_no_probability_there() -> None:
    labels = ["blue", "green", "red"] * 4
    data = [
        {"uid": str(n), "statement": "t", "label": label}
        for n, label in enumerate(labels)
    ]
    predictions: list[dict[str, Any]] = [
        {"id": str(n), "label": label, "prob": {"red": 0.2, "green": 0.3, "blue": 0.5}}
        for n, label in enumerate(labels)
    ]
    predictions[4]["prob"] = {"red": 0.2, "green": 0.8}
    found = evalkit.evaluate(
        data=data,
        task="text-classification",
        predictions=predictions,
        metrics=["brier"],
    )["brier"]
    loss = {"blue": 0.25 + 0.04 + 0.09, "green": 0.49 + 0.04 + 0.25}
    loss["red"] = 0.64 + 0.09 + 0.25
    expected = sum(loss[label] for label in labels) - loss["green"] + 0.04 + 0.04
    assert found.n == 12
    assert found.value == pytest.approx(expected / 12)
