"""What the command line says and does where places are named wrongly or by patterns."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

import evalkit
from evalkit_cli.main import cli
from evalkit_models_base import load_inputs

ROWS = [{"uid": f"u{n}", "statement": f"Good {n}", "label": "positive"} for n in "abc"]
ANSWERS = [{"id": row["uid"], "label": "positive"} for row in ROWS]


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def lines(rows: list[dict[str, str]]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


@pytest.fixture
def root(client: Any, bucket: str) -> str:
    """A bucket with data, predictions and a run."""
    client.put_object(Bucket=bucket, Key="data/set.jsonl", Body=lines(ROWS))
    client.put_object(Bucket=bucket, Key="said/m.jsonl", Body=lines(ANSWERS))
    place = f"s3://{bucket}"
    evalkit.evaluate(
        data=f"{place}/data/set.jsonl",
        task="sentiment",
        predictions=f"{place}/said/m.jsonl",
        out=f"{place}/runs",
    )
    return place


def test_runs_are_not_written_below_a_file(root: str) -> None:
    file = f"{root}/data/set.jsonl"
    done = call(
        *("eval", "--data", file, "--task", "sentiment", "-o", file),
        *("-p", f"{root}/said/m.jsonl"),
    )
    assert done.exit_code == 1
    assert f"{file}: is a file; runs are written to a folder" in done.stderr


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_run_that_is_not_there_is_said_of_its_folder(root: str, command: str) -> None:
    done = call(command, f"{root}/runs/set/2026")
    assert done.exit_code == 1
    assert done.stderr.strip() == (
        f"evalkit: error: there is no run {root}/runs/set/2026"
    )
    done = call(command, "nobody", "-o", f"{root}/runs")
    assert f"there is no run 'nobody' in {root}/runs (see" in done.stderr
    done = call(command, f"{root}/nothing/here")
    assert done.stderr.strip().endswith(f"there is no run {root}/nothing/here")


@pytest.mark.slow
def test_perturbed_copies_may_be_a_run_of_another_folder(
    root: str, tmp_path: Path
) -> None:
    data, copies = f"{root}/data/set.jsonl", f"{root}/data/lowercase-set.jsonl"
    of_data = ("--data", data, "--task", "sentiment")
    done = call("perturb", *of_data, "--perturbation", "lowercase")
    assert done.exit_code == 0, done.stderr
    asked = load_inputs(copies, task="sentiment")
    uids = [row["uid"] for row in asked.rows]
    said = tmp_path / "m.jsonl"
    said.write_bytes(lines([{"id": uid, "label": "positive"} for uid in uids]))
    done = call(
        *("eval", "--data", copies, "--task", "sentiment", "-p", str(said)),
        *("-o", f"{root}/more"),
    )
    assert done.exit_code == 0, done.stderr
    (run,) = re.findall(r"run folder: (s3://\S+)", done.stdout)
    words = ("eval", *of_data, "-p", f"{root}/said/m.jsonl", "-o", f"{root}/runs")
    done = call(*words, "--perturbed", run, "--json")
    assert done.exit_code == 0, done.stderr
    assert "lowercase" in done.stdout
    done = call(
        *words,
        *("--perturbed", f"{root}/none.jsonl", "--perturbed-predictions", str(said)),
    )
    assert f"{root}/none.jsonl: there is no such file" in done.stderr


def test_copies_of_shards_have_a_name_without_a_pattern(
    client: Any, bucket: str
) -> None:
    for number, rows in enumerate((ROWS[:2], ROWS[2:])):
        buffer = io.BytesIO()
        pl.DataFrame(rows).write_parquet(buffer)
        key = f"sets/x/test-{number:05}-of-00002.parquet"
        client.put_object(Bucket=bucket, Key=key, Body=buffer.getvalue())
    words = ("--task", "sentiment", "--perturbation", "lowercase")
    for data, place in {
        "sets/x/test-*.parquet": "sets/x/lowercase-test.jsonl",
        "sets/*/test-*.parquet": "sets/lowercase-test.jsonl",
        "sets/?/*": "sets/lowercase-data.jsonl",
    }.items():
        done = call("perturb", "--data", f"s3://{bucket}/{data}", *words)
        assert done.exit_code == 0, done.stderr
        assert f"written to s3://{bucket}/{place}" in done.stdout + done.stderr
        client.delete_object(Bucket=bucket, Key=place)


def test_a_file_is_adapted_from_and_to_a_bucket(root: str) -> None:
    words = ("adapt", f"{root}/said/m.jsonl", "-a", "number-rows:field=n")
    rows = [json.loads(line) for line in call(*words).stdout.splitlines()]
    assert [row["n"] for row in rows] == [1, 2, 3]
    done = call(*words, "-o", f"{root}/said/n.jsonl")
    assert done.stdout == f"3 rows read, 3 written to {root}/said/n.jsonl\n"
    assert call("adapt", f"{root}/said/none.jsonl", "-a", "labels").exit_code == 1


def test_a_published_data_set_is_the_one_file_of_its_folder(bucket: str) -> None:
    root = f"s3://{bucket}"
    assert call("publish", "sample-nli", root).exit_code == 0
    assert len(load_inputs(f"{root}/datasets/nli", task="nli").rows) == 90


@pytest.mark.slow
def test_published_predictions_are_evaluated_under_the_model_s_name(
    bucket: str,
) -> None:
    shipped = evalkit.Registry().load("datasets", "sample-nli").attributes
    path = str(shipped["example_predictions"]["rules"])
    root = f"s3://{bucket}"
    words = ("publish", path, root, "--predictions-for", "sample-nli")
    assert "next:" not in call(*words, "--dry-run").stderr
    done = call(*words, "--model", "m")
    told = done.stderr.partition("next: evalkit ")[2].split()
    assert call(*told).exit_code == 0
    assert evalkit.find_run("m", f"{root}/runs")
    done = call("eval", "--task", "nli", "--predictions-dir", f"{root}/predictions/m")
    assert "it has no file, but nli/." in done.stderr
    folder = f"{root}/predictions/m/nli"
    done = call("eval", "--predictions-dir", folder, "--model", "m")
    assert (done.exit_code, "manifest" in done.stderr) == (0, False)


def test_what_a_file_holds_has_to_be_said(bucket: str, tmp_path: Path) -> None:
    done = call("publish", "m.jsonl", f"s3://{bucket}")
    assert done.exit_code == 2
    assert "a model's predictions --predictions-for DATASET" in done.stderr


def test_other_predictions_are_published_under_another_model(
    client: Any, bucket: str
) -> None:
    shipped = evalkit.Registry().load("datasets", "sample-nli").attributes
    path = str(shipped["example_predictions"]["rules"])
    key = "predictions/rules/nli/sample-nli.jsonl"
    client.put_object(Bucket=bucket, Key=key, Body=b"other\n")
    done = call("publish", path, f"s3://{bucket}", "--predictions-for", "sample-nli")
    assert "choose another name (--model), or say" in done.stderr


def test_a_server_that_is_not_there_is_named_without_credentials(
    configured: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalkit.storage import forget_stores

    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://someone:secret@127.0.0.1:1")
    forget_stores()
    done = call("runs", "-o", "s3://bucket/runs")
    assert "is the server there (http://127.0.0.1:1), and its address" in done.stderr
    assert "secret" not in done.stderr


def test_a_name_that_no_bucket_has_is_said(configured: None) -> None:
    done = call("runs", "-o", "s3://My_Bucket!/runs")
    assert done.exit_code == 1
    assert "no bucket can be called so" in done.stderr


def test_predictions_that_are_a_folder_are_told_what_it_has(root: str) -> None:
    of_data = ("--data", f"{root}/data/set.jsonl", "--task", "sentiment")
    done = call("eval", *of_data, "-p", f"{root}/said")
    assert (
        f"{root}/said: is a folder, not a file; name one of its files: m.jsonl\n"
        in done.stderr
    )
    done = call("eval", *of_data, "-p", root)
    assert "is a folder, not a file; name one of its files: data/set" in done.stderr


def test_a_file_of_a_bucket_is_checked_against_a_schema(root: str) -> None:
    words = ("--schema", "classification.Label", "--json")
    done = call("schema", "check", f"{root}/said/m.jsonl", *words)
    assert json.loads(done.stdout)["file"] == f"{root}/said/m.jsonl", done.stderr
