"""`evalkit publish`, and what it leaves in a bucket."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import evalkit
from evalkit_cli.main import cli


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, ["publish", *words])


def held(client: Any, bucket: str) -> dict[str, bytes]:
    rows = client.list_objects_v2(Bucket=bucket).get("Contents", [])
    return {
        row["Key"]: client.get_object(Bucket=bucket, Key=row["Key"])["Body"].read()
        for row in rows
    }


def test_other_content_is_refused(client: Any, bucket: str, tmp_path: Path) -> None:
    key = "datasets/nli/sample-nli.jsonl"
    client.put_object(Bucket=bucket, Key=key, Body=b"other\n")
    done = call("sample-nli", f"s3://{bucket}")
    assert done.exit_code == 1
    assert "another file is there already. Use another name" in done.stderr
    assert held(client, bucket) == {key: b"other\n"}
    assert call("sample-nli", f"s3://{bucket}", "--overwrite").exit_code == 0
    assert held(client, bucket)[key] != b"other\n"


def test_a_dry_run_writes_nothing(client: Any, bucket: str) -> None:
    done = call("sample-nli", f"s3://{bucket}", "--dry-run", "--json")
    assert json.loads(done.stdout)["state"] == "would be written"
    assert held(client, bucket) == {}


def test_refused_predictions_are_not_published(
    client: Any, bucket: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"id": "nobody", "label": "neutral"}\n')
    done = call(str(path), f"s3://{bucket}", "--predictions-for", "sample-nli")
    assert done.exit_code == 1
    assert "because an evaluation on sample-nli would refuse it" in done.stderr
    csv = tmp_path / "m.csv"
    csv.write_text("id,label\n")
    done = call(str(csv), f"s3://{bucket}", "--predictions-for", "sample-nli")
    assert "are published as JSON lines" in done.stderr
    assert held(client, bucket) == {}


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_offline_nothing_is_published(
    client: Any,
    bucket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    more: list[str],
) -> None:
    shipped = evalkit.Registry().load("datasets", "sample-nli").attributes
    path = str(shipped["example_predictions"]["rules"])
    evalkit.evaluate("sample-nli", path, model="m", out=tmp_path / "runs")
    root = f"s3://{bucket}"
    with monkeypatch.context() as patch:
        patch.setenv("EVALKIT_OFFLINE", "1")
        for words in (
            ("sample-nli", root),
            (path, root, "--predictions-for", "sample-nli"),
            ("m", root, "--run", "-o", str(tmp_path / "runs")),
        ):
            done = call(*words, *more)
            assert done.exit_code == 1
            assert "EVALKIT_OFFLINE forbids the network" in done.stderr
    assert held(client, bucket) == {}
