"""Measures what a metric written as one Python function costs beside the function.

- The scoring step of a `score_example` of about 1 µs and about 10 µs a call, against a
  bare list comprehension over the same function and the same lists, in alternating runs
  of one process. The budget is 1.5.
- A whole evaluation with a function of about 50 µs a call, in one process and with two
  workers, each in a process of its own.
- The same with 1 ms a row, which is slept or computed, in each of the three ways that
  workers share; two workers should be at least 1.7 times as fast as one process.

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
from evalkit.scoring import metric_outcomes
from evalkit.scoring.table import ScoringTable

BUDGET = 1.5

PLUGIN = '''
"""A task, a data set and a slow metric of the benchmark."""

import time

import evalkit
import polars as pl
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


def wait():
    if SLEEPS:
        time.sleep(SECONDS)
        return
    total = 0
    for number in range(ROUNDS):
        total += number ^ 5


class ByExample(evalkit.Metric):
    def score_example(self, prediction, target):
        wait()
        return float(prediction == target)


class ByBatch(evalkit.Metric):
    def score_batch(self, predictions, targets):
        for _ in predictions:
            wait()
        return [float(p == t) for p, t in zip(predictions, targets)]


class ByStatistics(evalkit.Metric):
    def statistics(self, batch):
        for _ in range(batch.height):
            wait()
        return pl.DataFrame({"row": range(batch.height), "n": 1.0})

    def finalize(self, sums):
        return sums.select("group", value="n")
'''

WAYS = {
    "slow": "Slow",
    "by-example": "ByExample",
    "by-batch": "ByBatch",
    "by-statistics": "ByStatistics",
}
LEAST_GAIN = 1.7

EVALUATE = """
import sys, evalkit
sys.path.insert(0, sys.argv[1])
data, jobs, metric = f"{sys.argv[1]}/data.jsonl", int(sys.argv[2]), sys.argv[3]
result = evalkit.evaluate("slow", data, jobs=jobs, metrics=[metric])
print(result[metric].value)
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
        found = metric_outcomes(metric, table)
        ours.append(time.perf_counter() - started)
        assert found.statistics["score"].to_list() == expected
    loop, step = statistics.median(bare), statistics.median(ours)
    print(
        f"{loop / examples * 1e6:6.2f} us a call: {examples} examples, list "
        f"comprehension {loop:.3f} s, scoring step {step:.3f} s, ratio "
        f"{step / loop:.2f} (budget {BUDGET})"
    )


def write_plugin(
    folder: Path, examples: int, microseconds: float, sleeps: bool = False
) -> None:
    """Write a package with entry points, as pip would install it, and its data."""
    code = PLUGIN.replace("ROUNDS", str(rounds_for(microseconds)))
    code = code.replace("SLEEPS", str(sleeps)).replace(
        "SECONDS", str(microseconds / 1e6)
    )
    (folder / "slow_plugin.py").write_text(code)
    metadata = folder / "slow_plugin-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: slow-plugin\nVersion: 1\n"
    )
    (metadata / "entry_points.txt").write_text(
        "[evalkit.tasks]\nslow = slow_plugin:Task\n"
        "[evalkit.datasets]\nslow = slow_plugin:Data\n"
        "[evalkit.metrics]\n"
        + "".join(f"{name} = slow_plugin:{made}\n" for name, made in WAYS.items())
    )
    with (folder / "data.jsonl").open("w") as stream:
        for number in range(examples):
            row = f'{{"uid": "{number}", "id": "{number}", "label": "{number % 5}"}}\n'
            stream.write(row)


def seconds_of(folder: Path, metric: str, runs: int) -> dict[int, float]:
    """Give the median time of an evaluation with one and with two jobs."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(runs):
        for jobs, found in seconds.items():
            started = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", EVALUATE, str(folder), str(jobs), metric],
                check=True,
                capture_output=True,
            )
            found.append(time.perf_counter() - started)
    return {jobs: statistics.median(found) for jobs, found in seconds.items()}


def whole_evaluation(microseconds: float, examples: int, runs: int) -> None:
    """Print how long an evaluation takes with one and with two jobs."""
    with tempfile.TemporaryDirectory() as name:
        write_plugin(Path(name), examples, microseconds)
        seconds = seconds_of(Path(name), "slow", runs)
    for jobs, found in seconds.items():
        print(
            f"{microseconds:6.2f} us a call: whole evaluation of {examples} examples "
            f"with jobs={jobs}: {found:.2f} s"
        )


def shared_evaluation(examples: int, runs: int) -> None:
    """Print how much faster two workers are with rows of 1 ms, in each way."""
    for sleeps in (True, False):
        with tempfile.TemporaryDirectory() as name:
            write_plugin(Path(name), examples, 1_000, sleeps)
            for way in ("by-example", "by-batch", "by-statistics"):
                one, two = seconds_of(Path(name), way, runs).values()
                print(
                    f"{examples} rows of 1 ms {'slept' if sleeps else 'computed'}, "
                    f"{way}: one process {one:.1f} s, two workers {two:.1f} s, "
                    f"{one / two:.2f} times as fast (at least {LEAST_GAIN})"
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
    shared_evaluation(chosen.examples // 10, min(3, chosen.runs))


if __name__ == "__main__":
    main()
