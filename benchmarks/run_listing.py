"""Times commands that look into a folder of many runs.

    python benchmarks/run_listing.py --runs 1000

The runs are copies of two that were evaluated, each with a fingerprint, a model, a
dataset and a start of its own. Times are of processor, user and system, of a process
for each command.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

MODELS = 50
DATASETS = 20

EVALKIT = [sys.executable, "-m", "evalkit"]

COMMANDS = {
    "runs": (1, ["runs"]),
    "show latest": (1, ["show", "latest", "-q"]),
    "compare": (
        1,
        ["compare", "model-1@set-1", "model-2@set-1", "-m", "accuracy", "-q"],
    ),
    "site": (60, ["site", "-q"]),
}
"""The budget of each, in seconds of processor, and its arguments."""


def main() -> None:
    """Make the runs, time the commands and print a verdict."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make_runs(root, options.runs)
        print(f"{options.runs} runs, medians of {options.rounds} rounds of CPU time")
        kept = [measure(root, options.rounds, label) for label in COMMANDS]
    sys.exit(0 if all(kept) else 1)


def make_runs(root: Path, count: int) -> None:
    """Evaluate two models once, and copy their runs under other names."""
    run(root, ["eval", "sample-sentiment", "-q", "-o", "made"])
    originals = sorted((root / "made" / "sample-sentiment").glob("*/run.json"))
    records = [json.loads(path.read_bytes()) for path in originals]
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(count):
        original, record = (
            each[number % len(originals)] for each in (originals, records)
        )
        dataset = f"set-{number // MODELS % DATASETS}"
        model = f"model-{number % MODELS}"
        fingerprint = f"{number:016x}"
        started = begin + timedelta(minutes=number)
        name = f"{started:%Y%m%dT%H%M%S.000Z}-{model}-{fingerprint[:8]}"
        folder = root / "runs" / dataset / name
        shutil.copytree(original.parent, folder)
        changes = {
            "fingerprint": fingerprint,
            "dataset": dataset,
            "model": model,
            "timings": {"started": started.isoformat(), "seconds": 1.0},
        }
        (folder / "run.json").write_text(json.dumps({**record, **changes}))


def measure(root: Path, rounds: int, label: str) -> bool:
    """Time a command; tell whether its median is within its budget."""
    budget, command = COMMANDS[label]
    seconds = statistics.median(run(root, command) for _ in range(rounds))
    print(f"{label:12} {seconds:5.2f} s, budget {budget} s")
    return seconds < budget


def run(root: Path, command: list[str]) -> float:
    """Run a command; return the seconds of processor that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [*EVALKIT, *command],
        cwd=root,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
