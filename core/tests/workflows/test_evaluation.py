"""`evalkit.evaluate`."""

import dataclasses
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit import (
    AlignmentError,
    DataError,
    EvalkitError,
    MetricError,
    UnknownPluginError,
)
from evalkit.runs.options import EvaluationOptions

pytestmark = pytest.mark.usefixtures("mini")

RIGHT = [
    {"id": "1", "label": "yes"},
    {"id": "2", "label": "no"},
    {"id": "3", "label": "yes"},
]
TWO = [*RIGHT[:2], {"id": "3", "label": "no"}]


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def stable(result: evalkit.Result) -> dict[str, Any]:
    record = result.to_dict()
    return {key: value for key, value in record.items() if key != "timings"}


def test_the_whole_set_and_every_tag_are_scored() -> None:
    result = evalkit.evaluate("mini", TWO)
    assert result["hits"].value == pytest.approx(2 / 3)
    by_tag = {score.tag: (score.value, score.n) for score in result.scores}
    assert by_tag == {None: (pytest.approx(2 / 3), 3), "a": (1.0, 2), "b": (0.0, 1)}
    assert (result.model, result.status, result.path) == ("model", "complete", None)
    assert result.headline == result["hits"]


def test_what_is_asked_for_is_recorded() -> None:
    result = evalkit.evaluate(
        "mini",
        TWO,
        model="m",
        metrics=["hits:weight=0.5"],
        extra_metrics=["hits"],
        split="other",
        on_missing="skip",
        on_invalid="wrong",
        on_duplicate="last",
        confidence=0.9,
        seed=3,
    )
    record = result.to_dict()
    assert result.metrics == ["hits", "hits:weight=0.5"]  # the headline first
    assert result["hits:weight=0.5"].value == pytest.approx(1 / 3)
    assert (record["split"], record["seed"], record["confidence"]) == ("other", 3, 0.9)
    assert record["policies"] == {
        "on_missing": "skip",
        "on_invalid": "wrong",
        "on_duplicate": "last",
    }
    assert [part["id"] for part in record["components"]] == [
        "datasets/mini",
        "tasks/mini",
        "metrics/hits",
        "metrics/hits",
    ]
    assert record["components"][3]["parameters"] == {"weight": 0.5}
    assert {part["version"] for part in record["components"]} == {"0.3"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"confidence": 0}, "confidence must be between 0 and 1, is 0"),
        ({"confidence": 1}, "confidence must be between 0 and 1, is 1"),
        (
            {"on_missing": "ignore"},
            "on_missing must be one of error, wrong, skip, is 'ignore'",
        ),
        ({"on_invalid": "first"}, "on_invalid must be one of error, wrong, skip"),
        ({"on_duplicate": "skip"}, "on_duplicate must be one of error, first, last"),
        ({"split": "train"}, "datasets/mini has no split 'train'; it has test, other"),
    ],
)
def test_a_setting_that_does_not_exist_is_refused(
    wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(EvalkitError) as caught:
        evalkit.evaluate("mini", TWO, **wrong)
    assert str(caught.value).startswith(message)


def test_an_unknown_task_names_the_data_set_that_needs_it() -> None:
    class Lost(evalkit.Dataset):
        task = "lost"

        def load(self, split: str) -> list[Any]:
            return []

    with pytest.raises(UnknownPluginError) as caught:
        evalkit.evaluate(Lost, [])
    assert "datasets/lost" in str(caught.value)
    assert "is of the task 'lost': there is no task 'lost'" in str(caught.value)


def test_a_file_gives_the_same_scores_as_its_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "best.v2.jsonl", TWO)
    by_file = evalkit.evaluate("mini", path)
    assert by_file.model == "best.v2"
    assert by_file.scores == evalkit.evaluate("mini", str(path)).scores
    assert by_file.scores == evalkit.evaluate("mini", TWO).scores
    assert by_file.to_dict()["predictions"]["name"] == "best.v2.jsonl"
    assert evalkit.evaluate("mini", TWO).to_dict()["predictions"]["name"] is None


