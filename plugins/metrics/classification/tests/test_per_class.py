import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from row_groups import rows_by_group
from sklearn.metrics import f1_score, precision_score, recall_score

import evalkit
from evalkit import MetricError

from .tagged_rows import DECLARED, one, rows_of_examples

SKLEARN: dict[str, Callable[..., Any]] = {
    "f1": f1_score,
    "precision": precision_score,
    "recall": recall_score,
}

Row = tuple[Any, str, list[str]]


def by_scikit_learn(
    name: str, label: str, part: Sequence[tuple[Any, str]]
) -> float | None:
    (value,) = SKLEARN[name](
        [target for _, target in part],
        # scikit-learn takes no null; to it, this is one more class
        ["(none)" if p is None else p for p, _ in part],
        labels=[label],
        average=None,
        zero_division=np.nan,
    )
    return None if math.isnan(value) else float(value)


@pytest.mark.parametrize("name", SKLEARN)
@settings(max_examples=25)
@given(rows=rows_of_examples)
@pytest.mark.slow
def test_every_class_equals_scikit_learn_for_the_set_and_every_tag(
    name: str, rows: list[Row]
) -> None:
    predictions, targets, tags = (list(column) for column in zip(*rows, strict=True))
    result = evalkit.score(name, predictions, targets, tags=tags, labels=DECLARED)
    found = {(score.tag, score.metric): score for score in result.scores}
    assert len(found) == len(result.scores)
    expected = {}
    for tag, part in rows_by_group(rows).items():
        others = {"outside"} & {p for p, _ in part}
        for label in (*DECLARED, *others):
            shown = label if label in DECLARED else "(other)"
            expected[tag, f"{name}#{shown}"] = by_scikit_learn(name, label, part)
            assert found[tag, f"{name}#{shown}"].n == len(part)
    values = {key: score.value for key, score in found.items()}
    assert values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("label", ["a", "never"])
@pytest.mark.parametrize("name", SKLEARN)
@settings(max_examples=5)
@given(rows=rows_of_examples)
def test_one_class_equals_scikit_learn_and_is_the_main_score(
    name: str, label: str, rows: list[Row]
) -> None:
    predictions, targets, tags = (list(column) for column in zip(*rows, strict=True))
    full = f"{name}:label={label}"
    result = evalkit.score(full, predictions, targets, tags=tags, labels=DECLARED)
    assert {score.metric for score in result.scores} == {full}
    assert result.headline == result[full]
    groups = rows_by_group(rows)
    assert [score.tag for score in result.scores] == list(groups)
    for score in result.scores:
        part = groups[score.tag]
        expected = by_scikit_learn(name, label, part)
        assert score.value == pytest.approx(expected, abs=1e-12)


@settings(max_examples=20)
@given(rows=rows_of_examples)
def test_classes_that_nobody_declared_are_those_seen_in_the_group(
    rows: list[Row],
) -> None:
    predictions, targets, tags = (list(column) for column in zip(*rows, strict=True))
    result = evalkit.score("f1", predictions, targets, tags=tags)
    for tag, part in rows_by_group(rows).items():
        seen = {label for pair in part for label in pair if label is not None}
        scores = [score for score in result.scores if score.tag == tag]
        assert [s.metric for s in scores] == [f"f1#{label}" for label in sorted(seen)]
        assert all(score.value is not None for score in scores)


@pytest.mark.parametrize(
    ("name", "label", "value", "reason"),
    [
        ("f1", "right", 2 / 3, None),
        ("precision", "right", 1.0, None),
        ("recall", "right", 0.5, None),
        # gold examples and no prediction: F1 has no hit, precision is undefined
        ("f1", "missed", 0.0, None),
        ("precision", "missed", None, "no prediction of the class 'missed'"),
        ("recall", "missed", 0.0, None),
        # predictions and no gold example: F1 has no hit, recall is undefined
        ("f1", "made-up", 0.0, None),
        ("precision", "made-up", 0.0, None),
        ("recall", "made-up", None, "no example of the class 'made-up'"),
        (*("f1", "absent", None), "no example and no prediction of the class 'absent'"),
        ("precision", "absent", None, "no prediction of the class 'absent'"),
        ("recall", "absent", None, "no example of the class 'absent'"),
    ],
)
@pytest.mark.parametrize("declared", [None, ["right", "missed", "made-up", "absent"]])
def test_nothing_divided_by_nothing_is_null_with_the_reason(
    name: str,
    label: str,
    value: float | None,
    reason: str | None,
    declared: list[str] | None,
) -> None:
    predictions = ["right", "made-up", None, "made-up"]
    targets = ["right", "right", "missed", "missed"]
    full = f"{name}:label={label}"
    found = one(full, predictions, targets, labels=declared)
    assert found.value == pytest.approx(value)
    if value is None:
        assert (found.reason, found.ci, found.n) == (reason, None, 4)
    named = evalkit.score(name, predictions, targets, labels=declared)
    if declared or label != "absent":
        same = named[f"{name}#{label}"]
        assert (same.value, same.n) == (found.value, found.n)
        if value is None:
            assert same.reason == reason


@pytest.mark.parametrize("name", SKLEARN)
def test_a_label_that_is_not_declared_is_an_error_that_names_the_labels(
    name: str,
) -> None:
    wanted = (
        rf"metrics/{name} \(evalkit-metrics-classification .*label: 'irnoy' is none"
    )
    with pytest.raises(MetricError, match=wanted) as caught:
        evalkit.score(
            f"{name}:label=irnoy", ["irony"], ["irony"], labels=["irony", "non-irony"]
        )
    assert str(caught.value).endswith(": irony, non-irony")


@pytest.mark.parametrize("name", SKLEARN)
def test_a_missing_prediction_is_a_miss_and_no_prediction_of_any_class(
    name: str,
) -> None:
    found = one(f"{name}:label=a", ["a", None, None], ["a", "a", "b"])
    assert found.value == {"f1": 2 / 3, "precision": 1.0, "recall": 0.5}[name]
    assert found.n == 3


@pytest.mark.parametrize("name", SKLEARN)
def test_the_interval_equals_direct_resampling(name: str) -> None:
    random = np.random.default_rng(0)
    targets = random.choice(["a", "b", "c"], 300, p=[0.3, 0.3, 0.4])
    noise = random.choice(["a", "b", "c"], 300)
    predictions = np.where(random.random(300) < 0.7, targets, noise)
    found = one(name + ":label=a", predictions.tolist(), targets.tolist())
    # counts of (a, a), (a, other), (other, a), (other, other): nothing is rare, so that
    # the share of an example which smoothing adds makes no difference to see
    cells = 2 * (targets != "a") + (predictions != "a")
    shares = np.bincount(cells, minlength=4) / 300
    hit, missed, wrong, _ = random.multinomial(300, shares, size=40_000).T
    below = {
        "f1": hit + (missed + wrong) / 2,
        "precision": hit + wrong,
        "recall": hit + missed,
    }[name]
    expected = hit / below
    assert found.ci_method == "multinomial"
    assert found.se == pytest.approx(expected.std(), rel=0.1)
    # Monte-Carlo error of a rank of 0.025 in 1 000 replicates: 0.005
    assert (expected <= found.ci_low).mean() == pytest.approx(0.025, abs=0.015)
    assert (expected <= found.ci_high).mean() == pytest.approx(0.975, abs=0.015)


def test_the_interval_of_a_class_with_one_example_says_that_nothing_is_known() -> None:
    found = one("recall:label=a", ["a"] * 10, ["a"] + ["b"] * 9)
    assert (found.value, found.ci) == (1.0, (0.0, 1.0))
