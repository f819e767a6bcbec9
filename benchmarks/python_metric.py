"""Measures what a metric written as one Python function costs beside the function.

- The scoring step of a `score_example` of about 1 µs and about 10 µs a call, against a
  bare list comprehension over the same function and the same lists, in alternating runs
  of one process. The budget is 1.5.
- A whole evaluation with a function of about 50 µs a call, in one process and with two
  workers, each in a process of its own.

Run it as `python benchmarks/python_metric.py [--examples N] [--runs R]`; each figure is
the median over the runs.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path

import polars as pl

import evalkit
from evalkit.base.terms import MetricContext
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver
from evalkit.scoring.rows import score_examples
from evalkit.scoring.table import ScoringTable

BUDGET = 1.5

PLUGIN = '''
"""A task, a data set and a slow metric of the benchmark."""

import time

import evalkit
from pydantic import BaseModel


class Input(BaseModel):
    uid: str


class Output(BaseModel):
    id: str
    label: str


class Task(evalkit.TaskIO):
    Input = Input
    Output = Output
    answer_field = "label"
    example = {"uid": "1"}
    perf_metric = "slow"


class Data(evalkit.Dataset):
    task = "slow"

    def load(self, split):
        from pathlib import Path

        return Path(__file__).with_name("data.jsonl")


class Slow(evalkit.Metric):
    def score_example(self, prediction, target):
        total = 0
        for number in range(ROUNDS):
            total += number ^ 5
        return float(prediction == target) + 0.0 * total
'''

EVALUATE = """
import sys, evalkit
sys.path.insert(0, sys.argv[1])
result = evalkit.evaluate("slow", f"{sys.argv[1]}/data.jsonl", jobs=int(sys.argv[2]))
print(result["slow"].value)
"""


def rounds_for(microseconds: float) -> int:
    """Give the rounds of an inner loop that takes about so long on this machine."""
    shortest = min(timeit.repeat(lambda: spin(100_000), number=1, repeat=7))
    return max(1, round(microseconds * 1e-6 / (shortest / 100_000)))


def spin(rounds: int) -> int:
    """Do some arithmetic."""
    total = 0
    for number in range(rounds):
        total += number ^ 5
    return total


def function_of(microseconds: float) -> Callable[[str, str], float]:
    """Give a function of a prediction and a target that takes about so long."""
    rounds = rounds_for(microseconds)

    def compare(prediction: str, target: str) -> float:
        total = 0
        for number in range(rounds):
            total += number ^ 5
        return float(prediction == target) + 0.0 * total

    return compare


def scoring_step(microseconds: float, examples: int, runs: int) -> None:
    """Print how a function's scoring step compares with a list comprehension."""
    function = function_of(microseconds)

    class Probe(evalkit.Metric):
        score_example = staticmethod(function)

    metric = Resolver(Registry()).bind("metrics", Probe)
    predictions = [f"answer {number % 7}" for number in range(examples)]
    targets = [f"answer {number % 5}" for number in range(examples)]
    frame = pl.DataFrame(
        {"position": range(examples), "prediction": predictions, "target": targets},
        schema_overrides={"position": pl.UInt32},
    )
    ids = [str(number) for number in range(examples)]
    table = ScoringTable(frame, ids, None, MetricContext(None, "one"))
    bare: list[float] = []
    ours: list[float] = []
    for _ in range(runs):
        started = time.perf_counter()
        expected = [
            function(prediction, target)
            for prediction, target in zip(predictions, targets, strict=True)
        ]
        bare.append(time.perf_counter() - started)
        started = time.perf_counter()
        found = score_examples(metric, table)
        ours.append(time.perf_counter() - started)
        assert found["score"].to_list() == expected
    loop, step = statistics.median(bare), statistics.median(ours)
    print(
        f"{loop / examples * 1e6:6.2f} us a call: {examples} examples, list "
        f"comprehension {loop:.3f} s, scoring step {step:.3f} s, ratio "
        f"{step / loop:.2f} (budget {BUDGET})"
    )


def write_plugin(folder: Path, examples: int, microseconds: float) -> None:
    """Write a package with entry points, as pip would install it, and its data."""
    code = PLUGIN.replace("ROUNDS", str(rounds_for(microseconds)))
    (folder / "slow_plugin.py").write_text(code)
    metadata = folder / "slow_plugin-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: slow-plugin\nVersion: 1\n"
    )
    (metadata / "entry_points.txt").write_text(
        "[evalkit.tasks]\nslow = slow_plugin:Task\n"
        "[evalkit.datasets]\nslow = slow_plugin:Data\n"
        "[evalkit.metrics]\nslow = slow_plugin:Slow\n"
    )
    with (folder / "data.jsonl").open("w") as stream:
        for number in range(examples):
            row = f'{{"uid": "{number}", "id": "{number}", "label": "{number % 5}"}}\n'
            stream.write(row)


def whole_evaluation(microseconds: float, examples: int, runs: int) -> None:
    """Print how long an evaluation takes with one and with two jobs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_plugin(folder, examples, microseconds)
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(runs):
            for jobs, found in seconds.items():
                started = time.perf_counter()
                subprocess.run(
                    [sys.executable, "-c", EVALUATE, str(folder), str(jobs)],
                    check=True,
                    capture_output=True,
                )
                found.append(time.perf_counter() - started)
    for jobs, found in seconds.items():
        print(
            f"{microseconds:6.2f} us a call: whole evaluation of {examples} examples "
            f"with jobs={jobs}: {statistics.median(found):.2f} s"
        )


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    scoring_step(1, chosen.examples * 5, chosen.runs)
    scoring_step(10, chosen.examples, chosen.runs)
    whole_evaluation(50, chosen.examples, min(3, chosen.runs))


if __name__ == "__main__":
    main()
