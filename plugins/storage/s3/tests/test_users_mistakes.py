"""What the command line says and does where places are named wrongly or by patterns."""

import io
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

import evalkit
from evalkit_cli.main import cli

ROWS = [{"uid": f"u{n}", "statement": f"Good {n}", "label": "positive"} for n in "abc"]


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


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
