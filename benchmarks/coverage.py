"""Measures how often intervals hold the true value, and writes `docs/coverage.md`.

Each scenario of `coverage_scenarios` draws many sets from a world whose truth is known,
and scores them with evalkit. Run it as

    python benchmarks/coverage.py [--sets 4000] [--only WORDS] [--jobs 2] [--save FILE]

With `--save` the counts are kept in a file, and a scenario that is in it is not drawn
again: begin a new file whenever an interval is computed in another way. The numbers
follow from the seed, whatever the number of jobs; the page is only written where all
scenarios were drawn.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import multiprocessing
import os
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from coverage_page import Row, make_page
from coverage_scenarios import SCENARIOS
from numpy.typing import NDArray
from simulated_sets import Outcomes, join_outcomes

SEED = 20_261_121
PAGE = Path(__file__).parent.parent / "docs" / "coverage.md"

_EXAMPLES_A_TABLE = 30_000
_MOST_SETS_A_TABLE = 400


class Task(NamedTuple):
    """The sets of one table."""

    scenario: str
    size: int
    first: int
    """Number of the first set."""
    sets: int


def tasks_of(scenario: str, size: int, sets: int) -> list[Task]:
    """Divide the sets of a scenario into tables."""
    found = SCENARIOS[scenario]
    sets = min(sets, found.sets or sets)
    step = _EXAMPLES_A_TABLE // found.examples(size)
    step = max(1, min(step, _MOST_SETS_A_TABLE, sets))
    return [
        Task(scenario, size, first, min(step, sets - first))
        for first in range(0, sets, step)
    ]


def run_task(task: Task) -> Mapping[str, Outcomes]:
    """Draw and score the sets of one table."""
    key = zlib.crc32(task.scenario.encode())
    random = np.random.default_rng([SEED, key, task.size, task.first])
    return SCENARIOS[task.scenario].simulate(random, task.sets, task.size)


def count_outcomes(
    scenario: str, size: int, parts: Sequence[Mapping[str, Outcomes]]
) -> list[Row]:
    """Count how often the intervals of all tables hold the truth."""
    rows = []
    for name in parts[0]:
        found = join_outcomes([part[name] for part in parts])
        known = np.isfinite(found.lows)
        lows, highs = found.lows[known], found.highs[known]
        truths = found.truths[known]
        below, above = _mean(highs < truths), _mean(lows > truths)
        coverage = 1 - below - above
        rows.append(
            Row(
                *(scenario, name, size, len(known), found.method, coverage),
                error=math.sqrt(coverage * (1 - coverage) / max(1, len(lows))),
                below=below,
                above=above,
                width=_mean(highs - lows),
                none=float(1 - known.mean()),
            )
        )
    return rows


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else math.nan


def measure(names: Sequence[str], sets: int, jobs: int) -> Iterator[list[Row]]:
    """Run scenarios, and give the rows of each size when it is done.

    Args:
        names: Names of the scenarios.
        sets: How many sets to draw of each.
        jobs: How many processes draw them.

    Yields:
        The rows of one scenario at one size.
    """
    plan = [
        (name, size, tasks_of(name, size, sets))
        for name in names
        for size in SCENARIOS[name].sizes
    ]
    if jobs == 1:
        for name, size, tasks in plan:
            yield count_outcomes(name, size, [run_task(task) for task in tasks])
        return
    # worker processes share the cores already
    for variable in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        waiting = [
            (name, size, [pool.submit(run_task, task) for task in tasks])
            for name, size, tasks in plan
        ]
        for name, size, futures in waiting:
            yield count_outcomes(name, size, [future.result() for future in futures])


def _load(path: Path | None) -> list[Row]:
    if path is None or not path.exists():
        return []
    return [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def main() -> None:
    """Run what is asked for, print it, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=4_000)
    parser.add_argument("--only", default="", help="scenarios whose name has this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--save", type=Path, help="file that counts are kept in")
    arguments = parser.parse_args()
    start = time.perf_counter()
    rows = _load(arguments.save)
    done = {row.scenario for row in rows}
    names = [name for name in SCENARIOS if arguments.only in name and name not in done]
    pending: list[Row] = []
    for found in measure(names, arguments.sets, arguments.jobs):
        for row in found:
            print(
                f"{row.scenario} {row.part} {row.size}: {row.coverage:.4f} "
                f"(+- {row.error:.4f}), below {row.below:.4f}, above {row.above:.4f}, "
                f"width {row.width:.4f}, none {row.none:.4f}, {row.method}",
                flush=True,
            )
        pending += found
        if found[0].size == SCENARIOS[found[0].scenario].sizes[-1]:
            rows += pending
            pending = []
            if arguments.save:
                text = json.dumps([row._asdict() for row in rows], indent=1)
                arguments.save.write_text(text, encoding="utf-8")
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    if {row.scenario for row in rows} >= set(SCENARIOS):
        ordered = sorted(rows, key=lambda row: list(SCENARIOS).index(row.scenario))
        today = datetime.datetime.now(datetime.UTC).date()
        PAGE.write_text(make_page(ordered, today), encoding="utf-8")


if __name__ == "__main__":
    main()