def test_plain_lines_need_a_task_that_names_its_answer(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("yes\nno\nno\n", encoding="utf-8")
    assert evalkit.evaluate("mini", path)["hits"].value == pytest.approx(2 / 3)
    with pytest.raises(DataError) as caught:
        evalkit.evaluate("bare", path)
    assert "tasks/bare (mini 0.3) does not. Give JSON lines" in str(caught.value)
    assert evalkit.evaluate("bare", TWO)["hits"].value == pytest.approx(2 / 3)


def test_a_folder_is_no_file_of_predictions(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder, not a file"):
        evalkit.evaluate("mini", tmp_path)


def test_rows_that_are_no_dicts_are_unreadable() -> None:
    rows: Any = [*RIGHT, "yes", None]
    result = evalkit.evaluate("mini", rows)
    assert result.counts["unreadable"] == 2
    assert [problem.violations[0].rule for problem in result.problems] == [
        "must be a dict",
        "must be a dict",
    ]


@pytest.mark.parametrize(
    ("policy", "value", "n", "coverage"),
    [("wrong", 1 / 3, 3, 1.0), ("skip", 1.0, 1, 1 / 3)],
)
def test_policies_count_or_leave_out(
    policy: Any, value: float, n: int, coverage: float
) -> None:
    rows = [RIGHT[0], {"id": "2", "label": 5}]
    result = evalkit.evaluate("mini", rows, on_missing=policy, on_invalid=policy)
    score = result["hits"]
    assert (score.value, score.n, score.coverage) == (
        pytest.approx(value),
        n,
        pytest.approx(coverage),
    )
    counts = result.counts
    assert (counts["scored"], counts["invalid"], counts["missing"]) == (1, 1, 1)
    assert result.notices == (
        ("1 missing example counted as wrong", "1 invalid example counted as wrong")
        if policy == "wrong"
        else (
            "1 missing example left out of the scores",
            "1 invalid example left out of the scores",
        )
    )


def test_the_order_of_rows_changes_the_id_but_no_score(tmp_path: Path) -> None:
    predictions = [
        {"id": str(number), "label": random.Random(number).choice(("yes", "no"))}
        for number in range(1, 4)
    ]
    first = evalkit.evaluate("mini", predictions)
    turned = evalkit.evaluate("mini", predictions[::-1])
    assert first.scores == turned.scores
    assert first.examples is not None
    assert turned.examples is not None
    assert first.examples.equals(turned.examples)
    assert first.run_id != turned.run_id
    assert first.run_id == evalkit.evaluate("mini", predictions).run_id


def other_source(fake: Any) -> None:
    path = fake.folder / f"{fake.module}.py"
    path.write_text(path.read_text("utf-8") + "\n# changed\n", encoding="utf-8")


CHANGES: dict[str, Any] = {
    "seed": 1,
    "confidence": 0.9,
    "model": "other",
    "split": "other",
    "metrics": ["hits:weight=0.5"],
    "extra_metrics": ["hits:weight=0.5"],
    "perf_metric": "hits:weight=0.5",
    "on_missing": "wrong",
    "on_invalid": "skip",
    "on_duplicate": "first",
    "include_examples": False,
    "limit": 2,
    "filters": {"answer": "yes"},
    "by": "text",
    "cluster": "text",
    "keep": "text",
    "min_n": 3,
    "predictions": RIGHT,
    "dataset": "self-scored",
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_went_in_changes_the_id(name: str) -> None:
    base: dict[str, Any] = {"dataset": "mini", "predictions": TWO}
    ids = {
        evalkit.evaluate(**base).run_id,
        evalkit.evaluate(**base).run_id,
        evalkit.evaluate(**{**base, name: CHANGES[name]}).run_id,
    }
    assert len(ids) == 2


def test_every_option_is_known_to_change_the_id_or_not() -> None:
    of_other_packages = {"rows", "columns", "against"}
    options = {field.name for field in dataclasses.fields(EvaluationOptions)}
    assert options - {*CHANGES} == {"jobs", "observers", *of_other_packages}


def test_a_change_of_a_plugins_source_changes_the_id(mini: Any) -> None:
    before = evalkit.evaluate("mini", TWO).run_id
    other_source(mini)
    assert evalkit.evaluate("mini", TWO).run_id != before


def test_refused_predictions_raise_with_the_result(tmp_path: Path) -> None:
    with pytest.raises(AlignmentError) as caught:
        evalkit.evaluate("mini", TWO[:1], out=tmp_path)
    result = caught.value.result
    assert result is not None
    assert (result.status, result.scores, result.headline) == ("refused", (), None)
    assert result.path is not None
    assert result.path.parent == tmp_path / "mini"
    assert result.path.name.endswith(f"-model-{result.run_id}")
    record = json.loads((result.path / "run.json").read_text("utf-8"))
    assert record["status"] == "refused"
    assert "refused: 2 examples without a prediction" in str(caught.value)
    assert str(result.path / "problems.jsonl") in str(caught.value)


def test_a_metric_that_fails_makes_the_result_partial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MINI_FAILS", "no")
    result = evalkit.evaluate("mini", TWO, extra_metrics=[get_share])
    assert result.status == "partial"
    of_hits = {(s.value, s.ci, s.n) for s in result.scores if s.metric == "hits"}
    assert of_hits == {(None, None, 0)}
    assert result["share"].value == pytest.approx(2 / 3)
    [error] = result.to_dict()["errors"]
    assert error == (
        "metrics/hits (mini 0.3): score_example failed for the example '2' with "
        "LookupError: cannot score no"
    )
    # the headline failed, and so it has no baselines
    assert result.to_dict()["baselines"] is None


def test_an_interrupt_of_a_metric_ends_the_evaluation(tmp_path: Path) -> None:
    def get_interrupt(predictions: list[Any], targets: list[Any]) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evalkit.evaluate("mini", TWO, metrics=[get_interrupt], out=tmp_path)
    assert not list(tmp_path.rglob("run.json"))


def get_share(predictions: list[Any], targets: list[Any]) -> float:
    pairs = zip(predictions, targets, strict=True)
    return sum(p == t for p, t in pairs) / len(targets)


def test_a_data_set_may_add_scores_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{**row, "sure": 0.25} for row in TWO]
    result = evalkit.evaluate("self-scored", rows)
    assert result.metrics == ["hits", "self-scored#rows", "self-scored#sure"]
    assert result["self-scored#rows"].value == 3
    assert result["self-scored#sure"].value == 0.75
    monkeypatch.setenv("MINI_FAILS", "1")
    failed = evalkit.evaluate("self-scored", rows)
    assert failed.status == "partial"
    assert failed.to_dict()["errors"] == [
        "datasets/self-scored (mini 0.3): evaluate failed with LookupError: no gold "
        "standard"
    ]


def test_progress_is_told_and_never_goes_back(tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    evalkit.evaluate(
        "mini", TWO, out=tmp_path, progress=lambda *step: told.append(step)
    )
    shares = [share for _, share in told]
    assert told[0] == ("loading mini", 0.0)
    assert told[-1] == ("writing the run", 0.95)
    assert shares == sorted(shares)
    for steps in range(len(told)):
        cancelled = iter([*[False] * steps, True]).__next__
        out = tmp_path / f"cancelled-{steps}"
        with pytest.raises(evalkit.CancelledError, match="was cancelled before: "):
            evalkit.evaluate("mini", TWO, out=out, cancelled=cancelled)
        assert not out.exists()


def get_length(predictions: list[str], targets: list[str]) -> float:
    return float(len(predictions) + len(targets))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"limit": 1}, EvalkitError, "limit and filters cannot be used"),
        ({"metrics": [get_length]}, MetricError, "functions of lists have no tally"),
        ({}, DataError, "of a part were refused: none of their ids"),
    ],
)
def test_what_cannot_be_scored_in_parts_is_refused(
    options: Mapping[str, Any], error: type[Exception], message: str
) -> None:
    row = {"uid": "1", "text": "", "label": "yes"}

    def score_part() -> None:
        plan = evalkit.plan_partitions("mini", evalkit.EvaluationOptions(**options))
        evalkit.partition_tallies(plan, [row], [{"id": "2", "label": "no"}])

    with pytest.raises(error, match=message):
        score_part()


