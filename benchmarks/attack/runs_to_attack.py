"""Makes the runs that are damaged: with copies, statistics, problems and groups."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple

from .commands import run_here
from .inputs import DATASET, IDS
from .oracle import LABELS


class Whole(NamedTuple):
    """Runs that nothing is wrong with, and what they were made of."""

    folder: Path
    """Holds all of them."""
    runs: list[Path]
    """Folders of runs, of three models."""
    predictions: Path


def make_runs(folder: Path) -> Whole:
    """Evaluate three models: two with problems, one with perturbed copies.

    Args:
        folder: Where the runs and their inputs are written.

    Returns:
        The runs.
    """
    chance = random.Random(0)
    predictions = folder / "models"
    predictions.mkdir(parents=True)
    for model, share in (("good", 0.9), ("odd", 0.7)):
        rows = [_answer(name, chance) for name in IDS if chance.random() < share]
        (predictions / f"{model}.jsonl").write_text("".join((*rows, "no JSON\n")))
    copies, answers = folder / "lowercase.jsonl", folder / "copied-lowercase.jsonl"
    _done("perturb", DATASET, "--perturbation", "lowercase", "-o", str(copies))
    names = [json.loads(line)["uid"] for line in copies.read_text("utf-8").splitlines()]
    answers.write_text("".join(_answer(name, chance) for name in names))
    (predictions / "copied.jsonl").write_text(
        "".join(_answer(name, chance) for name in IDS)
    )
    perturbed = ("--perturbed", str(copies), "--perturbed-predictions", str(answers))
    for model, more in (("good", ()), ("odd", ()), ("copied", perturbed)):
        path = str(predictions / f"{model}.jsonl")
        _done(
            *("eval", DATASET, "-p", path, "-m", "accuracy", "-m", "macro-f1"),
            *("--on-missing", "wrong", "--on-invalid", "wrong"),
            *("-o", str(folder / "runs"), *more),
        )
    records = sorted((folder / "runs").glob("*/*/run.json"))
    # the run of the copies stays beside its original, but has other examples
    runs = [path.parent for path in records if not _is_perturbed(path)]
    return Whole(folder / "runs", runs, predictions)


def _is_perturbed(record: Path) -> bool:
    return json.loads(record.read_text("utf-8")).get("perturbation") is not None


def _answer(name: str, chance: random.Random) -> str:
    return json.dumps({"id": name, "label": chance.choice(LABELS)}) + "\n"


def _done(*arguments: str) -> None:
    ended = run_here(*arguments)
    if ended.code:
        raise RuntimeError(f"{' '.join(arguments)}: {ended.err}")
