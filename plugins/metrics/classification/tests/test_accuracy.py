from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_groups import rows_by_group
from share_intervals import share_interval
from sklearn.metrics import accuracy_score

import evalkit

NAMES = ["accuracy", "exact-match"]
LABELS = ["a", "b", "ü", "日本", " a"]

rows = st.lists(
    st.tuples(
        st.sampled_from([*LABELS, "outside"]),
        st.sampled_from(LABELS),
        st.lists(st.sampled_from(["t", "u:v"]), unique=True),
    ),
    min_size=1,
    max_size=30,
)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(rows=rows)
@pytest.mark.slow
def test_it_equals_scikit_learn_for_the_set_and_every_tag(
    name: str, rows: list[tuple[str, str, list[str]]]
) -> None:
    predictions, targets, tags = (list(column) for column in zip(*rows, strict=True))
    result = evalkit.score(name, predictions, targets, tags=tags)
    groups = rows_by_group(rows)
    assert {score.tag for score in result.scores} == set(groups)
    for found in result.scores:
        part = groups[found.tag]
        expected = accuracy_score([t for _, t in part], [p for p, _ in part])
        right = sum(p == t for p, t in part)
        assert found.metric == name
        assert found.value == pytest.approx(expected, abs=1e-15)
        assert (found.n, found.mean) == (len(part), found.value)
        if len(part) > 1:
            interval = share_interval(right, len(part))
            assert found.ci == pytest.approx(interval, abs=1e-12)
            assert found.ci_method == "wilson"


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.none(), st.sampled_from(LABELS)),
            st.lists(st.sampled_from(LABELS), min_size=1, max_size=3),
        ),
        min_size=1,
        max_size=30,
    )
)
@pytest.mark.slow
def test_any_acceptable_answer_is_right(rows: list[tuple[Any, list[str]]]) -> None:
    predictions, targets = (list(column) for column in zip(*rows, strict=True))
    found = evalkit.score("accuracy", predictions, targets)["accuracy"]
    expected = np.mean([prediction in target for prediction, target in rows])
    assert found.value == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("predictions", "targets", "value"),
    [
        (["a", None], ["a", "b"], 0.5),
        ([None, None], ["a", "b"], 0.0),
        ([None, None], [["a"], ["b", "c"]], 0.0),
        (["A", "a ", "a"], ["a", "a", "a"], 1 / 3),
        (["", ""], ["", "a"], 0.5),
        # one text in two Unicode normal forms is two texts
        (["\u00e9"], ["e\u0301"], 0.0),
        ([1, 2, 3], [1, 2, 4], 2 / 3),
        ([1.0, 2.0], [1, 3], 0.5),
        ([True, False], [True, True], 0.5),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_equal_is_right(
    name: str, predictions: list[Any], targets: list[Any], value: float
) -> None:
    found = evalkit.score(name, predictions, targets)[name]
    assert found.value == pytest.approx(value)
    assert found.n == len(targets)
