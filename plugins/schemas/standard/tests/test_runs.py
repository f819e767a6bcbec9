"""The schemas of a run's files agree with what is written."""

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalkit_adapters_rows import checked_rows
from evalkit_analysis_robustness import evaluate_perturbed
from evalkit_commands_perturb import perturb_dataset
from evalkit_schemas_standard import named_schema

CODE = """
import evalkit

class Length(evalkit.Annotator):
    version = "1"

    def annotate_example(self, prediction):
        if prediction == "neutral":
            return evalkit.NotScored("too neutral")
        return len(prediction)


class Short(evalkit.Metric):
    columns = ("length",)
    bounds = (0, 1)
    worst_value = 0.0

    def score_example(self, prediction, target, fields):
        if prediction == "contradictory":
            return evalkit.NotScored("too long")
        return float((fields["length"] or 0) < 9)
"""


FILES = {
    "scores.parquet": "run.Score",
    "examples.parquet": "run.Example",
    "families.parquet": "run.Score",
    "columns/length.parquet": "run.Annotation",
    "statistics/accuracy.parquet": "run.Statistic",
    "statistics/short.parquet": "run.Statistic",
    "problems.jsonl": "run.Problem",
}
STATUSES = {"unreadable", "unknown", "duplicate", "invalid", "missing", "not scored"}
BROKEN = {
    "n": -1,
    "metric": "No Name",
    "computed_on": "something",
    "coverage": 1.5,
    "aggregate": "mean",
}


@pytest.fixture
def run(tmp_path: Path, fake_distribution: Callable[..., Any]) -> Path:
    """Return a run with every kind of file and of problem."""
    groups = {"annotators": {"length": "Length"}, "metrics": {"short": "Short"}}
    points = {f"evalkit.{kind}": names for kind, names in groups.items()}
    fake_distribution(CODE, points)
    copies = tmp_path / "copies.jsonl"
    perturb_dataset("sample-nli", copies, perturbations=["helm-lowercase"])
    of_copies = [
        {"id": json.loads(line)["uid"], "label": "entailed"}
        for line in copies.read_text(encoding="utf-8").splitlines()
    ]
    folder = files("evalkit_datasets_samples") / "predictions" / "sample-nli"
    text = (folder / "rules.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    rows[0] = {"label": "entailed"}
    rows[1]["label"] = "strange"
    rows[2] = rows[3]
    rows.append({**rows[4], "id": "nobody"})
    result = evaluate_perturbed(
        "sample-nli",
        rows,
        metrics=["accuracy", "short"],
        perturbed=[copies],
        perturbed_predictions=[of_copies],
        on_missing="wrong",
        on_invalid="wrong",
        on_duplicate="first",
        cluster="context",
        out=tmp_path / "runs",
    )
    assert not result.record.errors
    assert result.path is not None
    return Path(result.path)


def aliases(name: str) -> list[str]:
    fields = named_schema(name).model_fields.items()
    return [field.alias or attribute for attribute, field in fields]


def check_files(run: Path) -> None:
    written = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    # responses have the columns that their file had
    assert written == {*FILES, "run.json", "responses.parquet"}
    for file, name in FILES.items():
        found = list(checked_rows(run / file, named_schema(name)))
        assert found
        assert [each for each in found if each[1]] == []
        if file.endswith(".parquet"):
            columns = pl.read_parquet(run / file).columns
            expected = [each for each in columns if each in aliases(name)]
            assert expected == aliases(name)
            is_whole = name in ("run.Score", "run.Annotation")
            assert not is_whole or columns == expected
    lines = (run / "problems.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["status"] for line in lines} == STATUSES


def check_refusals(run: Path, folder: Path) -> None:
    scores = pl.read_parquet(run / "scores.parquet")
    for name, value in BROKEN.items():
        path = folder / f"{name}.parquet"
        scores.head(1).with_columns(pl.lit(value).alias(name)).write_parquet(path)
        ((_, violations),) = checked_rows(path, named_schema("run.Score"))
        assert [violation.field for violation in violations] == [name]


@pytest.mark.slow
def test_what_a_run_writes_keeps_its_schemas_and_nothing_else(
    run: Path, tmp_path: Path
) -> None:
    check_files(run)
    check_refusals(run, tmp_path)
