"""AUROC and average precision, against scikit-learn and pairs that are counted."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import average_precision_score, roc_auc_score

import evalkit

from .probable_rows import LABELS, Probable, drawn_rows, in_groups, probable_rows
from .probable_rows import score_rows as score

NO_PROB = "the response holds no probabilities of the labels (`prob`)"
LACKING = {
    "auroc": "all answers are of one class, or none is of the class",
    "average-precision": "no example of the class",
}
METRICS = sorted(LACKING)
every_metric = pytest.mark.parametrize("name", METRICS)


def of_class(name: str, rows: Sequence[Probable], label: str) -> float:
    """Return scikit-learn's score of a class; nan where it is undefined here."""
    place = LABELS.index(label)
    gold = [row.target == label for row in rows]
    if not any(gold) or (name == "auroc" and all(gold)):
        return math.nan
    function: Callable[..., float] = {
        "auroc": roc_auc_score,
        "average-precision": average_precision_score,
    }[name]
    return float(function(gold, [row.shares[place] for row in rows]))


@every_metric
@settings(max_examples=10, deadline=None)
@given(rows=probable_rows())
@pytest.mark.slow
def test_it_equals_scikit_learn_for_the_set_every_tag_and_class(
    name: str, rows: list[Probable]
) -> None:
    groups = in_groups(rows)
    found = score(name, rows)
    of_one = score(f"{name}:label=ü", rows)
    assert set(found) == set(groups)
    for tag, part in groups.items():
        expected = [of_class(name, part, label) for label in LABELS]
        known = [value for value in expected if not math.isnan(value)]
        if known:
            assert found[tag].value == pytest.approx(np.mean(known), abs=1e-12)
        else:
            assert (found[tag].value, found[tag].reason) == (None, LACKING[name])
        assert found[tag].n == len(part)
        if math.isnan(expected[2]):
            assert of_one[tag].value is None
        else:
            assert of_one[tag].value == pytest.approx(expected[2], abs=1e-12)


def test_macro_equals_scikit_learns_one_versus_rest() -> None:
    rows = drawn_rows(300, 1)
    gold = [row.target for row in rows]
    shares = np.array([row.shares for row in rows])
    one_hot = np.array([[label == target for label in LABELS] for target in gold])
    expected = {
        "auroc": roc_auc_score(gold, shares, multi_class="ovr", average="macro"),
        "average-precision": average_precision_score(one_hot, shares, average="macro"),
    }
    for name in METRICS:
        found = score(name, rows, seed=3)[None]
        assert found.value == pytest.approx(expected[name], abs=1e-12)
        assert found.ci is not None
        assert found.ci_method == "bootstrap"
        assert 0 <= found.ci.low < found.value < found.ci.high <= 1


@every_metric
def test_a_class_without_a_score_is_named(name: str) -> None:
    rows = [
        row._replace(target="a" if n % 2 else "b")
        for n, row in enumerate(drawn_rows(20, 2))
    ]
    found = score(name, rows)[None]
    assert found.value is not None
    assert found.flag == "classes without a score: ü"


def test_a_missing_prediction_is_ranked_as_badly_as_can_be() -> None:
    prob = [{"a": p, "b": 1 - p} for p in (0.9, 0.1, 0.2, 0.8)]
    gold = ["a", "b", "b", "a"]

    def value(name: str, missing: int | None) -> float | None:
        said = [None if n == missing else "a" for n in range(4)]
        fields = {"prob": [p if s else None for p, s in zip(prob, said, strict=True)]}
        return evalkit.score(name, said, gold, fields=fields)[name].value

    assert value("auroc", None) == 1.0
    # the one of a is below both of b; the one of b is above both of a
    assert value("auroc", 0) == 0.5
    assert value("auroc", 1) == 0.5
    assert value("average-precision:label=a", 1) == pytest.approx((1 / 2 + 2 / 3) / 2)


@every_metric
@pytest.mark.parametrize(
    ("prob", "answer", "reason"),
    [
        (None, "b", NO_PROB),
        (
            {"a": 0.5, "b": 0.5},
            "c",
            "the answer has no probability among those of the response (`prob`)",
        ),
    ],
)
def test_what_has_no_probability_is_not_scored(
    name: str, prob: dict[str, float] | None, answer: str, reason: str
) -> None:
    fields = {"prob": [{"a": 0.9, "b": 0.1}, {"a": 0.2, "b": 0.8}, prob]}
    result = evalkit.score(name, ["a"] * 3, ["a", "b", answer], fields=fields)
    assert (result[name].value, result[name].n) == (1.0, 2)
    assert [problem.reason for problem in result.problems] == [reason]


@every_metric
def test_a_label_that_is_not_declared_is_an_error(name: str) -> None:
    rows = drawn_rows(5, 1)
    with pytest.raises(evalkit.MetricError, match="none of the declared labels"):
        score(f"{name}:label=x", rows, labels=LABELS)
    with pytest.raises(evalkit.MetricError, match="'x' has no probabilities"):
        score(f"{name}:label=x", rows)


def test_the_standard_error_is_delongs() -> None:
    """The samples spread as the structural components say (DeLong et al. 1988)."""
    rows = drawn_rows(400, 8)
    is_a = np.array([row.target == "a" for row in rows])
    share = np.array([row.shares[0] for row in rows])
    wins = (share[is_a][:, None] > share[~is_a]) + 0.5 * (
        share[is_a][:, None] == share[~is_a]
    )
    of_a, of_others = wins.mean(axis=1), wins.mean(axis=0)
    variance = of_a.var(ddof=1) / len(of_a) + of_others.var(ddof=1) / len(of_others)
    found = score("auroc:label=a", rows)[None]
    assert found.se == pytest.approx(math.sqrt(variance), rel=0.1)
