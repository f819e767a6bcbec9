from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evalkit import (
    DataError,
    Dataset,
    EvalkitError,
    Metric,
    PluginContractError,
    Result,
    evaluate,
    rescore,
    validate,
    verify,
)
from evalkit.statistics.clusters import degrees_of_freedom
from evalkit_analysis_compare import compare
from evalkit_analysis_robustness import evaluate_perturbed, find_effects

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
        **options: Any,
    ) -> Result:
        code = CODE.replace("ROWS = []", f"nan = float('nan')\nROWS = {rows!r}")
        fake_distribution(code, ENTRY_POINTS, name="clustered-plugins")
        labels = ["a" if is_right else "b" for is_right in right]
        predictions = [{"id": str(i), "label": x} for i, x in enumerate(labels)]
        score = evaluate_perturbed if "perturbed" in options else evaluate
        return score(dataset, predictions, metrics=[metric], keep="none", **options)

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


def test_a_cluster_column_that_is_not_there_is_named(
    run: Callable[..., Result],
) -> None:
    with pytest.raises(DataError, match=r"cluster names the column 'nowhere', which"):
        run(Hit, templates(["x"] * 8), RIGHT, dataset="unknown")


PEOPLE = [
    {"template": name, "person": person}
    for name, person in zip("xxxyyyzz", [1, 1, 2, 2, 3, 3, None, None], strict=True)
]


def told(result: Result) -> list[str]:
    """Give the notices but for that on labels which no example has."""
    return [text for text in result.notices if "of a label that" not in text]


@pytest.mark.parametrize(
    ("cluster", "declaring"),
    [("template", "one"), (["template"], "one"), (("template", "person"), "two")],
)
@pytest.mark.parametrize("metric", [Hit, Mean, get_share])
def test_clusters_that_are_chosen_are_as_those_that_are_declared(
    run: Callable[..., Result], metric: Any, cluster: Any, declaring: str
) -> None:
    chosen = run(metric, PEOPLE, RIGHT, dataset="plain", cluster=cluster)
    declared = run(metric, PEOPLE, RIGHT, dataset=declaring)
    plain = run(metric, PEOPLE, RIGHT, dataset="plain")
    assert chosen.scores == declared.scores != plain.scores
    assert chosen.to_dict()["cluster"] == declared.to_dict()["cluster"]
    assert chosen.run_id not in (declared.run_id, plain.run_id)
    without = "2 examples without a value of template or person: each is a cluster of "
    assert told(chosen) == [f"{without}its own"] * (declaring == "two")


@pytest.mark.parametrize(
    ("values", "clusters", "notices"),
    [
        (["a", "a", *[None] * 6], 7, ["6 examples without a value of person: each"]),
        ([None] * 8, 8, ["8 examples without a value of person: each"]),
        (["a", "b", *"cdefg", None], 8, ["1 example without"]),
        (list("aabbccdd"), 4, []),
    ],
)
def test_clusters_that_tell_little_are_noticed(
    run: Callable[..., Result], values: list[Any], clusters: int, notices: list[str]
) -> None:
    rows = [{"person": value} for value in values]
    result = run(Hit, rows, RIGHT, dataset="plain", cluster="person")
    assert result["hit"].n_clusters == clusters
    starts = [
        text[: len(start)] for text, start in zip(told(result), notices, strict=True)
    ]
    assert starts == notices
    checked = validate("plain", cluster="person")
    assert list(checked.notices) == told(result)


