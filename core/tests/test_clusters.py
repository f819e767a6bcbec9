from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evalkit import DataError, Metric, Result, evaluate
from evalkit.cluster_sizes import degrees_of_freedom

CODE = """
import evalkit
from pydantic import BaseModel

class Input(BaseModel):
    uid: str

class Output(BaseModel):
    id: str
    label: str

class Task(evalkit.TaskIO):
    Input = Input
    Output = Output
    example = {"uid": "1"}
    answer_field = "label"
    perf_metric = "hit"

ROWS = []

class Data(evalkit.Dataset):
    task = "clustered"
    cluster = "template"
    def load(self, split):
        rows = enumerate(ROWS)
        return [{"uid": str(i), "label": "a", "tags": [], **row} for i, row in rows]

class Plain(Data):
    cluster = None

class Two(Data):
    cluster = ("template", "person")

class Unknown(Data):
    cluster = ("template", "nowhere")
"""

ENTRY_POINTS = {
    "evalkit.tasks": {"clustered": "Task"},
    "evalkit.datasets": {
        "one": "Data",
        "two": "Two",
        "plain": "Plain",
        "unknown": "Unknown",
    },
}


class Hit(Metric):
    interval = "wilson"

    def score_example(self, prediction: str, target: str) -> float:
        return float(prediction == target)


class Mean(Hit):
    interval = "t"


def get_share(predictions: list[str], targets: list[str]) -> float:
    return predictions.count("a") / len(predictions)


@pytest.fixture
def run(fake_distribution: Any) -> Callable[..., Result]:
    def call(
        metric: Any,
        rows: list[dict[str, Any]],
        right: list[bool],
        dataset: str = "one",
    ) -> Result:
        code = CODE.replace("ROWS = []", f"ROWS = {rows!r}")
        fake_distribution(code, ENTRY_POINTS, name="clustered-plugins")
        labels = ["a" if is_right else "b" for is_right in right]
        predictions = [{"id": str(i), "label": x} for i, x in enumerate(labels)]
        return evaluate(dataset, predictions, metrics=[metric])

    return call


def templates(names: list[Any]) -> list[dict[str, Any]]:
    return [{"template": name} for name in names]


RIGHT = [True, True, False, True, False, False, True, True]


@pytest.mark.parametrize(
    ("names", "clusters"),
    [
        (["x", "x", "y", "y", "z", "z", "w", "w"], 4),
        ([3, 3, 1, 1, 2, 2, 3, 1], 3),
        (["x", "x", None, None, None, "y", "y", "y"], 5),
        ([None] * 8, 8),
        ([None] * 7 + ["x"], 8),
    ],
)
def test_a_row_without_a_cluster_is_one_of_its_own(
    run: Callable[..., Result], names: list[Any], clusters: int
) -> None:
    found = run(Mean, templates(names), RIGHT)["mean"]
    assert (found.n, found.n_clusters, found.ci_method) == (8, clusters, "t-clustered")
    scores = np.array(RIGHT, float)
    units = [name if name is not None else i + 0.5 for i, name in enumerate(names)]
    totals = [
        sum(s - scores.mean() for s, u in zip(scores, units, strict=True) if u == unit)
        for unit in set(units)
    ]
    sizes = [units.count(unit) for unit in set(units)]
    squares = sum(t**2 / (1 - n / 8) for t, n in zip(totals, sizes, strict=True))
    error = squares**0.5 / 8
    assert found.se == pytest.approx(error)
    half = stats.t.isf(0.025, degrees_of_freedom(np.array(sizes, float))) * error
    assert found.ci == pytest.approx((scores.mean() - half, scores.mean() + half))


def test_several_columns_make_a_cluster_together(run: Callable[..., Result]) -> None:
    rows = [
        {"template": "x", "person": 1},
        {"template": "x", "person": 1},
        {"template": "x", "person": 2},
        {"template": "y", "person": 1},
        {"template": "y", "person": None},
        {"template": "y", "person": None},
        {"template": None, "person": None},
        {"template": None, "person": None},
    ]
    found = run(Hit, rows, RIGHT, dataset="two")["hit"]
    # a row counts alone only where no column names anything
    assert (found.n_clusters, found.ci_method) == (6, "wilson-clustered")


@pytest.mark.parametrize(
    ("originals", "clusters"),
    [
        (["9", "9", "9", "8", "8", "7", "7", "7"], 3),
        ([9, 9, 9, 8, 8, 7, 7, 7], 3),
        ([None, "0", "0", None, "3", None, "5", "5"], 3),
        ([None, 0, 0, None, 3, None, 5, 5], 3),
        ([None] * 7 + ["9"], 8),
    ],
)
def test_copies_of_one_original_and_this_are_a_cluster(
    run: Callable[..., Result], originals: list[Any], clusters: int
) -> None:
    rows = [{"input_id": each} for each in originals]
    result = run(Hit, rows, RIGHT, dataset="plain")
    assert result["hit"].n_clusters == clusters
    assert result.to_dict()["cluster"] == ["input_id"]


@pytest.mark.parametrize("originals", [[None] * 8, [["0"]] * 8, [0.5] * 8])
def test_data_that_are_no_copies_have_no_clusters(
    run: Callable[..., Result], originals: list[Any]
) -> None:
    rows = [{"input_id": each} for each in originals]
    result = run(Hit, rows, RIGHT, dataset="plain")
    assert result["hit"].ci_method == "wilson"
    assert result.to_dict()["cluster"] == []


def test_a_data_set_that_names_a_cluster_keeps_it(run: Callable[..., Result]) -> None:
    rows = [{"template": n % 4, "input_id": "9"} for n in range(8)]
    assert run(Hit, rows, RIGHT)["hit"].n_clusters == 4


def test_a_cluster_column_that_is_not_there_is_named(
    run: Callable[..., Result],
) -> None:
    with pytest.raises(DataError, match=r"cluster names the column 'nowhere', which"):
        run(Hit, templates(["x"] * 8), RIGHT, dataset="unknown")


def test_the_bootstrap_says_that_clusters_were_drawn(
    run: Callable[..., Result],
) -> None:
    found = run(get_share, templates(list("xxyyzzww")), RIGHT)["share"]
    assert (found.ci_method, found.n_clusters) == ("bootstrap-clustered", 4)
