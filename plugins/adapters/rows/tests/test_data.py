"""The examples of a data set go through adapters as they are loaded."""

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit_adapters_rows import Rows, pipeline
from evalkit_analysis_robustness import evaluate_perturbed, find_effects
from evalkit_commands_perturb import perturb_dataset

RunEvalkit = Callable[..., subprocess.CompletedProcess[str]]

LABELS = ["positive", "negative", "positive", "negative"]
RAW = [
    {"text": f"Text {number}", "gold": {"label": label}}
    for number, label in enumerate(LABELS, start=1)
]
PREDICTED = ["positive", "positive", "positive", "negative"]
FIX = [
    {"kind": "NumberRows", "configuration": {"field": "uid"}},
    {
        "kind": "TransformJSON",
        "configuration": {
            "uid": "$.uid",
            "statement": "$.text",
            "label": "$.gold.label",
        },
    },
]


def predictions() -> list[dict[str, str]]:
    numbered = enumerate(PREDICTED, start=1)
    return [{"id": str(number), "label": label} for number, label in numbered]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif path.suffix == ".csv":
        flat = [{"text": row["text"], "gold": row["gold"]["label"]} for row in rows]
        pl.DataFrame(flat).write_csv(path)
    else:
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def evaluate(data: Any, adapters: Any = FIX, **options: Any) -> evalkit.Result:
    options = {"task": "text-classification", **options}
    call = evaluate_perturbed if "perturbed" in options else evalkit.evaluate
    return call(data, predictions(), rows=Rows(adapters={"data": adapters}), **options)


class Reviews(evalkit.Dataset):
    """Declares the adapters of its file."""

    name = "reviews"
    task = "text-classification"
    adapters = FIX
    raw: Any = RAW

    def load(self, split: str) -> Any:
        return self.raw


@pytest.mark.slow
def test_rows_of_each_kind_are_adapted(tmp_path: Path) -> None:
    files = [write(tmp_path / f"raw{kind}", RAW) for kind in (".jsonl", ".parquet")]
    for file in files:
        result = evaluate(file)
        assert result["accuracy"].value == 0.75
        hashed = hashlib.sha256(file.read_bytes()).hexdigest()
        assert [each.sha256 for each in result.record.data.files] == [hashed]
    flat = [*FIX[:1], {"kind": "Rename", "configuration": {"text": "statement"}}]
    flat.append({"kind": "Rename", "configuration": {"gold": "label"}})
    assert evaluate(write(tmp_path / "raw.csv", RAW), flat)["accuracy"].value == 0.75
    for raw in (RAW, iter(RAW), pl.DataFrame(RAW), pl.LazyFrame(RAW), files[1]):
        Reviews.raw = raw
        result = evalkit.evaluate(Reviews, predictions())
        assert result["accuracy"].value == 0.75
        assert result.examples is not None
        assert result.examples["id"].to_list() == ["1", "2", "3", "4"]


def test_they_are_part_of_the_run_and_its_identity(tmp_path: Path) -> None:
    file = write(tmp_path / "raw.jsonl", RAW)
    result = evaluate(file, out=tmp_path / "runs")
    other = [*FIX, {"kind": "Drop", "configuration": {"fields": ["x"]}}]
    assert evaluate(file, other).run_id != result.run_id
    assert evaluate(file, pipeline(FIX)).run_id == result.run_id
    stored = evalkit.read_run(evalkit.find_run("latest", tmp_path / "runs"))
    kinds = [adapter.kind for adapter in stored.record.data.adapters]
    assert kinds == ["number-rows", "transform-json"]
    used = {each.id for each in stored.record.components}
    assert {"adapters/number-rows", "adapters/transform-json"} <= used
    verified = evalkit.verify(stored)
    assert verified.agrees
    assert evalkit.rescore(stored, ["exact-match"]).record.data == stored.record.data
    plain = [
        {"uid": str(n), "statement": row["text"], "label": row["gold"]["label"]}
        for n, row in enumerate(RAW, start=1)
    ]
    without = evalkit.evaluate(
        write(tmp_path / "plain.jsonl", plain),
        predictions(),
        task="text-classification",
    )
    assert without.record.data.adapters == ()
    (accuracy,) = [s.value for s in without.scores if s.metric == "accuracy"]
    assert accuracy == result["accuracy"].value