def test_a_run_can_be_saved_later_and_reads_back(tmp_path: Path) -> None:
    result = evalkit.evaluate("mini", [{**row, "sure": 0.5} for row in TWO])
    path = result.save(tmp_path)
    assert path == result.path
    assert path.parent == tmp_path / "mini"
    assert path.name.endswith(f"-model-{result.run_id}")
    written = json.loads((path / "run.json").read_text("utf-8"))
    assert written == json.loads(json.dumps(result.record.to_dict()))
    examples = pl.read_parquet(path / "examples.parquet")
    assert examples.drop("cluster").to_dicts() == [
        {
            "id": uid,
            "input_id": None,
            "perturbation": None,
            "replication": None,
            "answer": answer,
            "pred": pred,
            "sure": 0.5,
            "tags": [tag],
            "status": "scored",
            "hits": hits,
        }
        for uid, answer, pred, tag, hits in (
            ("1", "yes", "yes", "a", 1.0),
            ("2", "no", "no", "a", 1.0),
            ("3", "yes", "no", "b", 0.0),
        )
    ]
    assert pl.read_parquet(path / "scores.parquet").equals(result.frame)


def test_an_observer_named_in_python_is_told(tmp_path: Path) -> None:
    plain = evalkit.evaluate("mini", TWO, out=tmp_path / "plain")
    watched = evalkit.evaluate(
        "mini", TWO, out=tmp_path / "watched", observers=["watcher"]
    )
    assert watched.scores == plain.scores
    assert watched.run_id == plain.run_id
    assert watched.warnings == (
        "observers/watcher (mini 0.3): before_load failed with ValueError: not today",
        "observers/watcher (mini 0.3): after_writing failed with OSError: too late",
    )


