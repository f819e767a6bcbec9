"""Single bits of run folders are flipped: whoever reads the file must notice."""

from __future__ import annotations

import random
from pathlib import Path

from evalkit.errors import EvalkitError, StorageError
from evalkit.runs import Result, find_damage, read_run

from .outcomes import Outcome
from .runs_to_attack import Whole


def read_all(folder: Path) -> Result:
    """Read every file of a run folder.

    Args:
        folder: The run folder.

    Returns:
        The run, with its tables read.

    Raises:
        EvalkitError: A file is not what was written.
    """
    run = read_run(folder)
    _ = (run.examples, run.tables, run.statistics)
    _ = list(run.problems)
    if damage := find_damage(folder):  # also of what only users read
        raise StorageError("; ".join(damage))
    return run


def files_of(folder: Path) -> list[Path]:
    """Return the files of a run folder, in order of their names."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def attack(tries: int, seed: int, whole: Whole) -> Outcome:
    """Flip single bits, one at a time, and read the run.

    Args:
        tries: How many bits, spread evenly over the files of all runs.
        seed: Decides which.
        whole: The runs; each file holds its own bytes again in the end.

    Returns:
        The outcome.
    """
    outcome = Outcome()
    chance = random.Random(f"bits {seed}")
    places = [
        (run, path)
        for run in whole.runs
        for path in files_of(run)
        if path.stat().st_size
    ]
    with outcome.timed():
        for number in range(tries):
            run, path = places[number % len(places)]
            outcome.tries[path.name] += 1
            before = path.read_bytes()
            place, bit = chance.randrange(len(before)), chance.randrange(8)
            changed = bytearray(before)
            changed[place] ^= 1 << bit
            path.write_bytes(changed)
            name = f"{path.relative_to(run)}, byte {place} of {len(before)}, bit {bit}"
            try:
                read_all(run)
                if path.name == "run.json":  # nothing holds its digest
                    outcome.results["another record"] += 1
                else:
                    outcome.faults.append(f"{name}: nobody noticed")
            except EvalkitError as error:
                if str(run) in str(error):
                    outcome.results["named"] += 1
                else:
                    outcome.faults.append(f"{name}: the run is not named: {error}")
            except Exception as error:
                outcome.faults.append(f"{name}: {type(error).__name__}: {error}")
            finally:
                path.write_bytes(before)
    return outcome
