import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

import evalkit
from evalkit_metrics_example.kappa import Kappa

PAIRS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1
)


def kappa(pairs: list[tuple[str, str]]) -> evalkit.Score:
    predictions, targets = zip(*pairs, strict=True)
    return evalkit.score(Kappa, predictions, targets)["kappa"]


def test_it_is_the_worked_example_of_cohen_1960() -> None:
    # table 1 of the paper: proportions of 200 cases, p_o = .70, p_e = .41, kappa = .492
    table = {
        ("a", "a"): 88,
        ("a", "b"): 14,
        ("a", "c"): 18,
        ("b", "a"): 10,
        ("b", "b"): 40,
        ("b", "c"): 10,
        ("c", "a"): 2,
        ("c", "b"): 6,
        ("c", "c"): 12,
    }
    pairs = [pair for pair, count in table.items() for _ in range(count)]
    assert kappa(pairs).value == pytest.approx((0.70 - 0.41) / (1 - 0.41), abs=1e-12)


@given(PAIRS)
@pytest.mark.slow
def test_it_equals_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    predictions, targets = zip(*pairs, strict=True)
    score = kappa(pairs)
    if len({*predictions, *targets}) == 1:
        assert score.value is None
        assert score.reason == "there is only one label"
    else:
        expected = cohen_kappa_score(targets, predictions)
        assert score.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("a", "a"), ("b", "b"), ("c", "c")], 1.0),
        ([("a", "b"), ("b", "a")], -1.0),
        ([("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")], 0.0),
        ([("a", "b"), ("a", "b")], 0.0),
    ],
    ids=["agree", "swapped", "independent", "no label in common"],
)
def test_landmarks(pairs: list[tuple[str, str]], expected: float) -> None:
    assert kappa(pairs).value == expected


def test_every_tag_has_a_kappa_of_its_own() -> None:
    rng = random.Random(1960)
    rows = [
        (rng.choice("ab"), rng.choice("ab"), rng.choice(["x", "y"])) for _ in range(60)
    ]
    predictions, targets, tags = zip(*rows, strict=True)
    result = evalkit.score(Kappa, predictions, targets, tags=[[tag] for tag in tags])
    assert sorted(result.by_tag["tag"]) == ["x", "y"]
    for tag, value in result.by_tag.select("tag", "value").iter_rows():
        own = [(p, t) for p, t, row_tag in rows if row_tag == tag]
        expected = cohen_kappa_score(*zip(*own, strict=True))
        assert value == pytest.approx(expected, abs=1e-12)


def test_it_has_a_bootstrap_interval_around_the_value() -> None:
    score = kappa([("a", "a"), ("b", "b"), ("a", "b"), ("b", "b")] * 20)
    assert score.ci_method == "bootstrap"
    assert score.ci is not None
    assert score.value is not None
    assert -1 <= score.ci.low < score.value < score.ci.high < 1


def test_several_acceptable_answers_give_no_kappa_but_a_reason() -> None:
    score = evalkit.score(Kappa, ["a"], [["a", "b"]])["kappa"]
    assert score.value is None
    assert score.reason == (
        "examples have several acceptable answers; answer_kinds lacks any-of"
    )
