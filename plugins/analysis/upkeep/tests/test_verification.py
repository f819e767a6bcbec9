import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from edited_runs import forge, read_everything, write_record
from engine_runs import CODE, ENTRY_POINTS, EVERY_KIND, install, predictions

import evalkit
from evalkit import Result, StorageError
from evalkit.examples.fingerprints import DataIdentity
from evalkit.runs.score_columns import COMPUTED
from evalkit_analysis_upkeep import Verification, verify

METRICS = [*EVERY_KIND, "words"]


@pytest.fixture
def run(fake_distribution: Callable[..., Any], tmp_path: Path) -> Callable[..., Path]:
    """Evaluate, and give the path of the run folder."""
    install(fake_distribution)

    def evaluate(*metrics: str, dataset: str = "posts", **options: Any) -> Path:
        result = evalkit.evaluate(
            dataset,
            options.pop("rows", None) or predictions(),
            metrics=list(metrics) or METRICS,
            out=tmp_path / "runs",
            **options,
        )
        assert result.path is not None
        return result.path

    return evaluate


def change(path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Edit record and scores of a run, and what follows from them."""
    record = read_everything(path)
    edit(record)
    write_record(path, record)
    forge(path)


@pytest.mark.parametrize(
    "options",
    [
        {"by": ["functionality,target"]},
        {"dataset": "clustered"},
        {"rows": predictions(2), "min_n": 20, "confidence": 0.9},
        {"rows": predictions()[:100], "on_missing": "skip"},
        {"filters": {"part": "3"}},
    ],
)
@pytest.mark.slow
def test_a_fresh_run_agrees(run: Callable[..., Path], options: dict[str, Any]) -> None:
    path = run(**options)
    found = verify(path)
    assert isinstance(found, Verification)
    assert found.agrees
    assert found.differences == ()
    assert found.changes == ()
    assert found.unverified == {}
    assert found.data == "same"
    stored = evalkit.read_run(path)
    assert found.scores == len(stored.scores)
    assert found.run_id == stored.run_id


@pytest.mark.parametrize(
    "field",
    [
        each
        for each in COMPUTED
        if each not in ("ci_low_adjusted", "ci_high_adjusted", "family_size")
    ],
)
@pytest.mark.slow
def test_a_number_that_was_tampered_with_is_named(
    run: Callable[..., Path], field: str
) -> None:
    path = run(
        "accuracy", dataset="clustered", rows=predictions(2)[:200], on_missing="skip"
    )
    picked: list[dict[str, Any]] = []

    def edit(record: dict[str, Any]) -> None:
        score = next(s for s in record["scores"] if s[field] is not None)
        picked.append(dict(score))
        score[field] += 1 if isinstance(score[field], int) else 1e-6

    change(path, edit)
    found = verify(path)
    assert not found.agrees
    [difference] = found.differences
    [score] = picked
    assert difference.metric == "accuracy"
    assert difference.aggregate == score["aggregate"]
    assert (difference.field, difference.computed) == (
        field,
        pytest.approx(score[field]),
    )
    assert difference.stored == pytest.approx(score[field], abs=1.1)
    assert difference.stored != difference.computed


def test_a_number_that_was_taken_away_or_added_is_named(
    run: Callable[..., Path],
) -> None:
    path = run("accuracy", "closeness")

    def edit(record: dict[str, Any]) -> None:
        for score in record["scores"]:
            if (score["metric"], score["tag"]) == ("accuracy", "long"):
                score["ci_low"] = None
            if (score["metric"], score["tag"]) == ("closeness", "long"):
                score["tag"] = "made up"

    change(path, edit)
    found = verify(path)
    listed = {
        (d.metric, d.tag, d.field): (d.stored, d.computed) for d in found.differences
    }
    result = evalkit.read_run(path)
    [tampered] = [s for s in result.scores if (s.metric, s.tag) == ("accuracy", "long")]
    assert listed["accuracy", "long", "ci_low"][0] is None
    assert listed["closeness", "made up", "value"][1] is None
    assert listed["closeness", "long", "value"][0] is None
    assert tampered.ci_high is not None
    assert not found.agrees


def test_a_score_without_a_value_need_not_be_stored(run: Callable[..., Path]) -> None:
    rows = [row for row in predictions() if int(row["id"][1:]) * 13 % 10]
    path = run("accuracy", rows=rows, on_missing="skip", by=["part"])

    def edit(record: dict[str, Any]) -> None:
        before = len(record["scores"])
        record["scores"] = [s for s in record["scores"] if s["value"] is not None]
        assert len(record["scores"]) < before

    change(path, edit)
    assert verify(path).agrees


# what else has changed -----------------------------------------------------------


def test_another_version_or_source_is_named(
    run: Callable[..., Path],
    fake_distribution: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = run("closeness", "accuracy")

    def edit(record: dict[str, Any]) -> None:
        for component in record["components"]:
            if component["id"] == "metrics/closeness":
                component["version"] = "0.9"
            if component["id"] == "metrics/accuracy":
                component["source_sha256"] = "0" * 64
        record["core"]["source_sha256"] = "1" * 64
        record["environment"]["numpy"] = "1.0"
        del record["environment"]["polars"]

    change(path, edit)
    found = verify(path)
    assert found.agrees
    listed = {change.what: (change.then, change.now) for change in found.changes}
    assert set(listed) == {
        *(
            "closeness version",
            "accuracy source",
            "evalkit-core source",
            "numpy",
            "polars",
        )
    }
    assert listed["closeness version"] == ("0.9", "1.0")
    assert listed["accuracy source"][0] == "0" * 64
    assert listed["numpy"][0] == "1.0"
    assert listed["polars"][0] is None


def reinstall(path: Path, fake: Any, code: str) -> None:
    """Give the plugins' module other code, and load it again."""
    import importlib.util

    source = fake.folder / f"{fake.module}.py"
    source.write_text(code, "utf-8")
    # what was compiled in the same second would pass for the new code's
    Path(importlib.util.cache_from_source(str(source))).unlink(missing_ok=True)
    sys.modules.pop(fake.module, None)
    importlib.invalidate_caches()


def test_a_new_parameter_of_a_metric_changes_nothing_but_its_source(
    fake_distribution: Callable[..., Any], tmp_path: Path
) -> None:
    fake = fake_distribution(CODE, ENTRY_POINTS, name="posts")
    names = ["scaled:weight=0.5", "scaled", "scaled:name=a#b"]
    result = evalkit.evaluate(
        "posts", predictions(), metrics=names, out=tmp_path / "runs"
    )
    assert result.path is not None
    assert verify(result.path).agrees
    added = CODE.replace(
        "weight: float = 1.0\n", "weight: float = 1.0\n        power: int = 2\n"
    )
    reinstall(result.path, fake, added)
    found = verify(result.path)
    assert found.agrees
    assert {change.what for change in found.changes} == {
        f"{name} source"
        for name in (
            *("scaled", "scaled:weight=0.5", "scaled:name=a#b"),
            *("datasets/posts", "tasks/posts"),
        )
    }
    # a default that is another one now gives the score another name
    changed = CODE.replace("weight: float = 1.0\n", "weight: float = 0.5\n")
    reinstall(result.path, fake, changed)
    renamed = verify(result.path)
    assert not renamed.agrees


def test_a_metric_that_is_not_installed_is_named(run: Callable[..., Path]) -> None:
    path = run("accuracy", "closeness", "scaled:weight=0.5")

    def edit(record: dict[str, Any]) -> None:
        for component in record["components"]:
            if component["id"] in ("metrics/closeness", "metrics/scaled"):
                component["distribution"] = "elsewhere"

    change(path, edit)
    found = verify(path)
    assert set(found.unverified) == {"closeness", "scaled:weight=0.5"}
    assert "elsewhere" in found.unverified["closeness"]
    assert found.agrees
    assert 0 < found.scores < len(evalkit.read_run(path).scores)


def test_nothing_that_can_be_computed_is_no_agreement(run: Callable[..., Path]) -> None:
    def get_own(predictions: list[Any], targets: list[Any]) -> float:
        return 0.5

    result = evalkit.evaluate("posts", predictions(), metrics=[get_own])
    found = verify(result)
    assert (found.scores, found.agrees) == (0, False)
    assert "was given as an object" in found.unverified["own"]


def test_scores_that_a_data_set_gave_itself_are_named(run: Callable[..., Path]) -> None:
    found = verify(run("accuracy", dataset="own"))
    assert found.agrees
    assert found.unverified == {"own#rows": "no metric of the run computed it"}


def test_data_that_have_changed_are_named(
    run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run("accuracy", "words")
    monkeypatch.setattr(
        "evalkit.examples.table.fingerprint", lambda *_: DataIdentity("f" * 64, (), ())
    )
    found = verify(path)
    assert found.data == "changed"
    assert "has changed since" in found.unverified["words"]
    assert found.agrees
    assert not found.differences


def test_data_that_cannot_be_read_are_named(
    run: Callable[..., Path], tmp_path: Path
) -> None:
    rows = [
        {"uid": str(i), "text": "x", "part": "0", "number": 1, "label": "other"}
        for i in range(4)
    ]
    path = tmp_path / "given-set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    given = [{"id": str(i), "label": "other"} for i in range(4)]
    result = evalkit.evaluate(str(path), given, task="posts", metrics=["accuracy"])
    found = verify(result)
    sha256 = result.record.data.files[0].sha256
    assert found.data == (
        "not read: given-set was given as a file, and only installed data sets can be "
        f"loaded again; what it needs is the file given-set.jsonl (SHA-256 {sha256}): "
        "name it with `evalkit rescore --data`"
    )
    assert found.agrees


def test_predictions_are_compared_where_they_are_given(
    run: Callable[..., Path],
) -> None:
    path = run("accuracy")
    found = verify(path)
    assert found.predictions == "not compared: no file of them was given"
    assert verify(path, predictions=predictions()).predictions == "same"
    other = verify(path, predictions=predictions()[:-1])
    assert (other.predictions, other.agrees) == ("changed", False)
    assert other.differences == ()


def test_a_verification_can_be_written(run: Callable[..., Path]) -> None:
    path = run("accuracy", "closeness")

    def edit(record: dict[str, Any]) -> None:
        record["scores"][0]["value"] = 0.123
        record["environment"]["numpy"] = "1.0"
        record["components"][3]["distribution"] = "elsewhere"

    change(path, edit)
    found = verify(path)
    written = json.loads(json.dumps(found.to_dict()))
    assert written["run_id"] == evalkit.read_run(path).run_id
    assert written["agrees"] is False
    assert written["data"] == "same"
    assert written["scores"] == found.scores
    [difference] = written["differences"]
    assert difference == found.differences[0]._asdict()
    assert written["changes"][0]["what"] == "numpy"
    assert set(written["unverified"]) == {"closeness"}


def test_runs_without_answers_cannot_be_verified(run: Callable[..., Path]) -> None:
    with pytest.raises(StorageError, match="made with --no-examples"):
        verify(run("accuracy", include_examples=False))
    with pytest.raises(evalkit.AlignmentError) as caught:
        run("accuracy", rows=predictions()[:5])
    assert isinstance(caught.value.result, Result)
    with pytest.raises(StorageError, match="was refused"):
        verify(caught.value.result)


def test_a_metric_that_fails_now_differs(
    fake_distribution: Callable[..., Any], tmp_path: Path
) -> None:
    fake = fake_distribution(CODE, ENTRY_POINTS, name="posts")
    result = evalkit.evaluate(
        "posts", predictions(), metrics=["accuracy", "closeness"], out=tmp_path / "runs"
    )
    assert result.path is not None
    broken = CODE.replace('if prediction == "other" and', "if prediction.oops and")
    reinstall(result.path, fake, broken)
    found = verify(result.path)
    assert {difference.metric for difference in found.differences} == {"closeness"}
    assert all(difference.computed in (None, 0) for difference in found.differences)
