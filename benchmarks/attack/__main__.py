"""Attacks evalkit for about an hour, or a sample of it for a minute.

Usage: python -m benchmarks.attack [--sample] [--seed N] [--part NAME …] [--json]

Exit codes: 0 no promise was broken; 1 at least one was.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("EVALKIT_OFFLINE", "1")

from . import bit_flips, hostile_plugins, inputs, kills, power_loss, run_folders
from .outcomes import Outcome
from .runs_to_attack import Whole, make_runs

Part = Callable[[int, int, Whole, Path], Outcome]

PARTS: dict[str, tuple[Part, int, int]] = {
    "inputs": (lambda n, seed, _whole, at: inputs.attack(n, seed, at), 1000, 20),
    "bit flips": (
        lambda n, seed, whole, _at: bit_flips.attack(n, seed, whole),
        4500,
        60,
    ),
    "run folders": (run_folders.attack, 500, 2),
    "hostile plugins": (
        lambda n, seed, _whole, at: hostile_plugins.attack(n, seed, at),
        len(hostile_plugins.HOSTILE),
        1,
    ),
    "kills": (kills.attack, 40, 2),
    "power loss": (
        lambda n, _seed, whole, at: power_loss.attack(n, whole, at),
        10_000,
        3,
    ),
}
"""Each part, with its number of tries and that of a sample."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", action="store_true", help="about a minute")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", action="append", choices=list(PARTS))
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    found: dict[str, Outcome] = {}
    folder = Path(tempfile.mkdtemp(prefix="evalkit-attack-"))
    try:
        whole = make_runs(folder / "whole-runs")
        for name in given.part or PARTS:
            part, tries, few = PARTS[name]
            place = folder / name.replace(" ", "-")
            place.mkdir()
            shown = sys.stderr if given.json else sys.stdout
            found[name] = part(few if given.sample else tries, given.seed, whole, place)
            _show(name, found[name], shown)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.json:
        print(json.dumps({name: each.to_dict() for name, each in found.items()}))
    return int(any(each.faults for each in found.values()))


def _show(name: str, outcome: Outcome, stream: object) -> None:
    results = ", ".join(f"{count} {word}" for word, count in outcome.results.items())
    print(
        f"{name:16} {sum(outcome.tries.values()):6} tries  {len(outcome.faults):4} "
        f"faults  {outcome.seconds:7.1f} s  {results}",
        file=stream,  # type: ignore[arg-type]
        flush=True,
    )
    for fault in outcome.faults:
        print(f"  {fault}", file=stream, flush=True)  # type: ignore[arg-type]


if __name__ == "__main__":
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores", file=sys.stderr
    )
    sys.exit(main())
