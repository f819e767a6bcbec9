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


def test_a_data_set_goes_where_dynabench_has_it(client: Any, bucket: str) -> None:
    done = call("sample-nli", f"s3://{bucket}")
    assert (done.exit_code, done.stdout) == (
        0,
        f"s3://{bucket}/datasets/nli/sample-nli.jsonl\n",
    )
    found = held(client, bucket)
    assert set(found) == {
        "datasets/nli/sample-nli.jsonl",
        "datasets/nli/sample-nli.manifest.json",
    }
    manifest = json.loads(found["datasets/nli/sample-nli.manifest.json"])
    assert manifest["rows"] == found["datasets/nli/sample-nli.jsonl"].count(b"\n")
    assert manifest["bytes"] == len(found["datasets/nli/sample-nli.jsonl"])
    assert (manifest["task"], manifest["license"]) == ("nli", "CC0-1.0")


def test_publishing_again_changes_nothing(client: Any, bucket: str) -> None:
    call("sample-nli", f"s3://{bucket}/folder")
    before = held(client, bucket)
    done = call("sample-nli", f"s3://{bucket}/folder", "--json")
    assert json.loads(done.stdout)["state"] == "there"
    assert held(client, bucket) == before


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


@pytest.mark.slow
def test_copies_and_predictions_and_runs(
    client: Any, bucket: str, tmp_path: Path
) -> None:
    root = f"s3://{bucket}"
    call("sample-nli", root)
    data = f"{root}/datasets/nli/sample-nli.jsonl"
    perturbed = CliRunner().invoke(
        cli,
        ["perturb", "--data", data, "--task", "nli", "--perturb-prefix", "fairness"],
    )
    assert perturbed.exit_code == 0, perturbed.stderr
    copies = f"{root}/datasets/nli/fairness-sample-nli.jsonl"
    assert copies in perturbed.stdout + perturbed.stderr
    again = call(
        copies, f"{root}/more", "--task", "nli", "--perturb-prefix", "fairness"
    )
    assert again.stdout == f"{root}/more/datasets/nli/fairness-sample-nli.jsonl\n"
    shipped = evalkit.Registry().load("datasets", "sample-nli").attributes
    path = str(shipped["example_predictions"]["rules"])
    done = call(path, root, "--predictions-for", "sample-nli", "--model", "m")
    assert done.stdout == f"{root}/predictions/m/nli/sample-nli.jsonl\n", done.stderr
    result = evalkit.evaluate("sample-nli", path, model="m", out=tmp_path / "runs")
    words = ("m", root, "--run", "-o", str(tmp_path / "runs"))
    assert result.path is not None
    place = f"{root}/runs/sample-nli/{result.path.name}"
    assert call(*words, "--dry-run").stdout == f"{place}\n"
    assert call(*words).stdout == f"{place}\n"
    assert "was there already" in call(*words).stderr
    assert evalkit.read_run(place).scores == result.scores


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
