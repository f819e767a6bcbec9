from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from row_groups import rows_by_group
from sklearn.metrics import f1_score, recall_score

import evalkit
from evalkit import MetricError, PluginContractError, Registry

from .tagged_rows import DECLARED, one, rows_of_examples

SKLEARN = {"macro-f1": f1_score, "macro-recall": recall_score}

Row = tuple[Any, str, list[str]]


def classes(choice: str, part: Sequence[tuple[Any, str]]) -> list[str]:
    gold = {target for _, target in part}
    seen = gold | {p for p, _ in part if p is not None}
    return {"gold": sorted(gold), "seen": sorted(seen), "declared": DECLARED}[choice]


def by_scikit_learn(name: str, choice: str, part: Sequence[tuple[Any, str]]) -> float:
    return float(
        SKLEARN[name](
            [target for _, target in part],
            # scikit-learn takes no null; to it, this is one more class
            ["(none)" if p is None else p for p, _ in part],
            labels=classes(choice, part),
            average="macro",
            zero_division=0,
        )
    )


def full_name(name: str, choice: str) -> str:
    return name if choice == "gold" else f"{name}:labels={choice}"


@pytest.mark.parametrize("choice", ["gold", "seen", "declared"])
@pytest.mark.parametrize("name", SKLEARN)
@settings(max_examples=20, deadline=None)
@given(rows=rows_of_examples)
@pytest.mark.slow
def test_it_equals_scikit_learn_for_the_set_and_every_tag(
    name: str, choice: str, rows: list[Row]
) -> None:
    predictions, targets, tags = (list(column) for column in zip(*rows, strict=True))
    result = evalkit.score(
        full_name(name, choice), predictions, targets, tags=tags, labels=DECLARED
    )
    groups = rows_by_group(rows)
    assert {score.tag for score in result.scores} == set(groups)
    for found in result.scores:
        part = groups[found.tag]
        expected = by_scikit_learn(name, choice, part)
        assert found.metric == full_name(name, choice)
        assert found.value == pytest.approx(expected, abs=1e-12)
        assert found.n == len(part)
        gold = {target for _, target in part}
        flag = f"one class: {gold.pop()}" if len(gold) == 1 else None
        # labels that nobody has are flagged beside it
        said = [each for each in (found.flag or "").split("; ") if each]
        others = [each for each in said if "without an example" not in each]
        assert others == ([flag] if flag else [])


@pytest.mark.parametrize(
    ("name", "predictions", "value"),
    [
        ("macro-f1", "aaab", 6 / 7),
        ("macro-f1", "aaaa", 1.0),
        ("macro-f1", "bbbb", 0.0),
        ("macro-f1:labels=seen", "aaab", 3 / 7),
        ("macro-f1:labels=seen", "aaaa", 1.0),
        ("macro-f1:labels=declared", "aaab", 3 / 7),
        ("macro-f1:labels=declared", "aaaa", 0.5),
        ("macro-recall", "aaab", 0.75),
        ("macro-recall:labels=seen", "aaab", 0.375),
        ("macro-recall:labels=declared", "aaaa", 0.5),
    ],
)
def test_one_class_is_scored_and_flagged(
    name: str, predictions: str, value: float
) -> None:
    found = one(name, list(predictions), list("aaaa"), labels=["a", "b"])
    assert found.value == pytest.approx(value, abs=1e-15)
    assert found.flag == "one class: a"


@pytest.mark.parametrize("choice", ["gold", "seen", "declared"])
@pytest.mark.parametrize("name", SKLEARN)
def test_a_missing_prediction_is_a_miss_and_no_class(name: str, choice: str) -> None:
    full = full_name(name, choice)
    found = one(full, ["a", None, "b"], ["a", "a", "b"], labels=["a", "b"])
    recall_of_a, f1_of_a = 1 / 2, 2 / 3
    expected = (1 + (f1_of_a if name == "macro-f1" else recall_of_a)) / 2
    assert found.value == pytest.approx(expected)
    assert found.n == 3
    nothing = one(full, [None, None], ["a", "b"], labels=["a", "b"])
    assert nothing.value == 0.0


@pytest.mark.parametrize("name", SKLEARN)
def test_declared_without_labels_is_null_with_the_reason(name: str) -> None:
    full = f"{name}:labels=declared"
    result = evalkit.score(full, ["a", "b"], ["a", "b"], tags=[["t"], []])
    assert [score.tag for score in result.scores] == [None, "t", "(untagged)"]
    for found in result.scores:
        assert (found.value, found.ci) == (None, None)
        assert found.reason == "labels=declared, but the data set declares no labels"


