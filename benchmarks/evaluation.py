"""Measures a whole evaluation against a floor and a peer, in alternating runs.

The work: N examples with two tags each as JSON lines, predictions in another order;
accuracy and macro-F1 for the whole set and every tag, validation, intervals, and the
run folder. The workloads are tasks: `sentiment`; `numeric`, the same with predictions
whose ids are numbers and which have an undeclared key; `text-classification`, whose
labels only the answers name; and `nli-probabilities`, with probabilities of labels.

- The floor only scans, with polars, every column that the two schemas name.
- The peer is a plain-Python loop as Dynabench's server runs it: parse, match by id, and
  compute both metrics again for every tag with scikit-learn.

Run it as `python benchmarks/evaluation.py [--workload W …] [--examples N …]`. Each
figure is the median over `--runs` alternating runs, each in a process of its own with
compiled modules at hand. The loop is left out beyond `--loop-up-to` examples.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FLOOR = """
import sys, polars as pl
folder = sys.argv[1]
text = pl.String
data = dict.fromkeys(["uid", INPUTS, "label"], text) | {"tags": pl.List(text)}
pl.scan_ndjson(f"{folder}/data.jsonl", schema=data).collect()
predictions = {"id": text, "label": text}
if PROBABILITIES:
    predictions["prob"] = pl.Struct(dict.fromkeys(LABELS, pl.Float64))
pl.scan_ndjson(f"{folder}/predictions.jsonl", schema=predictions).collect()
"""

EVALKIT = """
import sys, evalkit
folder = sys.argv[1]
class Big(evalkit.Dataset):
    name = "big"
    task = TASK
    def load(self, split):
        return f"{folder}/data.jsonl"
evalkit.evaluate(Big, f"{folder}/predictions.jsonl", out=f"{folder}/runs")
"""

LOOP = """
import sys, json
from collections import defaultdict
from sklearn.metrics import f1_score
folder = sys.argv[1]
with open(f"{folder}/data.jsonl") as lines:
    gold = {row["uid"]: row for row in map(json.loads, lines)}
with open(f"{folder}/predictions.jsonl") as lines:
    said = {str(row["id"]): row["label"] for row in map(json.loads, lines)}
groups = defaultdict(list)
for uid, row in gold.items():
    pair = (said[uid], row["label"])
    for tag in ("", *row["tags"]):
        groups[tag].append(pair)
for pairs in groups.values():
    predictions, targets = zip(*pairs)
    sum(p == t for p, t in pairs) / len(pairs)
    f1_score(targets, predictions, average="macro")
"""


class Workload(NamedTuple):
    """What is evaluated."""

    task: str
    inputs: tuple[str, ...] = ("statement",)
    labels: tuple[str, ...] = ("positive", "negative", "neutral")
    has_probabilities: bool = False
    has_numbers: bool = False
    """Whether ids are numbers, beside an undeclared key."""

    def code(self, program: str) -> str:
        """Return a program for this workload."""
        return (
            program.replace("TASK", repr(self.task))
            .replace("INPUTS", repr(self.inputs)[1:-1].rstrip(","))
            .replace("LABELS", repr(self.labels))
            .replace("PROBABILITIES", repr(self.has_probabilities))
        )

    def examples(self, numbers: int, tags: int) -> Iterator[dict[str, Any]]:
        """Yield examples of about 280 bytes of JSON."""
        draw = random.Random(0)
        words = " ".join(f"word{number}" for number in range(25 // len(self.inputs)))
        for number in range(numbers):
            yield {
                "uid": str(number),
                **dict.fromkeys(self.inputs, f"{words} {number}"),
                "label": draw.choice(self.labels),
                "tags": [f"{facet}:{draw.randrange(tags // 2)}" for facet in "ab"],
            }

    def predictions(self, numbers: int) -> Iterator[dict[str, Any]]:
        """Yield predictions, in another order."""
        draw = random.Random(1)
        for number in draw.sample(range(numbers), numbers):
            row: dict[str, Any] = {"id": str(number), "label": draw.choice(self.labels)}
            if self.has_numbers:
                row |= {"id": number, "seconds": draw.random()}
            if self.has_probabilities:
                first, second = sorted((draw.random(), draw.random()))
                parts = first, second - first, 1 - second
                row["prob"] = dict(zip(self.labels, parts, strict=True))
            yield row


WORKLOADS = {
    "sentiment": Workload("sentiment"),
    "numeric": Workload("sentiment", has_numbers=True),
    "text-classification": Workload("text-classification"),
    "nli-probabilities": Workload(
        "nli",
        ("context", "hypothesis"),
        ("entailed", "neutral", "contradictory"),
        has_probabilities=True,
    ),
}


class Figure(NamedTuple):
    """What one process took."""

    seconds: float
    cpu: float
    """User and system, in seconds."""
    memory: float
    """Peak in GB."""


def measure(code: str, folder: str) -> Figure:
    """Run a program and measure its process."""
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    started = time.perf_counter()
    arguments = [sys.executable, "-c", code, folder]
    process = os.posix_spawn(sys.executable, arguments, environment)
    _, status, used = os.wait4(process, 0)
    seconds = time.perf_counter() - started
    if status:
        raise SystemExit(f"failed: {code}")
    return Figure(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6)


def print_figures(
    name: str, examples: int, tags: int, runs: int, *, has_loop: bool
) -> None:
    """Run every program of a workload alternately, and print its medians."""
    workload = WORKLOADS[name]
    programs = {"floor": FLOOR, "evalkit": EVALKIT}
    if has_loop:
        programs["loop"] = LOOP
    figures: dict[str, list[Figure]] = {key: [] for key in programs}
    with tempfile.TemporaryDirectory() as folder:
        files = {
            "data": workload.examples(examples, tags),
            "predictions": workload.predictions(examples),
        }
        for file, rows in files.items():
            with Path(folder, f"{file}.jsonl").open("w") as stream:
                stream.writelines(json.dumps(row) + "\n" for row in rows)
        for number in range(runs + 1):
            for key, program in programs.items():
                figure = measure(workload.code(program), folder)
                if number:  # the first compiles the modules, and warms the files
                    figures[key].append(figure)
    print(f"{name}, {examples:,} examples, {tags} tags")
    floor = statistics.median(figure.seconds for figure in figures["floor"])
    for key, measured in figures.items():
        seconds, cpu, memory = map(statistics.median, zip(*measured, strict=True))
        print(
            f"  {key:8} {seconds:7.2f} s  {seconds / floor:6.2f} x floor  "
            f"{cpu:7.2f} s CPU  {memory:5.2f} GB",
            flush=True,
        )


def main() -> None:
    """Run the benchmark and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", nargs="+", default=[*WORKLOADS])
    parser.add_argument("--examples", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--tags", type=int, default=50)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--loop-up-to", type=int, default=0)
    chosen = parser.parse_args()
    for name in chosen.workload:
        for examples in chosen.examples:
            has_loop = examples <= chosen.loop_up_to
            parts = name, examples, chosen.tags, chosen.runs
            print_figures(*parts, has_loop=has_loop)


if __name__ == "__main__":
    main()
