"""Measures evaluations with two workers of Dask beside one process.

Every process has one thread. N examples with two of 50 tags each and predictions in
another order; accuracy and macro-F1, intervals and the run folder. The two take turns,
so that a busy machine slows them alike; medians are compared with the budgets.

    python benchmarks/engine.py [--rows 1000000] [--forms parquet jsonl bucketed]
    python benchmarks/engine.py --slow 100000  # rows of a metric of 1 ms
    python benchmarks/engine.py --start

Seconds of the processor are of all processes; peaks of memory are those that the kernel
tells of each process while it lives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from python_metric import write_plugin

from evalkit_engines_dask.buckets import bucket_of

EVALUATE = """
import sys, evalkit
from evalkit_engines_dask.cluster import Dask
if __name__ == "__main__":
    data, predictions, out, form, workers = sys.argv[1:]
    engine = Dask(workers=int(workers) or 1, bucketed=form == "bucketed")
    engine = {"engine": engine} if int(workers) else {}
    evalkit.evaluate(
        data=data, predictions=predictions, task="sentiment", model="m",
        metrics=["accuracy", "macro-f1"], out=out, **engine,
    )
"""

SLOW = """
import sys, evalkit
from evalkit_engines_dask.cluster import Dask
if __name__ == "__main__":
    data, workers = sys.argv[1:]
    engine = {"engine": Dask(workers=int(workers))} if int(workers) else {}
    evalkit.evaluate("slow", data, metrics=["slow"], **engine)
"""

START = """
import time
from evalkit_engines_dask.cluster import Dask
if __name__ == "__main__":
    started = time.perf_counter()
    with Dask(workers=2) as engine:
        tasks = [engine.submit(abs, (-n,), "abs", {}) for n in range(4)]
        engine.gather(tasks, lambda place, value: None)
        print(f"start {time.perf_counter() - started:.2f} s (at most 3)", end="; ")
        started = time.perf_counter()
    print(f"stop {time.perf_counter() - started:.2f} s")
