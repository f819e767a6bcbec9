"""`evalkit cache`, and the option that names a server of S3."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from memory_store import MemoryStore

from evalkit.errors import StorageError
from evalkit.places import local_file
from evalkit_cli.main import cli
from evalkit_cli.options import endpoints

FILE = "mem://b/folder/file.jsonl"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MemoryStore:
    made = MemoryStore()
    monkeypatch.setattr("evalkit.places.access._place", lambda scheme: ("mem", made))
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("EVALKIT_OFFLINE", raising=False)
    return made


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def test_what_was_fetched_is_counted_and_removed(
    store: MemoryStore, tmp_path: Path
) -> None:
    store.add(FILE, b"a" * (3 << 20))
    local_file(FILE)
    done = call("cache")
    assert (done.exit_code, done.stdout) == (0, "stores: 3.0 MiB, 1 file\n")
    assert f"3.0 MiB in {tmp_path / 'cache'}" in done.stderr
    kinds = json.loads(call("cache", "--json").stdout)["kinds"]
    assert [kind["files"] for kind in kinds] == [1, 0, 0]
    assert call("cache", "--clear").stdout.startswith("3.0 MiB removed from ")
    assert call("cache").stdout == ""


def test_a_server_may_be_named_for_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def failing(scheme: str) -> MemoryStore:
        asked.append(os.environ[endpoints.VARIABLE])
        raise StorageError("it was asked")

    monkeypatch.setattr("evalkit.places.access._place", failing)
    monkeypatch.setenv(endpoints.VARIABLE, "http://before:1")
    monkeypatch.delenv("EVALKIT_OFFLINE", raising=False)
    url = "http://127.0.0.1:9"
    done = call("--endpoint-url", url, "runs", "-o", "s3://b/runs")
    assert "it was asked" in done.stderr
    assert set(asked) == {url}
    assert os.environ[endpoints.VARIABLE] == "http://before:1"
    monkeypatch.delenv(endpoints.VARIABLE)
    assert call("--endpoint-url", url, "cache").exit_code == 0
    assert endpoints.VARIABLE not in os.environ


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--endpoint-url", "host", "runs"], "'host' is no address such as http://"),
        (["--endpoint-url", "http://me:SECRET@h", "runs"], "holds credentials"),
        (["--endpoint-url", "", "runs"], "is no address"),
        (
            ["runs", "--endpoint-url", "http://h"],
            "No such option '--endpoint-url'. It stands before the command: "
            "evalkit --endpoint-url … runs.",
        ),
        (["runs", "--traceback"], "before the command: evalkit --traceback … runs."),
    ],
)
def test_a_wrong_server_is_refused(words: list[str], message: str) -> None:
    done = call(*words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "SECRET" not in done.stderr


def test_each_kind_is_listed_and_removed_alone(
    store: MemoryStore, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    store.add(FILE, b"a" * (1 << 20))
    local_file(FILE)
    others = {"replies.sqlite": 3, "sample-nli/train.jsonl": 4}
    for name, mib in others.items():
        path = cache / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"b" * (mib << 20))
    shown = call("cache").stdout.splitlines()
    assert shown == [
        "stores: 1.0 MiB, 1 file",
        "datasets: 4.0 MiB, 1 file",
        "replies: 3.0 MiB, 1 file",
    ]
    kinds = json.loads(call("cache", "--json").stdout)["kinds"]
    assert [kind["size"] >> 20 for kind in kinds] == [1, 4, 3]
    assert call("cache", "--clear", "replies").stdout.startswith("3.0 MiB removed")
    assert not (cache / "replies.sqlite").exists()
    assert call("cache", "--clear").stdout.startswith("1.0 MiB removed")
    assert (cache / "sample-nli" / "train.jsonl").exists()
    own = [cache / "thesis.tex", cache / "my-project" / "notes.txt"]
    for path in own:  # in a folder that is not evalkit's alone
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    assert call("cache", "--clear", "all").stdout.startswith("4.0 MiB removed")
    assert {path for path in cache.rglob("*") if path.is_file()} == {*own}
    assert call("cache", "--clear", "nothing").exit_code == 2
