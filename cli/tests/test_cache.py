"""`evalkit cache`, and the option that names a server of S3."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from memory_store import MemoryStore

from evalkit.errors import StorageError
from evalkit.storage import fetch_file, file_to_write
from evalkit_cli.main import cli
from evalkit_cli.options import endpoints

FILE = "mem://b/folder/file.jsonl"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MemoryStore:
    made = MemoryStore()
    monkeypatch.setattr("evalkit.storage.finding._store", lambda scheme: made)
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("EVALKIT_OFFLINE", raising=False)
    return made


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def fail_to_send(store: MemoryStore) -> None:
    with file_to_write("mem://b/out.jsonl", overwrite=False) as path:
        path.write_text("x" * (1 << 20))
        store.add("mem://b/out.jsonl", b"first")


def test_what_was_fetched_is_listed_and_removed(
    store: MemoryStore, tmp_path: Path
) -> None:
    store.add(FILE, b"a" * (3 << 20))
    fetch_file(FILE)
    done = call("cache")
    assert done.exit_code == 0
    head, row = done.stdout.splitlines()
    assert head.split() == ["used", "(UTC)", "MiB", "files", "of"]
    assert row.split()[2:] == ["3.0", "1", FILE]
    assert (
        f"0.00 GiB from stores, of at most 20, in {tmp_path / 'cache'}" in done.stderr
    )
    found = json.loads(call("cache", "--json").stdout)
    assert (found["size"], found["unsent"]) == (3 << 20, [])
    assert [entry["uri"] for entry in found["entries"]] == [FILE]
    assert call("cache", "--clear").stdout.startswith("3.0 MiB removed from ")
    assert call("cache").stdout == ""


def test_what_could_not_be_sent_is_listed_and_stays(
    store: MemoryStore, tmp_path: Path
) -> None:
    with pytest.raises(StorageError, match="is kept in"):
        fail_to_send(store)
    (kept,) = (tmp_path / "cache" / "outgoing").glob("*/out.jsonl")
    done = call("cache")
    assert done.stdout.startswith("not sent: 1.0 MiB for mem://b/out.jsonl, last ")
    assert done.stdout.endswith(f"in {kept}\n")
    (entry,) = json.loads(call("cache", "--json").stdout)["unsent"]
    assert (entry["path"], entry["uri"]) == (str(kept), "mem://b/out.jsonl")
    assert "not sent: 1.0 MiB for" in call("cache", "--clear").stdout
    assert kept.is_file()


def test_a_server_may_be_named_for_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def failing(scheme: str) -> MemoryStore:
        asked.append(os.environ[endpoints.VARIABLE])
        raise StorageError("it was asked")

    monkeypatch.setattr("evalkit.storage.finding._store", failing)
    monkeypatch.setenv(endpoints.VARIABLE, "http://before:1")
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
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    store.add(FILE, b"a" * (1 << 20))
    fetch_file(FILE)
    others = {
        "annotations/judge/x.answers": 2,
        "replies.sqlite": 3,
        "sample-nli/train.jsonl": 4,
    }
    for name, mib in others.items():
        path = cache / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"b" * (mib << 20))
    shown = call("cache").stdout.splitlines()[2:]
    assert shown == [
        *("datasets: 4.0 MiB, 1 file", "annotations: 2.0 MiB, 1 file"),
        "replies: 3.0 MiB of at most 10,240, 1 file",
    ]
    kinds = json.loads(call("cache", "--json").stdout)["kinds"]
    assert [kind["size"] >> 20 for kind in kinds] == [1, 4, 2, 3]
    limits = [20 << 30, None, None, 10 << 30]
    assert [kind["limit"] for kind in kinds] == limits
    monkeypatch.setenv("EVALKIT_REPLIES_SIZE", "0.5")
    assert "replies: 3.0 MiB of at most 512, 1 file" in call("cache").stdout
    monkeypatch.setenv("EVALKIT_REPLIES_SIZE", "much")
    done = call("cache")
    assert (done.exit_code, "EVALKIT_REPLIES_SIZE: must" in done.stderr) == (1, True)
    monkeypatch.delenv("EVALKIT_REPLIES_SIZE")
    assert call("cache", "--clear", "replies").stdout.startswith("3.0 MiB removed")
    assert not (cache / "replies.sqlite").exists()
    assert call("cache", "--clear").stdout.startswith("1.0 MiB removed")
    assert (cache / "sample-nli" / "train.jsonl").exists()
    own = [cache / "thesis.tex", cache / "my-project" / "notes.txt"]
    for path in own:  # in a folder that is not evalkit's alone
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    assert call("cache", "--clear", "all").stdout.startswith("6.0 MiB removed")
    assert {path for path in cache.rglob("*") if path.is_file()} == {*own}
    assert call("cache", "--clear", "nothing").exit_code == 2
