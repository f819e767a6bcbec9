from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from engine_runs import EVERY_KIND, install, predictions, scores_of, write_predictions

import evalkit
from evalkit import EvalkitError, PluginError, Result, StorageError
from evalkit.examples.fingerprints import DataIdentity
from evalkit.runs.score_columns import Score

Run = Callable[..., Result]


@pytest.fixture
def run(fake_distribution: Callable[..., Any], tmp_path: Path) -> Run:
    """Evaluate a file of predictions, write the run, and delete the file."""
    install(fake_distribution)

    def evaluate(
        *metrics: str, dataset: str = "posts", rows: Any = None, **options: Any
    ) -> Result:
        given = predictions() if rows is None else rows
        path = write_predictions(tmp_path / "given.jsonl", given)
        result = evalkit.evaluate(
            dataset, path, metrics=list(metrics), out=tmp_path / "runs", **options
        )
        path.unlink()
        assert result.path is not None
        return evalkit.read_run(result.path)

    return evaluate


def others(metric: str) -> str:
    return "closeness" if metric == "accuracy" else "accuracy"


def assert_same_scores(found: Result, expected: Result) -> None:
    """The same scores, to some rounding."""

    def by_key(result: Result) -> dict[Any, Score]:
        return {(s.metric, s.tag, s.aggregate): s for s in result.scores}

    mine, others = by_key(found), by_key(expected)
    assert mine.keys() == others.keys()
    for key, score in others.items():
        for one, other in zip(mine[key], score, strict=True):
            if isinstance(other, float):
                assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
            else:
                assert one == other


@pytest.mark.parametrize("dataset", ["posts", "clustered"])
@pytest.mark.parametrize("metric", EVERY_KIND)
@pytest.mark.slow
def test_rescoring_gives_what_evaluating_gives(
    run: Run, metric: str, dataset: str
) -> None:
    first = others(metric)
    options: dict[str, Any] = {
        "dataset": dataset,
        "by": ["functionality,target"],
        "seed": 3,
    }
    parent = run(first, **options)
    rescored = evalkit.rescore(parent, [metric])
    direct = run(first, metric, **options)
    assert scores_of(rescored, metric) == scores_of(direct, metric)
    # the headline is the first, whatever was asked for
    assert_same_scores(rescored, direct)
    assert rescored.examples is not None
    assert direct.examples is not None
    assert rescored.examples.select(direct.examples.columns).equals(direct.examples)
    assert rescored.statistics.keys() == direct.statistics.keys()
    for name, statistics in direct.statistics.items():
        assert rescored.statistics[name].equals(statistics)


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (predictions(3), {}),
        (predictions()[:90], {"on_missing": "skip"}),
        (predictions()[:90], {"on_missing": "wrong"}),
        (
            [
                {**row, "label": 5} if row["id"] < "e020" else row
                for row in predictions()
            ],
            {"on_invalid": "skip"},
        ),
        (predictions(), {"filters": {"part": ["1", "2"]}}),
        (predictions(), {"min_n": 30, "confidence": 0.8}),
        (predictions(2), {"by": ["part"]}),
    ],
)
@pytest.mark.slow
def test_policies_and_settings_are_the_runs(
    run: Run, rows: Any, options: dict[str, Any]
) -> None:
    metrics = ["closeness", "macro-f1", "agreement", "resampled"]
    parent = run("accuracy", rows=rows, **options)
    rescored = evalkit.rescore(parent, metrics)
    direct = run("accuracy", *metrics, rows=rows, **options)
    for one, other in zip(rescored.scores, direct.scores, strict=True):
        assert one == other
    assert rescored.status == direct.status
    assert rescored.problems == direct.problems


def test_a_new_run_names_its_parent_and_holds_its_scores(
    run: Run, tmp_path: Path
) -> None:
    parent = run("accuracy")
    rescored = evalkit.rescore(
        parent.run_id[:6], "closeness", folder=tmp_path / "runs", out=tmp_path / "runs"
    )
    assert rescored.path is not None
    assert rescored.path != parent.path
    read = evalkit.read_run(rescored.path)
    record = read.to_dict()
    assert record["parent"] == parent.fingerprint
    assert record["fingerprint"] == read.fingerprint != parent.fingerprint
    assert rescored.path.name.endswith(f"-{read.run_id}")
    assert record["merged"] == []
    assert record["headline"] == "accuracy"
    assert record["timings"] == rescored.to_dict()["timings"]
    names = [component["id"] for component in record["components"]]
    assert names == [
        "datasets/posts",
        "tasks/posts",
        "metrics/accuracy",
        "metrics/closeness",
    ]
    assert set(scores_of(parent)) <= set(read.scores)
    assert read.metrics == ["accuracy", "closeness"]
    assert set(read.statistics) == {"accuracy", "closeness"}
    before = parent.to_dict()
    for key in (
        "data",
        "predictions",
        "policies",
        "counts",
        "model",
        "dataset",
        "seed",
    ):
        assert record[key] == before[key]
    # the same again is the same evaluation, in a folder of its own
    again = evalkit.rescore(parent, ["closeness"], out=tmp_path / "runs")
    assert again.fingerprint == rescored.fingerprint
    assert again.path != rescored.path
    assert evalkit.rescore(parent, ["macro-f1"]).run_id != rescored.run_id
    # and it may be rescored in its turn
    third = evalkit.rescore(read, ["macro-f1"], out=tmp_path / "runs")
    assert third.to_dict()["parent"] == rescored.fingerprint
    assert third.metrics == ["accuracy", "closeness", "macro-f1"]
    assert evalkit.verify(third).agrees


