"""Tries whether the kit finds violations of stated laws, and takes what breaks none.

Run it as

    python -m benchmarks.violations [--only ID] [--jobs 2] [--json FILE]

Each violation is a change of a copy of one of our own plugins. The kit's check of its
kind is run on the copy, as its author would run it, and on each unchanged copy.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.violations.entry import Violation
from benchmarks.violations.every import EVERY
from benchmarks.violations.running import Outcome, checked

UNCHANGED = "unchanged"


def main() -> None:
    """Try all, or those that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="an id; may be repeated")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="a file for all that was said")
    given = parser.parse_args()
    chosen = [each for each in EVERY if not given.only or each.id in given.only]
    if not chosen:
        parser.error(f"there is no {', '.join(given.only)}")
    plugins = list(dict.fromkeys(each.plugin for each in chosen))
    began = time.perf_counter()
    with ThreadPoolExecutor(given.jobs) as pool:
        changed = list(pool.map(_told, chosen))
        unchanged = list(pool.map(_plain, plugins))
    if given.json:
        said = {
            each.id: out._asdict() for each, out in zip(chosen, changed, strict=True)
        }
        plain = {
            name: out._asdict() for name, out in zip(plugins, unchanged, strict=True)
        }
        given.json.write_text(json.dumps({"changed": said, UNCHANGED: plain}, indent=1))
    _summarise(chosen, changed, plugins, unchanged)
    print(f"{time.perf_counter() - began:.0f} s, {given.jobs} at a time")


def _told(violation: Violation) -> Outcome:
    outcome = checked(violation.plugin, violation)
    said = outcome.found or outcome.failed or "NOT FOUND"
    print(f"{violation.id:18} {violation.plugin:34} {said:18} {violation.law}")
    return outcome


def _plain(plugin: str) -> Outcome:
    outcome = checked(plugin)
    if outcome != Outcome("", "", ""):
        said = outcome.found or outcome.failed
        print(f"{UNCHANGED:18} {plugin:34} FALSE ALARM {said}: {outcome.message}")
    return outcome


def _summarise(
    chosen: Sequence[Violation],
    changed: Sequence[Outcome],
    plugins: Sequence[str],
    unchanged: Sequence[Outcome],
) -> None:
    kinds = [each.id.partition("-")[0] for each in chosen]
    total = Counter(kinds)
    found = Counter(
        kind for kind, outcome in zip(kinds, changed, strict=True) if outcome.found
    )
    print()
    for kind, count in total.items():
        print(f"{kind:18} {found[kind]:3} of {count:3} found")
    alarms = sum(outcome != Outcome("", "", "") for outcome in unchanged)
    all_found, all_tried = sum(found.values()), len(chosen)
    share = 100 * all_found / all_tried
    print(f"{'all':18} {all_found:3} of {all_tried:3} found, {share:.0f} %")
    print(f"{'false alarms':18} {alarms:3} of {len(plugins):3} unchanged copies")


if __name__ == "__main__":
    main()
