"""Files that no model should write give a clear error, in bounded time and memory."""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
import pytest

import evalkit
from evalkit.errors import EvalkitError

SCRIPT = str(Path(sys.executable).with_name("evalkit"))

PLUGINS = """
import os

import evalkit
import polars as pl


class Data(evalkit.Dataset):
    task = "sentiment"

    def load(self, split):
        count = int(os.environ.get("EXAMPLES", "3"))
        return pl.DataFrame(
            {
                "uid": pl.Series(range(count)).cast(pl.String),
                "statement": ["text"] * count,
                "label": ["positive"] * count,
                "tags": pl.Series([["a"]] * count, dtype=pl.List(pl.String)),
            }
        )
"""

LAUNCHER = """
import os, sys
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
with open("usage", "w") as stream:
    print(os.waitstatus_to_exitcode(status), usage.ru_maxrss, file=stream)
"""
"""Starts a program and writes what it used.

The peak memory of a process is at least that of the one that starts it, so a small one
must: the tests' own grows.
"""

MOST_MEGABYTES = 1200
MOST_SECONDS = 600  # what takes longer hangs


class Done(NamedTuple):
    code: int
    out: str
    err: str
    megabytes: float
    """Most memory that it held at once."""


@pytest.fixture(autouse=True)
def _place(
    tmp_path: Path,
    fake_distribution: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_distribution(PLUGINS, {"evalkit.datasets": {"three": "Data"}})
    monkeypatch.chdir(tmp_path)


def run(*arguments: str, limit: int = MOST_SECONDS, **variables: str) -> Done:
    """Run the console script and measure it."""
    with Path("out").open("w+b") as out, Path("err").open("w+b") as err:
        process = subprocess.Popen(
            [
                *(sys.executable, "-S", "-c", LAUNCHER),
                *(arguments if arguments[0] == "sh" else (SCRIPT, *arguments)),
            ],
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        killer = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
        killer.start()
        assert process.wait() == 0
        killer.cancel()
        out.seek(0)
        err.seek(0)
        code, peak = map(int, Path("usage").read_text().split())
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return Done(code, out.read().decode(), err.read().decode(), peak / unit)


def evaluate(path: str, *options: str, **variables: str) -> Done:
    return run("eval", "three", "-p", path, "-m", "accuracy", *options, **variables)


def assert_refused(done: Done, *words: str) -> None:
    assert done.code == 1, done
    assert done.out == ""
    assert done.err.startswith("evalkit: ")
    assert "Traceback" not in done.err
    assert "panicked" not in done.err
    for word in words:
        assert word in done.err
    assert done.megabytes < MOST_MEGABYTES


def problems() -> Iterator[dict[str, Any]]:
    [path] = Path("runs").glob("three/*/problems.jsonl")
    with path.open(encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def counts() -> dict[str, int]:
    [path] = Path("runs").glob("three/*/run.json")
    found: dict[str, int] = json.loads(path.read_text("utf-8"))["counts"]
    return found


SUFFIXES = (".jsonl", ".csv", ".tsv", ".parquet", ".arrow", ".txt", "")
PACKED = (".jsonl.gz", ".csv.gz", ".txt.zst", ".json.zst", ".gz")


def refusal(path: str) -> str:
    """Give the error that evaluating a file in this process ends with."""
    with pytest.raises(EvalkitError) as caught:
        evalkit.evaluate("three", path, metrics=["accuracy"])
    return str(caught.value)


@pytest.mark.parametrize("suffix", [*SUFFIXES, *PACKED])
def test_random_bytes_are_a_clear_error(suffix: str) -> None:
    path = Path(f"p{suffix}")
    path.write_bytes(random.Random(0).randbytes(300_000))
    message = refusal(str(path))
    assert message.startswith((f"{path}: ", "the predictions of p were refused: "))


def _make(kind: str, path: str) -> str:
    """Make something that is no file, and give the words for it."""
    if kind == "folder":
        Path(path).mkdir()
        return f"{path}: is a folder, not a file"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        Path(path).symlink_to("/dev/zero")
    return f"{path}: is a pipe or a device"


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_file_is_a_clear_error_under_every_suffix(
    suffix: str, kind: str
) -> None:
    assert _make(kind, f"p{suffix}") in refusal(f"p{suffix}")


@pytest.mark.parametrize(
    ("name", "kind"), [("./p", "folder"), ("p.csv", "pipe"), ("p.parquet", "device")]
)
@pytest.mark.slow
def test_the_script_does_not_wait_for_what_is_no_file(name: str, kind: str) -> None:
    words = _make(kind, name)
    assert_refused(evaluate(name), words.removeprefix("./"))


def _frame() -> pl.DataFrame:
    return pl.DataFrame({"id": ["0", "1", "2"], "label": ["positive"] * 3})


def _cut(path: Path) -> None:
    _frame().write_parquet(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _wrong_footer(path: Path) -> None:
    _frame().write_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-8] + (2**31 - 1).to_bytes(4, "little") + b"PAR1")


def _flipped_footer(path: Path) -> None:
    _frame().write_parquet(path)
    whole = bytearray(path.read_bytes())
    for place in range(len(whole) - 200, len(whole) - 8, 7):
        whole[place] ^= 0xFF
    path.write_bytes(whole)


def _json_lines(path: Path) -> None:
    path.write_text('{"id": "0", "label": "positive"}\n', encoding="utf-8")


@pytest.mark.parametrize("damage", [_cut, _wrong_footer, _flipped_footer, _json_lines])
def test_a_damaged_table_is_a_clear_error(damage: Callable[[Path], None]) -> None:
    damage(Path("p.parquet"))
    assert refusal("p.parquet").startswith("p.parquet: cannot be read as Parquet: ")


def _rows(count: int = 5000) -> bytes:
    return b"".join(b'{"id": "%d", "label": "a"}\n' % n for n in range(count))


def _zstd(path: Path, content: bytes) -> bytes:
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(content)
    return path.read_bytes()


@pytest.mark.parametrize("name", ["p.jsonl.gz", "p.jsonl.zst", "p.csv.gz", "p.txt.gz"])
@pytest.mark.parametrize("damage", ["cut", "garbage"])
def test_damaged_packing_is_a_clear_error(name: str, damage: str) -> None:
    path = Path(name)
    content = _rows() if "jsonl" in name else b"id,label\n" + b"0,positive\n" * 5000
    whole = _zstd(path, content) if ".zst" in name else gzip.compress(content)
    path.write_bytes(whole[: len(whole) // 2] if damage == "cut" else whole + b"xyz")
    assert refusal(name).startswith(f"{name}: ")


@pytest.mark.slow
def test_the_script_shows_one_line_for_a_damaged_file() -> None:
    _cut(Path("p.parquet"))
    done = evaluate("p.parquet")
    assert_refused(done, "error: p.parquet: cannot be read as Parquet")
    assert done.err.count("\n") == 1


AS_ANOTHER_USER = """
import os
import sys

import evalkit
import pyarrow.parquet  # with all else that is imported when it is first needed

evalkit.evaluate("sample-sentiment", sys.argv[1], on_missing="skip")
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
for path in sys.argv[2:]:
    try:
        evalkit.evaluate("sample-sentiment", path)
    except evalkit.EvalkitError as error:
        print(error)
"""


@pytest.mark.slow
def test_a_file_that_may_not_be_read_is_a_clear_error() -> None:
    # the other user may not write what a measurement of coverage finds
    not_measured = {k: v for k, v in os.environ.items() if "COVERAGE" not in k}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        _json_lines(place / "may.jsonl")
        paths = [str(place / f"p{suffix}") for suffix in SUFFIXES]
        for path in map(Path, paths):
            _json_lines(path)
            path.chmod(0)
        done = subprocess.run(
            [sys.executable, "-c", AS_ANOTHER_USER, str(place / "may.jsonl"), *paths],
            cwd=place,
            env=not_measured,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == len(paths)
    for path, line in zip(paths, lines, strict=True):
        assert line.startswith(f"{path}: cannot be read")
        assert "Permission denied" in line


def _fill(path: Path, part: bytes, times: int, before: bytes = b"") -> None:
    with path.open("wb") as stream:
        stream.write(before)
        for _ in range(times):
            stream.write(part)


GIGABYTE = 1 << 30
TEXT = b"x" * (1 << 24)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p.jsonl", "p.csv", "p.tsv", "p.txt", "p"])
@pytest.mark.parametrize("content", ["zeros", "text"])
def test_a_line_of_a_gigabyte_is_an_error_in_bounded_memory(
    name: str, content: str
) -> None:
    path = Path(name)
    if content == "zeros":
        path.touch()
        os.truncate(path, GIGABYTE)
    else:
        before = b'{"id": "0", "label": "' if name == "p.jsonl" else b"id,label\n0,"
        _fill(path, TEXT, GIGABYTE // len(TEXT), before)
    assert_refused(evaluate(name))


@pytest.mark.slow
def test_the_lines_around_one_of_a_gigabyte_are_read() -> None:
    row = b'{"id": "0", "label": "positive"}\n'
    _fill(Path("p.jsonl"), TEXT, GIGABYTE // len(TEXT), row + b'{"id": "1", "label": "')
    with Path("p.jsonl").open("ab") as stream:
        stream.write(b'"}\n' + row.replace(b'"0"', b'"2"'))
    assert_refused(evaluate("p.jsonl"), "line 2: (line): must be shorter than 64 MiB")
    assert counts()["scored"] == 2
    assert counts()["unreadable"] == counts()["missing"] == 1
    [unreadable] = [each for each in problems() if each["status"] == "unreadable"]
    assert unreadable["line"] == 2
    assert len(unreadable["violations"][0]["value"]) <= 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p.jsonl", "p.csv", "p.txt", "p"])
def test_ten_million_blank_lines_are_no_more_than_blank_lines(name: str) -> None:
    _fill(Path(name), b"\n" * 1_000_000, 10)
    done = evaluate(name)
    if name == "p.jsonl":
        assert_refused(done, "3 examples without a prediction", "no predictions")
    elif name == "p.csv":
        assert_refused(done, "p.csv: file is empty")
    else:
        assert_refused(done, "the file has 10000000 lines and the data set has 3")


@pytest.mark.slow
def test_ten_million_blank_lines_hide_no_row() -> None:
    rows = [json.dumps({"id": uid, "label": "positive"}).encode() for uid in "012"]
    with Path("p.jsonl").open("wb") as stream:
        for row in rows:
            stream.write(b"\n" * 3_333_333 + row + b"\n")
    done = evaluate("p.jsonl")
    assert done.code == 0, done.err
    assert done.megabytes < MOST_MEGABYTES


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p.jsonl.gz", "p.csv.gz", "p.txt.gz", "p.gz"])
@pytest.mark.parametrize("byte", [b"\0", b"\n"])
def test_two_gigabytes_in_a_small_file_are_read_in_bounded_memory(
    name: str, byte: bytes
) -> None:
    # each blank line takes its time, which long lines do not
    size, times = (1 << 26, 32) if byte == b"\0" else (1 << 24, 1)
    Path(name).write_bytes(gzip.compress(byte * size, compresslevel=9) * times)
    assert Path(name).stat().st_size < 3 << 20
    assert_refused(evaluate(name))


@pytest.mark.slow
def test_a_million_brackets_or_not_numbers_take_no_longer_than_their_bytes() -> None:
    with Path("p.jsonl").open("wb") as stream:
        stream.write(b'{"id": "0", "note": "' + b"NaN" * 10_000_000 + b'"}\n')
        stream.write(b'{"id": "0", "note": ' + b"[" * 10_000_000 + b"\n")
        stream.write(b'{"id": "0", "note": ' + b"[" * 10_000_000 + b"}\n")
        stream.write((b'{"id": "0", "note": {"x": ' + b"9" * 1000 + b"}}\n") * 10_000)
    assert_refused(evaluate("p.jsonl"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["unknown", "unreadable", "invalid", "duplicate"])
def test_many_bad_rows_are_all_listed_in_order_and_in_bounded_memory(kind: str) -> None:
    count = 100_000
    row = {
        "unknown": '{"id": "x%d", "label": "positive"}\n',
        "unreadable": '{"id": "%d", "label": "positive"\n',
        "invalid": '{"id": "%d", "label": "no label"}\n',
        "duplicate": '{"id": "0", "label": "positive", "note": %d}\n',
    }[kind]
    with Path("p.jsonl").open("w", encoding="utf-8") as stream:
        stream.writelines(row % number for number in range(count))
    examples = count if kind == "invalid" else 3
    done = evaluate("p.jsonl", EXAMPLES=str(examples))
    # that many examples of their own take their part
    assert_refused(done._replace(megabytes=done.megabytes - 80 * (kind == "invalid")))
    assert done.megabytes < 350
    expected = count - (kind == "duplicate")
    assert counts()[kind] == expected
    assert counts()["predictions"] == count
    seen = 0
    last = 0
    for problem in problems():
        if problem["status"] == kind:
            seen += 1
            assert problem["line"] > last
            last = problem["line"]
        else:
            assert problem["status"] == "missing"
            assert problem["line"] is None
    assert seen == expected
    assert last == count
    listed = re.findall(rf"^  {kind}: .*$", done.err, re.MULTILINE)
    assert len(listed) == 3


def _many_bad_rows() -> None:
    rows = (f'{{"id": "x{n}", "label": "{"y" * 100}"}}\n' for n in range(100_000))
    Path("p.jsonl").write_text("".join(rows), encoding="utf-8")


def _files_of_runs() -> list[Path]:
    return [path for path in Path("runs").rglob("*") if path.is_file()]


@pytest.mark.slow
def test_a_limit_of_file_sizes_is_an_error_that_names_the_temporary_folder() -> None:
    _many_bad_rows()
    Path("tmp").mkdir()
    limited = 'ulimit -f 1000; exec "$@"'
    done = run(
        *("sh", "-c", limited, "sh", SCRIPT, "eval", "three", "-p", "p.jsonl"),
        TMPDIR=str(Path("tmp").absolute()),
    )
    assert_refused(
        done,
        "the rows that were not scored cannot be kept in "
        f"{Path('tmp').absolute()}: File too large",
    )
    assert _files_of_runs() == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_for_temporary_files_is_an_error_that_names_it(
    small_disk: Path,
) -> None:
    _many_bad_rows()
    done = evaluate("p.jsonl", TMPDIR=str(small_disk))
    assert_refused(done, f"cannot be kept in {small_disk}: No space left on device")
    assert _files_of_runs() == []
    assert list(small_disk.iterdir()) == []


@pytest.mark.slow
def test_a_full_disk_for_runs_is_an_error_and_leaves_no_run(small_disk: Path) -> None:
    _many_bad_rows()
    done = evaluate("p.jsonl", "-o", str(small_disk / "runs"))
    assert_refused(done, f"the run {small_disk}", "No space left on device")
    left = [path for path in small_disk.rglob("*") if path.is_file()]
    assert left == []


@pytest.mark.slow
@pytest.mark.parametrize("nested", [True, False], ids=["nested", "top"])
def test_keys_that_differ_from_row_to_row_cost_no_column_each(nested: bool) -> None:
    draw = random.Random(0)
    with Path("p.jsonl").open("w") as stream:
        for number in range(20_000):
            others: dict[str, Any] = {
                f"token{draw.randrange(50_000)}": draw.random() for _ in range(5)
            }
            row = {"id": str(number), "label": "positive"}
            row |= {"top_logprobs": others} if nested else others
            stream.write(json.dumps(row) + "\n")
    done = evaluate("p.jsonl", EXAMPLES="20000")
    assert (done.code, done.megabytes < 500) == (0, True)
    assert "20000 of 20000 examples scored" in done.out