NEW = """
import evalkit

class Unknown(evalkit.Metric):
    "Share of predictions that are of another label than the answer, by length."
    higher_is_better = False
    bounds = (0.0, 1.0)
    interval = "wilson"

    def score_example(self, prediction, target):
        return float(len(prediction) != len(target))
"""


def test_a_package_installed_later_adds_its_metric(
    run: Run, fake_distribution: Callable[..., Any]
) -> None:
    parent = run("accuracy")
    with pytest.raises(PluginError, match="length-error"):
        evalkit.rescore(parent, ["length-error"])
    made = fake_distribution(
        NEW, {"evalkit.metrics": {"length-error": "Unknown"}}, version="4.5"
    )
    rescored = evalkit.rescore(parent, ["length-error"])
    lengths = {"hateful": 7, "neutral": 7, "other": 5}
    assert parent.examples is not None
    wrong = [
        lengths[answer] != lengths[pred]
        for answer, pred in parent.examples.select("answer", "pred").rows()
    ]
    found = rescored["length-error"]
    assert found.value == sum(wrong) / 120
    assert (found.n, found.ci_method) == (120, "wilson")
    assert rescored.examples is not None
    assert rescored.examples["length-error"].to_list() == [float(w) for w in wrong]
    component = rescored.to_dict()["components"][-1]
    assert (component["distribution"], component["version"]) == (made.name, "4.5")
    assert component["source_sha256"]


# inputs --------------------------------------------------------------------------


def test_a_metric_that_needs_an_input_column_reads_the_data_again(run: Run) -> None:
    parent = run("accuracy", rows=predictions(2))
    assert parent.examples is not None
    assert "text" not in parent.examples.columns
    rescored = evalkit.rescore(parent, ["words"])
    direct = run("accuracy", "words", rows=predictions(2))
    assert rescored.scores == direct.scores
    assert rescored["words"].value == pytest.approx(
        sum(1 + i * 7 % 11 for i in range(120)) / 120
    )


def test_it_refuses_where_the_data_have_changed(
    run: Run, fake_distribution: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = run("accuracy")
    monkeypatch.setattr(
        "evalkit.examples.table.fingerprint", lambda *_: DataIdentity("f" * 64, (), ())
    )
    with pytest.raises(EvalkitError) as caught:
        evalkit.rescore(parent, ["words"])
    assert str(caught.value) == (
        f"the data of posts has changed since the run {parent.run_id} was made, which "
        "does not hold its field 'text'"
    )
    assert evalkit.rescore(parent, ["closeness"])["closeness"].value is not None


def test_it_refuses_where_the_data_cannot_be_read(run: Run, tmp_path: Path) -> None:
    rows = [
        {"uid": str(i), "text": "x", "part": "0", "number": i, "label": "other"}
        for i in range(3)
    ]
    path = write_predictions(tmp_path / "own-set.jsonl", rows)
    given = [{"id": str(i), "label": "other"} for i in range(3)]
    result = evalkit.evaluate(str(path), given, task="posts", metrics=["accuracy"])
    with pytest.raises(EvalkitError) as caught:
        evalkit.rescore(result, ["words"])
    assert str(caught.value) == (
        f"the run {result.run_id} does not hold the field 'text': own-set was given "
        "as a file, and only installed data sets can be loaded again; what it needs is "
        f"the file own-set.jsonl (SHA-256 {sha256(path.read_bytes()).hexdigest()}): "
        "name it with `evalkit rescore --data`"
    )
    assert evalkit.rescore(result, ["closeness"])["closeness"].value is None
    found = evalkit.rescore(result, ["words"], data=path)
    whole = evalkit.evaluate(str(path), given, task="posts", metrics=["words"])
    assert found["words"].value == whole["words"].value is not None
    path.write_text(path.read_text() + "\n")
    with pytest.raises(EvalkitError, match="the data of own-set has changed"):
        evalkit.rescore(result, ["words"], data=path)


# refusals ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metrics", "text"),
    [
        ([], "no metric was named (-m NAME)"),
        (["closeness", "closeness"], "a metric was named twice"),
        (
            ["macro-f1", "accuracy"],
            "holds accuracy already; `evalkit verify` computes it again",
        ),
        (["f1"], "holds f1 already"),
    ],
)
def test_what_cannot_be_rescored_is_refused(
    run: Run, metrics: list[str], text: str
) -> None:
    parent = run("accuracy", "f1")
    with pytest.raises(EvalkitError) as caught:
        evalkit.rescore(parent, metrics)
    assert text in str(caught.value)


def test_runs_without_answers_cannot_be_rescored(run: Run, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="made with --no-examples"):
        evalkit.rescore(run("accuracy", include_examples=False), ["closeness"])
    with pytest.raises(evalkit.AlignmentError) as caught:
        run("accuracy", rows=[])
    refused = caught.value.result
    with pytest.raises(StorageError, match="was refused, so that there is nothing"):
        evalkit.rescore(refused, ["closeness"])
    with pytest.raises(StorageError, match="there is no run"):
        evalkit.rescore("nowhere", ["closeness"], folder=tmp_path)


def test_a_metric_that_fails_leaves_the_others_and_the_parents(run: Run) -> None:
    parent = run("accuracy")
    rescored = evalkit.rescore(parent, ["raises", "closeness"])
    assert rescored.status == "partial"
    [error] = rescored.errors
    assert "no such word" in error
    assert rescored["accuracy"] == parent["accuracy"]
    assert rescored["closeness"].value is not None
    again = evalkit.rescore(rescored, ["macro-f1"])
    assert (again.status, list(again.errors)) == ("partial", [error])
