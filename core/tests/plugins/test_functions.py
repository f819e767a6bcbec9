"""Plain functions as metrics: what their arguments mean."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit.errors import PluginContractError
from evalkit.plugins.resolver import Resolver
from evalkit.scoring import (
    MetricScores,
    ScoringSettings,
    group_by_tag,
    make_table,
    score_metric,
)

PREDICTIONS, TARGETS = ["a", "b", "b", "b"], ["a", "a", "a", "b"]


def value_of(function: Any) -> float | None:
    found = evalkit.score(function, PREDICTIONS, TARGETS)
    [name] = found
    value: float | None = found[name].value
    return value


def test_arguments_go_by_name_and_not_by_place() -> None:
    def get_precision(targets: list[str], predictions: list[str]) -> float:
        predicted = [t for p, t in zip(predictions, targets, strict=True) if p == "a"]
        return predicted.count("a") / len(predicted)

    assert value_of(get_precision) == 1.0  # swapped it is 1/3


def test_the_names_of_scikit_learn_mean_what_they_mean_there() -> None:
    metrics = pytest.importorskip("sklearn.metrics")

    def get_recall(y_true: list[str], y_pred: list[str]) -> float:
        return float(metrics.recall_score(y_true, y_pred, pos_label="a"))

    assert value_of(get_recall) == pytest.approx(1 / 3)
    assert value_of(metrics.accuracy_score) == 0.5


def test_a_positional_argument_gets_what_its_name_says() -> None:
    def get_first(targets: list[str], predictions: list[str], /) -> float:
        return float(targets[1] == "a" and predictions[1] == "b")

    assert value_of(get_first) == 1.0


def test_a_function_of_one_example_is_a_mean_over_examples() -> None:
    @evalkit.metric
    def same(prediction: str, target: str) -> float:
        return float(prediction == target)

    found = evalkit.score(same, PREDICTIONS, TARGETS)["same"]
    assert (found.value, found.n, found.mean) == (0.5, 4, 0.5)


@evalkit.metric(columns=["prob"], interval="none")
def get_prob(predictions: list[str], prob: list[float]) -> float:
    return sum(prob) / len(predictions)


@evalkit.metric(columns=["prob"], interval="none")
def get_field(fields: Mapping[str, list[float]]) -> float:
    return sum(fields["prob"]) / len(fields["prob"])


@evalkit.metric(columns=["prob"], interval="none")
def prob_of_one(prob: float, prediction: str) -> float:
    return prob


@evalkit.metric(columns=["prob"], interval="none")
def field_of_one(prediction: str, fields: Mapping[str, float]) -> float:
    return fields["prob"]


@pytest.mark.parametrize("function", [get_prob, get_field, prob_of_one, field_of_one])
def test_columns_and_interval_are_declared(function: Any) -> None:
    [score] = scored(function).scores
    assert score.value == 0.5
    assert score.interval.low is None
    assert score.interval.reason == "the metric declares no interval"


def test_answer_kinds_are_declared() -> None:
    @evalkit.metric(answer_kinds=["number"])
    def get_count(predictions: list[str]) -> float:
        return float(len(predictions))

    [score] = scored(get_count).scores
    assert score.reason == "the metric does not take answers of the kind 'one'"


def scored(function: Any) -> MetricScores:
    """Score two examples that have a field."""
    table = make_table(
        ["x", "y"],
        ["x", "x"],
        evalkit.MetricContext(None, "one"),
        ids=["1", "2"],
        fields={"prob": [0.25, 0.75]},
    )
    groups = group_by_tag(pl.Series([[], []], dtype=pl.List(pl.String)))
    metric = Resolver(evalkit.Registry()).metric(function)
    return score_metric(metric, table, groups, ScoringSettings())


def two_names(a: Any, b: Any) -> float:
    return 0.0


def twice(preds: Any, y_pred: Any) -> float:
    return 0.0


def both(predictions: Any, target: Any) -> float:
    return 0.0


def labels_for_answers(predictions: Any, labels: Any) -> float:
    return 0.0


def nothing() -> float:
    return 0.0


def anything(*values: Any) -> float:
    return 0.0


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (two_names, "its argument 'a' is not known; its argument 'b' is not known: "),
        (twice, "'preds' and 'y_pred' mean the same: "),
        (both, "'predictions' is of lists, 'target' of one example: "),
        (labels_for_answers, "its argument 'labels' is not known: "),
        (nothing, "it has no argument that is known: "),
        (anything, "it has no argument that is known: "),
    ],
)
def test_arguments_that_could_be_swapped_are_refused(
    function: Any, problem: str
) -> None:
    with pytest.raises(PluginContractError) as caught:
        value_of(function)
    assert f"{problem}write predictions and targets for whole lists" in str(
        caught.value
    )


def test_an_attribute_that_no_metric_has_is_refused() -> None:
    with pytest.raises(TypeError, match="a metric has no attribute 'higher_is_beter'"):
        evalkit.metric(higher_is_beter=True)
