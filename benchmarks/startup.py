"""Measures what it costs to start `evalkit` with 300 plugins installed.

CPU time of `evalkit --help` and `evalkit list`, as multiples of that of a floor: a
process that imports click and reads the metadata of all distributions, as text, with
importlib.metadata. That of `evalkit eval` is compared with that of an evaluation
without the 300, and shown as a multiple of that of a process that imports polars,
pyarrow and pydantic. All take
turns, so that a busy machine slows them alike, and medians are compared.

    .venv/bin/python benchmarks/startup.py [--rounds 41] [--distributions 300]
        [--kinds benchmarks]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BUDGET = 1.3
BUDGET_OF_EVAL = 1.1
"""How much longer an evaluation may take for the plugins that it does not name; what it
takes at all is the budget of `evaluation.py`."""

KINDS = ["tasks", "datasets", "metrics", "perturbations"]

FLOOR = """
import importlib.metadata
import click
for distribution in importlib.metadata.distributions():
    distribution.read_text("METADATA")
    distribution.read_text("entry_points.txt")
"""


LIBRARIES = "import polars, pyarrow, pydantic"

FEW = ", few plugins"
"""How the measurements are called that are made without the 300."""


def evaluation(folder: Path) -> list[str]:
    """Write predictions for a data set that ships with evalkit.

    Args:
        folder: Where to write them, and runs.

    Returns:
        The arguments that evaluate them.
    """
    rows = [f'{{"id": "sent-{n:03}", "label": "positive"}}\n' for n in range(1, 136)]
    (folder / "said.jsonl").write_text("".join(rows))
    words = ["eval", "sample-sentiment", "-p", str(folder / "said.jsonl")]
    return [*words, "-q", "-o", str(folder / "runs")]


def write_distributions(folder: Path, count: int, kinds: list[str]) -> None:
    """Write the metadata of distributions that hold one plugin each, of these kinds."""
    for number in range(count):
        info = folder / f"stranger_{number}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: stranger-{number}\nVersion: 1.0\n"
            f"Summary: Plugin number {number}\nRequires-Dist: evalkit-core<0.2,>=0.1\n"
            f"\n{'A paragraph of a README that is of no interest here. ' * 40}\n"
        )
        (info / "entry_points.txt").write_text(
            f"[evalkit.{kinds[number % len(kinds)]}]\n"
            f"stranger-{number} = stranger_{number}.plugin:plugin.yaml\n"
        )


def cpu_seconds(command: list[str], environment: dict[str, str]) -> float:
    """Run a process and give the CPU time that it used.

    Args:
        command: What to run.
        environment: Its environment.

    Returns:
        User and system time, in seconds.
    """
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode:
        sys.exit(f"{command} failed: {errors.decode()}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--distributions", type=int, default=300)
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    options = parser.parse_args()
    script = str(Path(sys.executable).with_name("evalkit"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_distributions(folder / "plugins", options.distributions, options.kinds)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "floor": [sys.executable, "-c", FLOOR],
            "evalkit --help": [script, "--help"],
            "evalkit list": [script, "list"],
            "libraries": [sys.executable, "-c", LIBRARIES],
            "evalkit eval": [script, *evaluation(folder)],
        }
        many = {**os.environ, "PYTHONPATH": str(folder / "plugins")}
        measured = {name: (command, many) for name, command in commands.items()}
        for name in ("floor", "evalkit --help", "evalkit list", "evalkit eval"):
            measured[name + FEW] = commands[name], {**os.environ}
        times: dict[str, list[float]] = {name: [] for name in measured}
        for command, environment in measured.values():
            cpu_seconds(command, environment)
        for _ in range(options.rounds):
            for name, (command, environment) in measured.items():
                times[name].append(cpu_seconds(command, environment))
    print(f"{options.distributions} distributions, medians of {options.rounds} rounds")
    sys.exit(not report(times))


def report(times: dict[str, list[float]]) -> bool:
    """Print what was measured, and tell whether the budgets are kept.

    Args:
        times: Seconds of CPU by what was measured.
    """
    medians = {name: statistics.median(found) for name, found in times.items()}
    worst = 0.0
    for name, found in times.items():
        floor = "floor" + (FEW if name.endswith(FEW) else "")
        if name.removesuffix(FEW) in ("evalkit eval", "libraries"):
            floor = "libraries"
        ratio = medians[name] / medians[floor]
        if name.startswith("evalkit") and floor == "floor":
            worst = max(worst, ratio)
        quartiles = statistics.quantiles(found, n=4)
        print(
            f"{name:29}{medians[name] * 1000:7.1f} ms CPU "
            f"(quartiles {quartiles[0] * 1000:.1f} to {quartiles[2] * 1000:.1f})"
            f"{ratio:7.2f} x {floor}"
        )
    print(f"budget: {BUDGET} x floor; {'kept' if worst <= BUDGET else 'NOT KEPT'}")
    added = medians["evalkit eval"] / medians["evalkit eval" + FEW]
    verdict = "kept" if added <= BUDGET_OF_EVAL else "NOT KEPT"
    print(f"evalkit eval: {added:.2f} x as with few; {BUDGET_OF_EVAL} x; {verdict}")
    return worst <= BUDGET and added <= BUDGET_OF_EVAL


if __name__ == "__main__":
    main()
