"""Kills workers, the scheduler and the driver of evaluations on Dask, and looks.

    python benchmarks/engine_faults.py [--rows 300000] [--kills 20] [--seed 0]

A worker dies at a random moment in each of 20 evaluations, the scheduler in one, and
the driver in one. A run must be as the undisturbed one, and hold the files that it
lists; without one there is an error. No process, temporary file or other run is left.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from engine import EVALUATE, family, write_rows

from evalkit import Result, read_run

MARKS = {"worker": "spawn_main", "scheduler": "local.serve", "driver": "program.py"}
"""Texts in the command of a process."""


class Ended(NamedTuple):
    """How an evaluation ended."""

    seconds: float
    """From the moment at which the workers were there."""
    killed: int
    """Process that was killed; 0 for none."""
    error: str
    left: list[str]
    run: Result | None


def command_of(pid: int) -> str:
    """Return the command of a process; "" for one that ended."""
    try:
        content = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return content.replace(b"\0", b" ").decode()


def evaluate(folder: Path, files: tuple[str, str], victim: str, after: float) -> Ended:
    """Evaluate, and kill a process some seconds after two workers are there."""
    out, temporary = folder / "runs", folder / "tmp"
    temporary.mkdir(parents=True)
    (program := folder / "program.py").write_text(EVALUATE)
    command = [sys.executable, str(program), *files, str(out), "", "2"]
    variables = {**os.environ, "TMPDIR": str(temporary)}
    pipe = subprocess.PIPE
    driver = subprocess.Popen(command, env=variables, stderr=pipe, text=True)
    seen: dict[int, str] = {}
    ready, killed = 0.0, 0
    while driver.poll() is None:
        now = {pid: command_of(pid) for pid in family(driver.pid)}
        seen |= now
        workers = [pid for pid in now if MARKS["worker"] in now[pid]]
        ready = ready or (len(workers) > 1) * time.monotonic()
        if victim and ready and not killed and time.monotonic() - ready > after:
            found = [pid for pid in now if MARKS[victim] in now[pid]]
            if found:
                os.kill(killed := random.choice(found), signal.SIGKILL)
        time.sleep(0.02)
    seconds, error = time.monotonic() - ready, driver.communicate()[1].strip()
    deadline = time.monotonic() + 10
    while left := [f"{p} {c}" for p, c in seen.items() if c and command_of(p) == c]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    left += [str(path) for path in temporary.iterdir()]
    paths = [path for path in out.rglob("*") if path.is_file()]
    folders = sorted({Path(*path.relative_to(out).parts[:2]) for path in paths})
    run = read_run(out / folders[0]) if folders else None
    if run is not None:
        listed = {out / folders[0] / name for name in ("run.json", *run.record.files)}
        left += [str(path) for path in listed ^ {*paths}]
    return Ended(seconds, killed, error, left, run)


def is_same(run: Result, known: Result) -> bool:
    """Tell whether a run has the numbers and the files of another one."""
    examples = [one.examples for one in (run, known) if one.examples is not None]
    return (
        run.frame.equals(known.frame)
        and (run.fingerprint, run.counts) == (known.fingerprint, known.counts)
        and [*run.problems] == [*known.problems]
        and run.record.files.keys() == known.record.files.keys()
        and examples[0].sort("id").equals(examples[1].sort("id"))
    )


def main() -> None:
    """Run all, and print what failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    random.seed(chosen.seed)
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        files = write_rows(Path(name), chosen.rows, "parquet")
        whole = evaluate(Path(name, "whole"), files, "", 0)
        assert whole.run is not None, whole.error
        victims = [*["worker"] * chosen.kills, "scheduler", "driver"]
        for number, victim in enumerate(victims):
            after = random.uniform(0, 0.8 * whole.seconds)
            ended = evaluate(Path(name, str(number)), files, victim, after)
            is_good = not ended.left
            if ended.run is not None:
                is_good &= is_same(ended.run, whole.run)
            else:
                is_good &= victim == "driver" or "EvalkitError" in ended.error
            failures += not is_good
            end = "the same run" if ended.run else ended.error.splitlines()[-1:]
            print(
                f"{'good' if is_good else 'BAD'}: {victim} {ended.killed} killed after "
                f"{after:.1f} s of {ended.seconds:.1f}: {end}, left {ended.left}",
                flush=True,
            )
    raise SystemExit(f"{failures} failures" if failures else 0)


if __name__ == "__main__":
    main()
