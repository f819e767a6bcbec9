"""Dynabench's score of DataPerf, against scikit-learn label by label."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from row_groups import rows_by_group
from sklearn.metrics import f1_score

import evalkit

NAME = "dataperf-f1"
labels = st.lists(st.sampled_from(["cat", "dog", "eel", ""]), max_size=3)
rows = st.lists(
    st.tuples(labels, labels, st.lists(st.sampled_from("xy"), max_size=2)),
    min_size=1,
    max_size=8,
)


class Photo(BaseModel):
    uid: str


class Labels(BaseModel):
    id: str
    labels: list[str]


class Labelling(evalkit.TaskIO):
    Input, Output, example = Photo, Labels, {"uid": "1"}
    answer_field, answer_kind, perf_metric = "labels", "all-of", NAME


def evaluate(drawn: list[Any], **options: Any) -> evalkit.Result:
    data = [
        {"uid": str(n), "labels": gold, "tags": tags}
        for n, (_, gold, tags) in enumerate(drawn)
    ]
    said = [
        {"id": str(n), "labels": given}
        for n, (given, _, _) in enumerate(drawn)
        if given is not None
    ]
    return evalkit.evaluate(
        data=data, predictions=said, task=Labelling, model="m", **options
    )


def by_label(pairs: list[tuple[list[str], list[str]]]) -> dict[str, float]:
    names = sorted({label for _, gold in pairs for label in gold})
    return {
        name: f1_score(
            [int(name in gold) for _, gold in pairs],
            [int(name in said) for said, _ in pairs],
            average="micro",
            labels=[0, 1],
        )
        for name in names
    }


@settings(max_examples=6, deadline=None)
@given(drawn=rows)
@pytest.mark.slow
def test_it_is_micro_f1_of_two_columns_for_each_label(drawn: list[Any]) -> None:
    result = evaluate(drawn)
    groups = rows_by_group(drawn)
    for found in result.scores:
        if found.aggregate is not None:
            continue
        shares = by_label(groups[found.tag])
        part = found.metric.partition("#")[2]
        if part:
            name = "" if part == '""' else part
            assert found.value == pytest.approx(shares[name], abs=1e-12)
        elif shares:
            mean = sum(shares.values()) / len(shares)
            assert found.value == pytest.approx(mean, abs=1e-12)
        else:
            assert (found.value, found.reason) == (None, "no answer has a label")


def test_a_rare_label_that_is_never_predicted_hardly_matters() -> None:
    drawn = [([], ["cat"], []), *[([], [], [])] * 9]
    assert evaluate(drawn)[NAME].value == pytest.approx(0.9)


def test_a_missing_prediction_is_the_empty_set() -> None:
    drawn = [(None, ["cat"], []), (["cat"], ["cat"], [])]
    found = evaluate(drawn, on_missing="wrong")[NAME]
    assert (found.value, found.n) == (0.5, 2)


def test_it_has_a_bootstrap_interval() -> None:
    drawn = [
        (["cat"] if n % 3 else [], ["cat"] if n % 2 else [], []) for n in range(40)
    ]
    found = evaluate(drawn)[NAME]
    assert found.ci_method == "bootstrap"
    assert found.ci is not None
    assert found.value is not None
    assert found.ci[0] < found.value < found.ci[1]