@pytest.mark.parametrize("name", SKLEARN)
def test_several_acceptable_answers_are_null_with_the_reason(name: str) -> None:
    found = one(name, ["a", "b"], [["a", "b"], "b"])
    assert (found.value, found.n) == (None, 0)
    assert str(found.reason).startswith("examples have several acceptable answers;")


@pytest.mark.parametrize("name", SKLEARN)
@pytest.mark.parametrize(
    ("predictions", "targets"),
    [
        ([1, 2, 2], [1, 2, 1]),
        ([1.0, 2.0, 2.0], [1, 2, 1]),
        ([True, False, False], [True, False, True]),
    ],
)
def test_labels_may_be_numbers(name: str, predictions: Any, targets: Any) -> None:
    expected = SKLEARN[name](targets, predictions, average="macro")
    assert one(name, predictions, targets).value == pytest.approx(expected)


LISTS = [["a"], ["a", "ü"], ["never", "b"], ["never"], ["gold", "a"]]


@pytest.mark.parametrize("labels", LISTS)
@pytest.mark.parametrize("declared", [None, [*DECLARED, "gold"]])
@pytest.mark.parametrize("name", SKLEARN)
@settings(max_examples=4)  # of each of twenty cases
@given(rows=rows_of_examples)
def test_a_list_of_labels_equals_scikit_learn(
    name: str, declared: list[str] | None, labels: list[str], rows: list[Row]
) -> None:
    predictions, targets, tags = (list(column) for column in zip(*rows, strict=True))
    full = f"{name}:labels={'/'.join(labels)}"
    result = evalkit.score(full, predictions, targets, tags=tags, labels=declared)
    groups = rows_by_group(rows)
    for found in result.scores:
        part = groups[found.tag]
        expected = SKLEARN[name](
            [target for _, target in part],
            ["(none)" if p is None else p for p, _ in part],
            labels=labels,
            average="macro",
            zero_division=0,
        )
        assert found.metric == full
        assert found.value == pytest.approx(expected, abs=1e-12)
        gold = {target for _, target in part}
        flags = [f"one class: {min(gold)}"] if len(gold) == 1 else []
        absent = sorted(set(labels) - gold - {p for p, _ in part})
        if absent:
            names = ", ".join(absent)
            flags.append(f"neither in answers nor in predictions: {names}")
        assert found.flag == ("; ".join(flags) or None)


@pytest.mark.parametrize("name", SKLEARN)
@pytest.mark.parametrize(("labels", "unknown"), [("all", "all"), ("a/al", "al")])
def test_a_label_that_is_not_declared_is_an_error_that_names_the_labels(
    name: str, labels: str, unknown: str
) -> None:
    wanted = (
        rf"metrics/{name} \(evalkit-metrics-classification .*"
        rf"labels: '{unknown}' is none of the declared labels, which are: a, b$"
    )
    with pytest.raises(MetricError, match=wanted):
        evalkit.score(f"{name}:labels={labels}", ["a"], ["a"], labels=["a", "b"])


@pytest.mark.parametrize(
    ("labels", "rule"),
    [
        (3, "must be gold, seen, declared or a list of labels, got 3"),
        ([1, 2], "must be gold, seen, declared or a list of labels"),
        ({"a": 1}, "must be gold, seen, declared or a list of labels"),
        ([], "must not be empty"),
        ("", "must not be empty"),
        (["a", ""], "nor hold an empty label"),
        (["a", "b", "a"], "must not name a label twice"),
        (["gold"], "must not be a list of the one label 'gold', which"),
        (["declared"], "must not be a list of the one label 'declared', which"),
    ],
)
@pytest.mark.parametrize("name", SKLEARN)
def test_labels_that_mean_nothing_are_refused(
    name: str, labels: Any, rule: str
) -> None:
    with pytest.raises(PluginContractError, match=f"parameter labels .*{rule}"):
        Registry().load("metrics", name, {"labels": labels})


def test_a_class_outside_of_the_list_is_only_a_miss() -> None:
    # of `a`: two examples, one hit, two predictions, one of them for an example of `c`
    predictions, targets = ["a", "b", "a", "c"], ["a", "a", "c", "c"]
    assert one("macro-f1:labels=a", predictions, targets).value == 0.5
    # `b` has a prediction and no example
    assert one("macro-f1:labels=a/b", predictions, targets).value == 0.25
