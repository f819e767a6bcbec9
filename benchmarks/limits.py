"""Measure what odd data cost: many labels, long labels, many tags, keys and bytes.

    python benchmarks/limits.py [CASE ...]

Each case is evaluated by a process of its own, of which it prints CPU time and peak
memory (`ru_maxrss`).
"""

from __future__ import annotations

import gzip
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]


class Case(NamedTuple):
    """Rows of data, each with the predicted label, and the metric."""

    rows: Callable[[], Iterator[tuple[Row, str]]]
    metric: str
    predictions: Callable[[Path], Path] | None = None
    """Writes predictions into a folder, in the place of those labels."""


def _plain(number: int, label: str, **more: Any) -> Row:
    return {"uid": str(number), "statement": "text", "label": label, **more}


def _labels() -> Iterator[tuple[Row, str]]:
    draw = random.Random(0)
    for number in range(8_000):
        label = f"label{number}"
        said = label if draw.random() < 0.7 else "label0"
        yield _plain(number, label), said


def _long_label() -> Iterator[tuple[Row, str]]:
    for number in range(4_000):
        label = "x" * 1_000_000 if number == 0 else f"l{number % 3}"
        yield _plain(number, label), f"l{number % 2}"


def _tags() -> Iterator[tuple[Row, str]]:
    draw = random.Random(0)
    for number in range(40_000):
        label, said = (f"l{draw.randrange(3)}" for _ in range(2))
        yield _plain(number, label, tags=[f"t{number % 4_000}"]), said


def _keys() -> Iterator[tuple[Row, str]]:
    for number in range(20_000):
        yield _plain(number, f"l{number % 3}", **{f"undeclared{number}": 1}), "l0"


def _one_row() -> Iterator[tuple[Row, str]]:
    yield _plain(0, "l0"), "l0"


def _packed_lines(folder: Path) -> Path:
    """Write 2 000 lines of 1 MB, which are 2 MB when packed."""
    line = b'{"id": "0", "label": "%s"}\n' % (b"x" * 1_000_000)
    path = folder / "packed.jsonl.gz"
    path.write_bytes(gzip.compress(line) * 2_000)
    return path


def _one_text(folder: Path) -> Path:
    """Write one text of 1 MB that 20 000 rows of Parquet share."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = 20_000
    places = pa.array([0] * rows, pa.int32())
    label = pa.DictionaryArray.from_arrays(places, pa.array(["x" * 1_000_000]))
    table = pa.table({"id": [str(number) for number in range(rows)], "label": label})
    path = folder / "shared.parquet"
    parquet.write_table(table, path, store_schema=False)
    return path


CASES = {
    "8 000 labels, f1": Case(_labels, "f1"),
    "8 000 labels, macro-f1": Case(_labels, "macro-f1"),
    "a label of 1 MB in 4 000 rows, f1": Case(_long_label, "f1"),
    "4 000 tags of 10 examples, accuracy": Case(_tags, "accuracy"),
    "4 000 tags of 10 examples, macro-f1": Case(_tags, "macro-f1"),
    "20 000 undeclared keys, refused": Case(_keys, "accuracy"),
    "2 GB of lines in a packed file, refused": Case(
        _one_row, "accuracy", _packed_lines
    ),
    "a text of 1 MB in 20 000 rows of Parquet, refused": Case(
        _one_row, "accuracy", _one_text
    ),
}


def measure(case: Case, folder: Path) -> str:
    """Evaluate a case, and return its exit code, CPU seconds and peak memory."""
    files = folder / "data.jsonl", folder / "said.jsonl"
    with files[0].open("w") as data, files[1].open("w") as said:
        for row, label in case.rows():
            data.write(json.dumps(row) + "\n")
            said.write(json.dumps({"id": row["uid"], "label": label}) + "\n")
    given = str(files[1])
    if case.predictions is not None:
        given = str(case.predictions(folder))
    command = [sys.executable, "-m", "evalkit_cli", "eval", "--data", "data.jsonl"]
    command += ["--task", "text-classification", "-p", given, "-q"]
    done = subprocess.run(
        [*command, "-m", case.metric],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    return f"exit {done.returncode}, {seconds:.1f} s, {used.ru_maxrss >> 10} MB"


def main() -> None:
    """Print a line for each case; each in a process that has had no other child."""
    if sys.argv[1:2] == ["--one"]:
        with tempfile.TemporaryDirectory() as name:
            print(measure(CASES[sys.argv[2]], Path(name)))
        return
    for name in sys.argv[1:] or CASES:
        command = [sys.executable, __file__, "--one", name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        print(f"{name}: {done.stdout.strip()}", flush=True)


if __name__ == "__main__":
    main()
