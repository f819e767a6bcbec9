"""Commands are killed at random moments: what they leave is whole, or no result."""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path

from evalkit.errors import EvalkitError

from .bit_flips import read_all
from .commands import run_apart, start
from .inputs import DATASET
from .outcomes import Outcome
from .runs_to_attack import Whole

COMMANDS: dict[str, tuple[str, ...]] = {
    "eval": ("eval", DATASET, "-p", "{model}", "--on-missing", "wrong", "-o", "out"),
    "perturb": (
        "perturb",
        DATASET,
        "--perturbation",
        "keyboard-typos",
        "-o",
        "o.jsonl",
    ),
}


def attack(tries: int, seed: int, whole: Whole, folder: Path) -> Outcome:
    """Kill commands at random moments, look at what is left, and give them again.

    Args:
        tries: How many kills.
        seed: Decides when; the same seed kills at the same shares of the usual time.
        whole: Gives the predictions.
        folder: Where commands write.

    Returns:
        The outcome.
    """
    outcome = Outcome()
    chance = random.Random(f"kills {seed}")
    model = str(whole.predictions / "good.jsonl")
    with outcome.timed():
        usual, wanted = {}, {}
        for name, given in COMMANDS.items():
            here = folder / f"usual-{name}"
            here.mkdir()
            started = time.perf_counter()
            ended = run_apart(*_arguments(given, model), folder=here)
            usual[name] = time.perf_counter() - started
            if ended.code:
                raise RuntimeError(f"{name}: {ended.err}")
            wanted[name] = _results(here)
        for number in range(tries):
            name = chance.choice(list(COMMANDS))
            outcome.tries[name] += 1
            share = chance.random() * 1.1
            here = folder / f"killed-{number}"
            here.mkdir()
            process = start(*_arguments(COMMANDS[name], model), folder=here)
            time.sleep(usual[name] * share)
            os.killpg(process.pid, 9)
            process.wait()
            label = f"{name}, killed after {share:.0%} of its usual time"
            left = _results(here)
            outcome.results["nothing" if not left else "a result"] += 1
            if left and left != wanted[name]:
                outcome.faults.append(f"{label}: left {left}")
            again = run_apart(*_arguments(COMMANDS[name], model), folder=here)
            is_refused = name == "perturb" and left and "is there already" in again.err
            if again.code and not is_refused:
                outcome.faults.append(f"{label}: then: {again.err.strip()[:200]}")
            elif _results(here) != wanted[name]:
                outcome.faults.append(f"{label}: given again it has another result")
            shutil.rmtree(here)
    return outcome


def _arguments(given: tuple[str, ...], model: str) -> list[str]:
    return [argument.format(model=model) for argument in given]


def _results(here: Path) -> dict[str, object]:
    """Return what passes for a result in a folder: ids of runs, contents of copies."""
    found: dict[str, object] = {}
    for path in here.glob("out/*/*/run.json"):
        try:
            run = read_all(path.parent)
            found[run.run_id] = [score[:6] for score in run.scores]
        except EvalkitError as error:
            found[path.parent.name] = f"broken: {error}"
    for path in here.glob("o.jsonl"):
        found[path.name] = path.read_bytes()
    return found
