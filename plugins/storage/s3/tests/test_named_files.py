"""Whatever file a command reads may be in a bucket, or is refused in a sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evalkit_cli.main import cli
from evalkit_storage_s3.place import S3

DATA = [
    {"id": "1", "statement": "good", "label": "positive"},
    {"id": "2", "statement": "bad", "label": "negative"},
]
RENAME = [{"kind": "rename", "configuration": {"answer": "label"}}]

Put = Callable[[str, Any], str]


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def lines(rows: list[dict[str, str]]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


@pytest.fixture
def put(client: Any, bucket: str) -> Put:
    """Put a file into the bucket; return its URI."""

    def put(key: str, content: Any) -> str:
        is_lines = isinstance(content, list) and key.endswith(".jsonl")
        body = lines(content) if is_lines else json.dumps(content).encode()
        client.put_object(Bucket=bucket, Key=key, Body=body)
        return f"s3://{bucket}/{key}"

    return put


@pytest.fixture
def data(put: Put) -> list[str]:
    """Options that name two examples in the bucket."""
    return ["--data", put("data.jsonl", DATA), "--task", "sentiment"]


@pytest.fixture
def answers(put: Put) -> str:
    rows = [{"id": row["id"], "answer": row["label"]} for row in DATA]
    return put("answers.jsonl", rows)


def test_adapters_and_parameters_are_read(
    data: list[str], answers: str, put: Put, tmp_path: Path
) -> None:
    adapters = put("adapters.json", RENAME)
    params = put("params.json", {"accuracy": {}})
    out = str(tmp_path / "runs")
    words = [*data, "-p", answers, "--adapter", f"predictions={adapters}", "-o", out]
    done = call("eval", *words, "-m", "accuracy", "--params", params, "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["scores"][0]["value"] == 1.0
    assert call("validate", *words[:-2]).exit_code == 0
    done = call("adapt", answers, "-a", adapters)
    assert json.loads(done.stdout.splitlines()[0]) == {"id": "1", "label": "positive"}
    done = call("adapt", answers, "-a", adapters, "--explain")
    assert "after stage 1 (rename)" in done.stdout


@pytest.mark.parametrize(
    "option", ["--adapter=predictions={}", "--params={}", "--extract={}"]
)
def test_a_file_that_is_not_there_is_named(
    data: list[str], answers: str, bucket: str, option: str
) -> None:
    uri = f"s3://{bucket}/none.json"
    done = call("eval", *data, "-p", answers, "-m", "accuracy", option.format(uri))
    assert (done.exit_code, f"{uri}: file not found" in done.stderr) == (1, True)


def test_a_folder_of_shards_is_refused_before_it_is_fetched(
    data: list[str], put: Put, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        put(f"shards/{number:02}.jsonl", [{"id": "1", "label": "positive"}])
    reads: list[str] = []
    real = S3.local
    monkeypatch.setattr(
        S3, "local", lambda place, uri: reads.append(uri) or real(place, uri)
    )
    for command in ("eval", "validate"):
        done = call(command, *data, "-p", f"s3://{bucket}/shards")
        assert f"s3://{bucket}/shards: is a folder, not a file; name" in done.stderr
        assert "00.jsonl, 01.jsonl" in done.stderr
        assert "09.jsonl and 2 more" in done.stderr
    assert not [uri for uri in reads if "shards/" in uri]


def test_files_are_checked_and_written_by_schemas(put: Put, tmp_path: Path) -> None:
    uri = put("text.jsonl", [{"text": "one"}])
    done = call("schema", "check", uri, "--schema", "text.Text")
    assert (done.exit_code, done.stdout) == (0, "1 row checked: ok\n")
    out = tmp_path / "set"
    done = call("schema", "write", uri, "-o", str(out), "--schema", "text.Text")
    assert done.exit_code == 0, done.stderr
    far = put("far/other", {}).rpartition("/")[0]
    done = call("schema", "write", uri, "-o", f"{far}/set", "--schema", "text.Text")
    assert f"{far}/set: data sets are written to folders of this" in done.stderr
    done = call("schema", "verify", far)
    assert f"{far}: has no _manifest.json" in done.stderr


def test_a_data_set_of_a_bucket_is_verified(
    put: Put, client: Any, bucket: str, tmp_path: Path
) -> None:
    uri, out = put("text.jsonl", [{"text": "one"}]), tmp_path / "set"
    call("schema", "write", uri, "-o", str(out), "--schema", "text.Text")
    for path in out.rglob("*"):
        client.upload_file(str(path), bucket, f"set/{path.relative_to(out)}")
    far = f"s3://{bucket}/set"
    assert call("schema", "verify", far).stdout == "1 row in 1 file: as written\n"
    done = call("schema", "check", far, "--schema", "text.Text")
    assert done.stdout == "1 row checked: ok\n"


def test_an_impossible_name_keeps_no_run_from_being_listed(
    data: list[str], put: Put, bucket: str
) -> None:
    root = f"s3://{bucket}/runs"
    answers = put("m.jsonl", [{"id": row["id"], "label": "positive"} for row in DATA])
    call("eval", *data, "-p", answers, "-q", "-m", "accuracy", "-o", root)
    uri = put(f"runs/{'x' * 256}/run.json", {})
    with pytest.warns(UserWarning, match=f"left out.*'{uri}'"):
        done = call("runs", "-o", root, "--json")
    assert done.exit_code == 0, done.stderr
    assert [run["model"] for run in json.loads(done.stdout)] == ["m"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["verify", "{root}/set/3095"], "there is no run {root}/set/3095"),
        (["cite", "{root}:nope"], "there is no run {root}:nope"),
        (["runs", "-o", "s3://"], "s3://: names no bucket: write s3://BUCKET"),
        (["show", "{root}/set/3095"], "error: there is no run {root}/set/3095"),
        (["leaderboard", "{root}"], "{root}: no runs"),
    ],
)
def test_runs_that_are_not_there_are_named_by_their_place(
    bucket: str, words: list[str], message: str
) -> None:
    root = f"s3://{bucket}/runs"
    done = call(*(word.format(root=root) for word in words))
    assert message.format(root=root) in done.stderr
