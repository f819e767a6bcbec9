"""Matthews' correlation and Cohen's kappa, against scikit-learn and by derivation."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from row_groups import rows_by_group
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef

import evalkit

from .tagged_rows import GOLD, one, rows_of_examples

SKLEARN: dict[str, Callable[..., float]] = {
    "mcc": matthews_corrcoef,
    "cohen-kappa": cohen_kappa_score,
}
ONE_CLASS = {
    "mcc": "all answers, or all predictions, are of one class",
    "cohen-kappa": "all answers and predictions are of one class",
}

every_metric = pytest.mark.parametrize("name", SKLEARN)


def is_defined(name: str, predictions: list[str], targets: list[str]) -> bool:
    given, gold = set(predictions), set(targets)
    if name == "mcc":
        return len(given) > 1 and len(gold) > 1
    return len(given | gold) > 1


@every_metric
@settings(max_examples=40, deadline=None)
@given(rows=rows_of_examples)
@pytest.mark.slow
def test_it_equals_scikit_learn_for_the_set_and_every_tag(
    name: str, rows: list[tuple[Any, str, list[str]]]
) -> None:
    predictions, targets, tags = (list(column) for column in zip(*rows, strict=True))
    result = evalkit.score(name, predictions, targets, tags=tags)
    groups = rows_by_group(rows)
    assert {score.tag for score in result.scores} == set(groups)
    for found in result.scores:
        # scikit-learn takes no null; to it, this is one more class
        said = ["(none)" if p is None else p for p, _ in groups[found.tag]]
        gold = [target for _, target in groups[found.tag]]
        assert found.n == len(gold)
        if is_defined(name, said, gold):
            expected = SKLEARN[name](gold, said)
            assert found.value == pytest.approx(expected, abs=1e-12)
        else:
            assert (found.value, found.reason) == (None, ONE_CLASS[name])


@every_metric
def test_right_is_one_chance_is_zero_and_reversed_is_minus_one(name: str) -> None:
    gold = list("aabb")
    assert one(name, gold, gold).value == 1.0
    assert one(name, list("abab"), gold).value == 0.0
    assert one(name, list("bbaa"), gold).value == -1.0


@every_metric
def test_one_class_is_null_with_the_reason(name: str) -> None:
    found = one(name, list("aaa"), list("aaa"))
    assert (found.value, found.ci, found.reason) == (None, None, ONE_CLASS[name])


def test_constant_predictions_have_no_correlation_and_no_agreement() -> None:
    assert one("mcc", list("aaaa"), list("aabb")).value is None
    assert one("cohen-kappa", list("aaaa"), list("aabb")).value == 0.0


@every_metric
def test_predictions_that_all_are_missing_are_of_one_class(name: str) -> None:
    found = one(name, [None, None, None], list("aab"))
    if name == "mcc":
        assert (found.value, found.reason) == (None, ONE_CLASS[name])
    else:
        assert found.value == 0.0


@every_metric
def test_several_answers_and_no_examples_have_no_score(name: str) -> None:
    several = one(name, ["a", "b"], [["a", "b"], "b"])
    assert str(several.reason).startswith("examples have several acceptable answers;")
    assert one(name, [], []).reason == "no example was scored"


@every_metric
def test_it_is_no_proportion(name: str) -> None:
    found = one(name, list("ab"), list("ab"))
    assert (found.unit, found.scale, found.higher_is_better) == ("", 1.0, True)


@every_metric
def test_the_interval_holds_the_value_and_nothing_impossible(name: str) -> None:
    random = np.random.default_rng(1)
    gold = random.choice(GOLD, 200)
    said = np.where(random.random(200) < 0.7, gold, random.choice(GOLD, 200))
    found = one(name, said.tolist(), gold.tolist())
    assert found.ci_method == "multinomial"
    assert found.ci is not None
    assert found.value is not None
    assert -1 <= found.ci[0] < found.value < found.ci[1] <= 1


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
@settings(max_examples=20, deadline=None)
@given(rows=rows_of_examples)
def test_weighted_kappa_equals_scikit_learn_in_the_declared_order(
    weights: str, rows: list[tuple[Any, str, list[str]]]
) -> None:
    order = ["never", "ü", "b", "a"]
    kept = [row for row in rows if row[0] in order] or [("a", "b", [])]
    predictions, targets, tags = (list(column) for column in zip(*kept, strict=True))
    name = f"cohen-kappa:weights={weights}"
    result = evalkit.score(name, predictions, targets, tags=tags, labels=order)
    groups = rows_by_group(kept)
    for found in result.scores:
        said, gold = (list(c) for c in zip(*groups[found.tag], strict=True))
        if len({*said, *gold}) > 1:
            expected = cohen_kappa_score(gold, said, labels=order, weights=weights)
            assert found.value == pytest.approx(expected, abs=1e-12)
        else:
            assert (found.value, found.reason) == (None, ONE_CLASS["cohen-kappa"])


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
@settings(max_examples=20, deadline=None)
@given(rows=rows_of_examples)
def test_no_label_is_as_far_off_as_can_be(
    weights: str, rows: list[tuple[Any, str, list[str]]]
) -> None:
    order, power = ["a", "b", "ü", "never"], 1 + (weights == "quadratic")

    def distance(said: Any, gold: str) -> int:
        steps = abs(order.index(said) - order.index(gold)) if said in order else 3
        return int(steps**power)

    pairs = [row[:2] for row in rows]
    observed = np.mean([distance(*pair) for pair in pairs])
    expected = np.mean([distance(p, t) for p, _ in pairs for _, t in pairs])
    name = f"cohen-kappa:weights={weights}"
    found = one(name, *(list(c) for c in zip(*pairs, strict=True)), labels=order)
    if expected:
        assert found.value == pytest.approx(1 - observed / expected, abs=1e-12)
    else:
        assert found.value is None


def test_weights_need_an_order() -> None:
    with pytest.raises(evalkit.MetricError, match="the data set declares none"):
        one("cohen-kappa:weights=linear", ["a", "b"], ["a", "a"])
    name = "cohen-kappa:weights=quadratic"
    found = one(name, list("abcabc"), list("abccba"), labels=list("abc"))
    assert found.ci_method == "multinomial"
    assert found.ci is not None