def test_predictions_without_an_answer_count_as_unparsed() -> None:
    rows = [*TWO[:2], {"id": "3", "label": None}]
    result = evalkit.evaluate("mini", rows)
    assert (result.counts["scored"], result.counts["unparsed"]) == (3, 1)
    assert result["hits"].value == pytest.approx(2 / 3)
    nothing = evalkit.evaluate("mini", [{**row, "label": None} for row in rows])
    assert nothing.examples is not None
    assert nothing.examples["pred"].dtype == pl.String
    assert nothing["hits"].value == 0.0


def test_a_score_of_0_says_what_may_be_the_cause() -> None:
    data = [{"uid": str(n), "statement": "a", "label": str(n % 2)} for n in range(20)]
    rows = [{"id": row["uid"], "label": f"{row['label']}.0"} for row in data]
    given: dict[str, Any] = {"data": data, "task": "text-classification"}
    result = evalkit.evaluate(predictions=rows, metrics=["accuracy"], **given)
    assert "20 predictions of a label that no example has" in result.warnings[0]


@pytest.mark.parametrize("policy", ["error", "first", "last"])
def test_of_repeated_ids_the_policy_says_which_counts(policy: Any) -> None:
    def run() -> evalkit.Result:
        rows = [*RIGHT, {"id": "3", "label": "no"}]
        return evalkit.evaluate("mini", rows, on_duplicate=policy)

    if policy == "error":
        with pytest.raises(AlignmentError, match="1 prediction with a repeated id"):
            run()
        return
    expected = {"first": 1.0, "last": 2 / 3}[policy]
    result = run()
    assert result["hits"].value == pytest.approx(expected)
    assert result.notices == (
        f"1 row with a repeated id; of each id the {policy} row counts",
    )


def test_stable_parts_of_two_equal_evaluations_are_equal(tmp_path: Path) -> None:
    first, second = (evalkit.evaluate("mini", TWO) for _ in range(2))
    assert stable(first) == stable(second)