def test_merged_runs_keep_the_adapters_that_all_parts_have(tmp_path: Path) -> None:
    parts = [
        evaluate(
            write(tmp_path / f"{name}.jsonl", RAW),
            [{**FIX[0], "configuration": {"field": "uid", "first": 1}}, FIX[1]],
        )
        for name in "ab"
    ]
    moved = [{**FIX[0], "configuration": {"field": "uid", "first": 5}}, FIX[1]]
    later = [{**row, "id": str(int(row["id"]) + 4)} for row in predictions()]
    third = evalkit.evaluate(
        tmp_path / "b.jsonl",
        later,
        task="text-classification",
        model=parts[0].model,
        rows=Rows(adapters={"data": moved}),
    )
    merged = evalkit.merge([parts[0], third], dataset="both")
    assert merged.record.data.adapters == ()
    assert merged["accuracy"].n == 8


def test_an_error_names_file_line_stage_and_field(tmp_path: Path) -> None:
    file = write(tmp_path / "raw.jsonl", [*RAW[:2], {"text": "no label"}, RAW[3]])
    with pytest.raises(evalkit.SchemaError) as caught:
        evaluate(file)
    assert f"{file}: line 3: $.gold.label" in str(caught.value)
    assert "stage 2 (TransformJSON): the path '$.gold.label' selects nothing" in str(
        caught.value
    )
    Reviews.raw = [RAW[0], {"text": "no label"}]
    with pytest.raises(evalkit.SchemaError, match=r"datasets/reviews.*: example 2: "):
        evalkit.evaluate(Reviews, predictions())


def test_a_data_set_that_declares_them_wrongly_is_named() -> None:
    class Broken(Reviews):
        adapters = ({"kind": "Rename", "configuration": {"a": 1}},)

    with pytest.raises(
        evalkit.PluginError, match=r"datasets/reviews.*its adapters: stage 1 \(Rename\)"
    ):
        evalkit.evaluate(Broken, predictions())


def test_lists_of_examples_become_examples(tmp_path: Path) -> None:
    file = tmp_path / "nested.jsonl"
    items = [
        {"uid": str(n), "statement": row["text"], "label": row["gold"]["label"]}
        for n, row in enumerate(RAW, start=1)
    ]
    write(file, [{"items": items[:3]}, {"items": items[3:]}])
    adapters = [
        {"kind": "ExplodeCollections", "configuration": {"collections": ["items"]}},
        {"kind": "FlattenHierarchy", "configuration": {"addPrefix": False}},
    ]
    assert evaluate(file, adapters)["accuracy"].value == 0.75
    table = write(tmp_path / "nested.parquet", [{"items": items}])
    assert evaluate(table, adapters)["accuracy"].value == 0.75
    bad = [*items[:3], {**items[3], "statement": 4}]
    write(file, [{"items": items[:1]}, {"items": bad[1:]}])
    with pytest.raises(evalkit.SchemaError, match="line 2"):
        evaluate(file, adapters)


def test_copies_are_made_of_adapted_rows_and_are_not_adapted_again(
    tmp_path: Path,
) -> None:
    file = write(tmp_path / "raw.jsonl", RAW)
    copies = tmp_path / "copies.jsonl"
    options = {"perturbations": ["lowercase"], "task": "text-classification"}
    perturb_dataset(file, copies, rows=Rows(adapters={"data": FIX}), **options)
    rows = [json.loads(line) for line in copies.read_text("utf-8").splitlines()]
    assert rows[0]["statement"] == "text 1"
    assert rows[0]["input_id"] == "1"
    answers = tmp_path / "model.jsonl"
    write(answers, [{"id": row["uid"], "label": row["label"]} for row in rows])
    result = evaluate(file, perturbed=[copies], perturbed_predictions=[answers])
    assert "lowercase" in find_effects(result).names


@pytest.mark.slow
def test_the_command_line_takes_them(tmp_path: Path, run_evalkit: RunEvalkit) -> None:
    file = write(tmp_path / "raw.jsonl", RAW)
    fix = tmp_path / "fix.json"
    fix.write_text(json.dumps(FIX), encoding="utf-8")
    model = write(tmp_path / "model.jsonl", predictions())
    given = ["--data", str(file), "--task", "text-classification"]
    given += ["--adapter", f"data={fix}"]
    for command in ("eval", "validate"):
        done = run_evalkit(command, *given, "-p", str(model), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    done = run_evalkit("validate", *given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "copies.jsonl"
    perturbed = ("--perturbation", "lowercase", "-o", str(out))
    done = run_evalkit("perturb", *given, *perturbed, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(out.read_text("utf-8").splitlines()) == 4
