"""Predictions on the standard input."""

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from evalkit_cli.main import cli

THREE = ("positive", "negative", "positive", "positive")
ROWS = [{"id": str(n), "label": label} for n, label in enumerate(THREE, start=1)]


@pytest.fixture(autouse=True)
def _plugins(plugins: Any) -> None:
    """All tests here use the plugins of conftest.py."""


def pipe(data: bytes, *arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, input=data)


def in_memory(write: Callable[[io.BytesIO], Any]) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
CSV = "".join(["id,label\n", *(f"{r['id']},{r['label']}\n" for r in ROWS)]).encode()
FORMATS: Mapping[str, bytes] = {
    "JSON lines": LINES,
    "JSON lines after blanks": b"\xef\xbb\xbf\n  \n" + LINES,
    "gzip": gzip.compress(LINES),
    "zstd": pa.compress(LINES, "zstd", asbytes=True),
    "CSV": CSV,
    "TSV": CSV.replace(b",", b"\t"),
    "plain lines": "\n".join(THREE).encode(),
    "Parquet": in_memory(pl.DataFrame(ROWS).write_parquet),
    "Arrow": in_memory(pl.DataFrame(ROWS).write_ipc),
    "Arrow stream": in_memory(pl.DataFrame(ROWS).write_ipc_stream),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_read(name: str) -> None:
    done = pipe(FORMATS[name], "eval", "tiny", "-p", "-", "-m", "accuracy", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    assert record["scores"][0]["value"] == 0.75
    assert record["model"] == record["predictions"]["name"] == "stdin"


@pytest.mark.parametrize("name", ["CSV", "Parquet"])
def test_validate_reads_it_too(name: str) -> None:
    done = pipe(FORMATS[name], "validate", "tiny", "-p", "m=-", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["model"], found["counts"]["scored"]) == ("m", 4)


@pytest.mark.parametrize("given", [("-p", "m=-"), ("-p", "-", "--model", "m")])
def test_the_model_can_be_named(given: tuple[str, ...]) -> None:
    done = pipe(LINES, "eval", "tiny", *given, "--json")
    assert json.loads(done.stdout)["model"] == "m"


def test_it_stands_beside_files(predict: Callable[..., str]) -> None:
    file = predict("file.jsonl", ["positive"] * 4)
    done = pipe(LINES, "eval", "tiny", "-p", file, "-p", "-", "--json")
    assert [r["model"] for r in json.loads(done.stdout)] == ["file", "stdin"]


@pytest.mark.parametrize("given", [("-p", "-", "-p", "-"), ("-p", "a=-", "-p", "b=-")])
def test_it_can_be_read_only_once(given: tuple[str, ...]) -> None:
    done = pipe(LINES, "eval", "tiny", *given)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "the standard input (-) can be read only once" in done.stderr


@pytest.mark.parametrize("data", [b"", b"\n", b" \n\n"])
def test_nothing_on_it_is_an_error(data: bytes) -> None:
    done = pipe(data, "eval", "tiny", "-p", "-")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("evalkit: error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spool))
    assert pipe(LINES, "eval", "tiny", "-p", "-").exit_code == 0
    assert pipe(b"{", "eval", "tiny", "-p", "-").exit_code == 1
    assert list(spool.iterdir()) == []


@pytest.mark.slow
def test_a_binary_file_comes_whole_through_a_pipe(tmp_path: Path) -> None:
    data = FORMATS["Parquet"]
    assert b"\r\n" in data or b"\x00" in data
    done = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("evalkit")), "eval", "tiny"),
            *("-p", "m=-", "--json", "-m", "accuracy"),
        ],
        input=data,
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert json.loads(done.stdout)["counts"]["scored"] == 4


@pytest.mark.slow
def test_a_closed_or_absent_standard_input_is_wrong_usage(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("evalkit")
    done = subprocess.run(
        ["sh", "-c", f"{script} eval tiny -p - <&-"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "-p - needs predictions on the standard input" in done.stderr


@pytest.mark.slow
def test_a_terminal_is_not_waited_for(run_on_terminal: Any) -> None:
    code, shown = run_on_terminal("eval", "tiny", "-p", "-", columns=100)
    assert code == 2
    assert "-p - needs predictions on the standard input" in shown
