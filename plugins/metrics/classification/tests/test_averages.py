"""Micro and weighted F1 and balanced accuracy, against scikit-learn."""

from typing import Any

import pytest
from hypothesis import given, settings
from row_groups import rows_by_group
from sklearn.metrics import f1_score, recall_score

import evalkit

from .tagged_rows import DECLARED, one, rows_of_examples

CHOICES = {
    "": None,
    ":labels=gold": "gold",
    ":labels=seen": "seen",
    ":labels=declared": [*DECLARED, "outside"],
    ":labels=a/never": ["a", "never"],
}


def chosen(name: str, choice: str, gold: list[str], said: list[Any]) -> list[str]:
    classes = CHOICES[choice] or {"micro": "seen", "weighted": "gold"}[name]
    if isinstance(classes, list):
        return classes
    seen = {*gold, *(label for label in said if label is not None)}
    return sorted(set(gold) if classes == "gold" else seen)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", ["micro", "weighted"])
@settings(max_examples=15, deadline=None)
@given(rows=rows_of_examples)
def test_f1_equals_scikit_learn_for_the_set_and_every_tag(
    name: str, choice: str, rows: list[tuple[Any, str, list[str]]]
) -> None:
    predictions, targets, tags = (list(column) for column in zip(*rows, strict=True))
    declared = [*DECLARED, "outside"] if "declared" in choice else None
    result = evalkit.score(
        f"{name}-f1{choice}", predictions, targets, tags=tags, labels=declared
    )
    groups = rows_by_group(rows)
    assert {score.tag for score in result.scores} == set(groups)
    for found in result.scores:
        said = [p for p, _ in groups[found.tag]]
        gold = [target for _, target in groups[found.tag]]
        classes = chosen(name, choice, gold, said)
        expected = f1_score(
            gold,
            ["(none)" if p is None else p for p in said],
            labels=classes,
            average=name,
            zero_division=float("nan"),
        )
        counted = set(gold) if name == "weighted" else {*gold, *said}
        if counted.isdisjoint(classes):
            assert found.value is None
            assert found.reason is not None
            assert found.reason.endswith("of any of the classes")
        else:
            assert found.value == pytest.approx(expected, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(rows=rows_of_examples)
@pytest.mark.slow
def test_balanced_accuracy_is_the_mean_recall_of_the_classes_with_examples(
    rows: list[tuple[Any, str, list[str]]],
) -> None:
    predictions, targets, tags = (list(column) for column in zip(*rows, strict=True))
    result = evalkit.score("balanced-accuracy", predictions, targets, tags=tags)
    for found in result.scores:
        part = rows_by_group(rows)[found.tag]
        gold = [target for _, target in part]
        expected = recall_score(
            gold,
            ["(none)" if p is None else p for p, _ in part],
            labels=sorted(set(gold)),
            average="macro",
        )
        assert found.value == pytest.approx(expected, abs=1e-12)
        is_flagged = f"one class: {gold[0]}" in (found.flag or "")
        assert is_flagged == (len(set(gold)) == 1)


def test_a_missing_prediction_is_in_no_class() -> None:
    gold, said = list("aab"), ["a", None, "b"]
    assert one("micro-f1", said, gold).value == pytest.approx(4 / 5)
    assert one("weighted-f1", said, gold).value == pytest.approx((2 * 2 / 3 + 1) / 3)
    assert one("balanced-accuracy", said, gold).value == pytest.approx(3 / 4)


def test_only_listed_classes_are_added_up() -> None:
    gold, said = ["no", "no", "per", "loc"], ["no", "per", "per", "no"]
    # per: 1 hit, 1 gold, 2 predicted; loc: 0, 1, 0
    found = one("micro-f1:labels=per/loc", said, gold)
    assert found.value == pytest.approx(2 / 4)
    assert one("weighted-f1:labels=per/loc", said, gold).value == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", ["micro-f1", "weighted-f1"])
def test_listed_classes_that_do_not_occur_are_null_with_the_reason(name: str) -> None:
    found = one(f"{name}:labels=x/y", ["a"], ["a"])
    assert found.value is None
    assert found.reason is not None
    assert found.reason.endswith("of any of the classes")


@pytest.mark.parametrize("name", ["micro-f1", "weighted-f1", "balanced-accuracy"])
def test_several_answers_and_no_examples_have_no_score(name: str) -> None:
    several = one(name, ["a", "b"], [["a", "b"], "b"])
    assert str(several.reason).startswith("examples have several acceptable answers;")
    assert one(name, [], []).reason == "no example was scored"
