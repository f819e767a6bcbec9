"""Measures what it costs to start `evalkit` with 300 plugins installed.

CPU time of `evalkit --help` and `evalkit list`, as multiples of that of a floor: a
process that imports click and reads the metadata of all distributions, as text, with
importlib.metadata. All take turns, so that a busy machine slows them alike, and medians
are compared.

    .venv/bin/python benchmarks/startup.py [--rounds 41] [--distributions 300]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BUDGET = 2.0
KINDS = ("tasks", "datasets", "metrics", "perturbations")

FLOOR = """
import importlib.metadata
import click
for distribution in importlib.metadata.distributions():
    distribution.read_text("METADATA")
    distribution.read_text("entry_points.txt")
"""


def write_distributions(folder: Path, count: int) -> None:
    """Write the metadata of distributions that hold one plugin each.

    Args:
        folder: Where to write them.
        count: How many.
    """
    for number in range(count):
        info = folder / f"stranger_{number}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: stranger-{number}\nVersion: 1.0\n"
            f"Summary: Plugin number {number}\nRequires-Dist: evalkit-core<0.2,>=0.1\n"
            f"\n{'A paragraph of a README that is of no interest here. ' * 40}\n"
        )
        (info / "entry_points.txt").write_text(
            f"[evalkit.{KINDS[number % len(KINDS)]}]\n"
            f"stranger-{number} = stranger_{number}.plugin:Plugin\n"
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
    options = parser.parse_args()
    script = str(Path(sys.executable).with_name("evalkit"))
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "floor": [sys.executable, "-c", FLOOR],
        "evalkit --help": [script, "--help"],
        "evalkit list": [script, "list"],
    }
    with tempfile.TemporaryDirectory() as folder:
        write_distributions(Path(folder), options.distributions)
        environment = {**os.environ, "PYTHONPATH": folder}
        times: dict[str, list[float]] = {name: [] for name in commands}
        for command in commands.values():
            cpu_seconds(command, environment)
        for _ in range(options.rounds):
            for name, command in commands.items():
                times[name].append(cpu_seconds(command, environment))
    medians = {name: statistics.median(found) for name, found in times.items()}
    print(f"{options.distributions} distributions, medians of {options.rounds} rounds")
    for name, found in times.items():
        ratio = medians[name] / medians["floor"]
        quartiles = statistics.quantiles(found, n=4)
        print(
            f"{name:16}{medians[name] * 1000:7.1f} ms CPU "
            f"(quartiles {quartiles[0] * 1000:.1f} to {quartiles[2] * 1000:.1f})"
            f"{ratio:7.2f} x floor"
        )
    worst = max(medians["evalkit --help"], medians["evalkit list"]) / medians["floor"]
    print(f"budget: {BUDGET} x floor; {'kept' if worst <= BUDGET else 'NOT KEPT'}")
    sys.exit(worst > BUDGET)


if __name__ == "__main__":
    main()
