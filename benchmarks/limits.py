"""Measure what odd data cost: many labels, long labels, many tags and many keys.

    python benchmarks/limits.py [CASE ...]

Each case is evaluated by a process of its own, of which it prints CPU time and peak
memory (`ru_maxrss`).
"""

from __future__ import annotations

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


CASES = {
    "8 000 labels, f1": Case(_labels, "f1"),
    "8 000 labels, macro-f1": Case(_labels, "macro-f1"),
    "a label of 1 MB in 4 000 rows, f1": Case(_long_label, "f1"),
    "4 000 tags of 10 examples, accuracy": Case(_tags, "accuracy"),
    "4 000 tags of 10 examples, macro-f1": Case(_tags, "macro-f1"),
    "20 000 undeclared keys, refused": Case(_keys, "accuracy"),
}


def measure(case: Case, folder: Path) -> str:
    """Evaluate a case, and return its exit code, CPU seconds and peak memory."""
    files = folder / "data.jsonl", folder / "said.jsonl"
    with files[0].open("w") as data, files[1].open("w") as said:
        for row, label in case.rows():
            data.write(json.dumps(row) + "\n")
            said.write(json.dumps({"id": row["uid"], "label": label}) + "\n")
    command = [sys.executable, "-m", "evalkit_cli", "eval", "--data", "data.jsonl"]
    command += ["--task", "text-classification", "-p", "said.jsonl", "-q"]
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