"""


class Figure(NamedTuple):
    """What the processes of one evaluation took."""

    wall: float
    cpu: float
    driver: float
    """Peak in MB."""
    worker: float
    """Peak of the largest other process, in MB; 0 for none."""


def write_rows(folder: Path, rows: int, form: str) -> tuple[str, str]:
    """Write examples and predictions, JSON lines as one file, others as shards.

    Returns:
        The patterns of both.
    """
    random = np.random.default_rng(0)
    labels = pl.Series(["positive", "negative", "neutral"])
    words = " ".join(f"word{number}" for number in range(25))
    ids = np.arange(rows)
    suffix, shards = form.replace("bucketed", "parquet"), 1 if form == "jsonl" else 16
    buckets = ids * shards // rows
    others = random.permutation(buckets)
    if form == "bucketed":
        others = buckets = bucket_of(pl.Series(ids).cast(pl.String), shards)
    for place in range(shards):
        name = f"{place:05}-of-{shards:05}.{suffix}"
        own = pl.Series("uid", ids[buckets == place]).cast(pl.String)
        numbers = [pl.Series(random.integers(0, 25, len(own))) for _ in "ab"]
        facets = [pl.format(f"{f}:{{}}", n) for f, n in zip("ab", numbers, strict=True)]
        examples = own.to_frame().select(
            "uid",
            pl.format("{} {}", pl.lit(words), "uid").alias("statement"),
            labels.gather(random.integers(0, 3, len(own))).alias("label"),
            pl.concat_list(facets).alias("tags"),
        )
        _write(examples, folder / f"data-{name}")
        named = pl.Series("id", random.permutation(ids[others == place]))
        label = labels.gather(random.integers(0, 3, len(named))).alias("label")
        _write(pl.DataFrame([named.cast(pl.String), label]), folder / f"said-{name}")
    return str(folder / f"data-*.{suffix}"), str(folder / f"said-*.{suffix}")


def _write(frame: pl.DataFrame, path: Path) -> None:
    if path.suffix == ".parquet":
        frame.write_parquet(path, row_group_size=100_000)
    else:
        frame.write_ndjson(path)


def measure(code: str, *arguments: str, **variables: str) -> Figure:
    """Run a program, and watch its processes."""
    one = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS"), "1")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **one, **variables}
    with tempfile.TemporaryDirectory() as name:
        script = Path(name, "program.py")
        script.write_text(code)
        command = [sys.executable, str(script), *arguments]
        started = time.perf_counter()
        pid = os.posix_spawn(sys.executable, command, environment)
        peaks: dict[int, float] = {}
        seconds: dict[int, float] = {}
        while not (ended := os.wait4(pid, os.WNOHANG))[0]:
            for process in family(pid):
                peaks[process] = max(peaks.get(process, 0), _peak(process))
                seconds[process] = max(seconds.get(process, 0), _seconds(process))
            time.sleep(0.05)
    wall = time.perf_counter() - started
    _, status, used = ended
    if status:
        raise SystemExit("failed")
    cpu = used.ru_utime + used.ru_stime
    seen = sum(seconds.values())
    if seen > cpu + 0.05 * seen + 0.1:  # a process that nobody waited for
        raise SystemExit(f"{seen:.1f} s were seen, {cpu:.1f} s counted")
    return Figure(wall, cpu, peaks.pop(pid, 0), max(peaks.values(), default=0))


def family(pid: int) -> list[int]:
    """Return a process and all below it."""
    try:
        lines = [
            path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")
        ]
    except OSError:
        return [pid]
    return [pid, *(p for line in lines for c in line.split() for p in family(int(c)))]


def _peak(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    found = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(found[0]) / 1000 if found else 0


def _seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compare(
    name: str,
    runs: int,
    code: str,
    budgets: Mapping[str, float],
    *given: Any,
    **variables: str,
) -> None:
    """Run one process and two workers in turn, and print what they took."""
    figures: dict[int, list[Figure]] = {0: [], 2: []}
    for _ in range(runs):
        for workers, found in figures.items():
            found.append(measure(code, *given, str(workers), **variables))
            print(f"  {workers} workers: {found[-1]}", file=sys.stderr, flush=True)
    one, two = (
        Figure(*map(statistics.median, zip(*found, strict=True)))
        for found in figures.values()
    )
    print(name)
    for text, figure in (("one process", one), ("two workers", two)):
        print(
            f"  {text}  wall {figure.wall:7.2f} s  CPU {figure.cpu:7.2f} s  driver "
            f"{figure.driver:5.0f} MB  worker {figure.worker:5.0f} MB"
        )
    reached = {
        "CPU": two.cpu / one.cpu,
        "wall": two.wall / one.wall,
        "driver": two.driver,
        "worker": two.worker,
    }
    for key, budget in budgets.items():
        is_kept = "kept" if reached[key] <= budget else "MISSED"
        print(f"  {key}: {reached[key]:.2f}, at most {budget}: {is_kept}", flush=True)


MEMORY = {"driver": 500, "worker": 1000}
SHUFFLED = {"CPU": 1.6, "wall": 0.9, **MEMORY}
ALIKE = {"CPU": 1.15, "wall": 0.65, **MEMORY}


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--forms", nargs="+", default=["parquet", "jsonl", "bucketed"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--slow", type=int)
    parser.add_argument("--start", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if chosen.start:
            for _ in range(chosen.runs):
                measure(START)
        elif chosen.slow:
            write_plugin(folder, chosen.slow, 1_000)
            name = f"{chosen.slow:,} rows of a metric of 1 ms"
            data = str(folder / "data.jsonl")
            compare(
                name, chosen.runs, SLOW, {"wall": 1 / 1.8}, data, PYTHONPATH=str(folder)
            )
        else:
            for form in chosen.forms:
                below = folder / form
                below.mkdir()
                files = write_rows(below, chosen.rows, form)
                name = f"{chosen.rows:,} rows, {form}"
                budgets = ALIKE if form == "bucketed" else SHUFFLED
                given = *files, str(below / "runs"), form
                compare(name, chosen.runs, EVALUATE, budgets, *given)
                shutil.rmtree(below)


if __name__ == "__main__":
    main()