@pytest.mark.parametrize("missing", [None, float("nan")])
@pytest.mark.parametrize(
    ("columns", "clusters", "said"),
    [
        (["person"], 5, ["4 examples without a value of person: each"]),
        (["person", "same"], 5, ["4 examples without a value of person or same: each"]),
        (["same", "empty"], 8, ["8 examples without a value of same or empty"]),
        (["empty"], 8, ["8 examples without a value of empty: each"]),
    ],
)
def test_a_row_without_one_of_the_values_is_a_cluster_of_its_own(
    run: Callable[..., Result],
    missing: float | None,
    columns: list[str],
    clusters: int,
    said: list[str],
) -> None:
    people = [1.0, 1.0, 1.0, 1.0, *[missing] * 4]
    rows = [{"person": each, "same": "x", "empty": missing} for each in people]
    result = run(Hit, rows, RIGHT, dataset="plain", cluster=columns)
    assert result["hit"].n_clusters == clusters
    turned = run(Hit, rows, RIGHT, dataset="plain", cluster=columns[::-1])
    assert turned.record.cluster == result.record.cluster
    assert turned.scores == result.scores
    for text, start in zip(told(result), said, strict=True):
        assert text.startswith(start)


@pytest.mark.parametrize("cluster", [3, [""], [None], {"template"}, ["person"] * 2])
def test_what_names_no_column_is_refused(
    run: Callable[..., Result], cluster: Any
) -> None:
    with pytest.raises(EvalkitError, match=r"^cluster (must name|names) a column"):
        run(Hit, PEOPLE, RIGHT, cluster=cluster)


def test_chosen_clusters_stay_with_the_run(run: Callable[..., Result]) -> None:
    by_person = run(Hit, PEOPLE, RIGHT, cluster="person")
    rescored = rescore(by_person, [Mean])
    assert rescored["mean"].n_clusters == 5
    assert rescored.to_dict()["cluster"] == ["person"]
    assert verify(run("accuracy", PEOPLE, RIGHT, cluster="person")).agrees
    others = run(Hit, PEOPLE, RIGHT[::-1], cluster="person")
    assert compare(by_person, others).rows[0].n_clusters == 5


@pytest.mark.parametrize("cluster", [(), "person"])
@pytest.mark.slow
def test_numbers_of_scores_are_those_of_python(
    run: Callable[..., Result], cluster: Any
) -> None:
    rows = [{**row, "tags": [f"t:{n % 2}"]} for n, row in enumerate(PEOPLE * 4)]
    copies = [
        {**row, "uid": f"{n}_X", "label": "a", "input_id": str(n), "perturbation": "x"}
        for n, row in enumerate(rows)
    ]
    answers = [
        {"id": copy["uid"], "label": "ab"[n % 3 == 1]} for n, copy in enumerate(copies)
    ]
    metrics = {
        "dataset": "plain",
        "cluster": cluster,
        "perturbed": [copies],
        "perturbed_predictions": [answers],
    }
    results = [
        run(metric, rows, RIGHT * 4, **metrics)
        for metric in (Hit, Mean, get_share, "accuracy", "macro-f1")
    ]
    parts = [part for each in results for part in (each, find_effects(each))]
    found = [score for part in parts for score in part.scores]
    assert {score.ci_method.endswith("-clustered") for score in found} == {
        bool(cluster),
        False,
    }
    copied = [part for each in results for part in each.perturbed]
    # copies of one example are not independent
    of_copies = [score for part in copied for score in part.scores]
    assert any(score.ci_method.endswith("-clustered") for score in of_copies)
    compared = compare(results[3], run("accuracy", rows, RIGHT[::-1] * 4, **metrics))
    for record in [*found, *of_copies, *compared.rows]:
        for name, value in record._asdict().items():
            # numpy's float64 is a float too, but prints and writes in its own way
            assert type(value) in (bool, float, int, str, type(None)), (name, value)
            assert value is None or value == value, f"{name} is NaN"
        assert (record.ci_low is None) == (record.ci_high is None)


def test_a_column_that_a_data_set_names_twice_breaks_its_contract() -> None:
    class Twice(Dataset):
        task = "sentiment"
        license = "CC0-1.0"
        cluster = ("grp", "grp")

        def load(self, split: str) -> list[dict[str, Any]]:
            return []

    with pytest.raises(PluginContractError) as caught:
        evaluate(Twice, [])
    assert "datasets/" in str(caught.value)
    assert "its cluster names the column 'grp' twice" in str(caught.value)
