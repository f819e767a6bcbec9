"""Finds the effects of perturbations on a run: in memory, or in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit import Result, Score, read_run
from evalkit.base.copies import FAMILY
from evalkit.errors import StorageError
from evalkit.places import FetchedPath
from evalkit.runs import list_runs, recorded

EFFECTS_FILE = "effects.parquet"
"""Scores under one perturbation, in the run of its examples."""

FAMILIES_FILE = "families.parquet"
"""Scores under families of perturbations, in the run of the unperturbed examples."""

EXPECTED_FILE = "expected.parquet"
"""What `expect` returned for each perturbed example, in the run of these."""


class Effects(NamedTuple):
    """The effects of perturbations on one run."""

    runs: Sequence[Result]
    """The runs of the perturbed examples, by the name of the perturbation."""
    scores: Sequence[Score]
    """Scores under perturbation: by metric, then by perturbation and family."""

    @property
    def perturbations(self) -> list[recorded.Perturbation]:
        """The perturbations, in the order of the runs."""
        known = (run.record.perturbation for run in self.runs)
        return [each for each in known if each is not None]

    def members(self, perturbation: str) -> list[str]:
        """Return the perturbations that a name stands for.

        Args:
            perturbation: A perturbation, or `family:NAME`.

        Returns:
            Their names; empty if there are none.
        """
        family = perturbation.removeprefix(FAMILY)
        return [
            each.name
            for each in self.perturbations
            if each.name == perturbation
            or (
                perturbation.startswith(FAMILY)
                and each.label_effect != "uncertain"
                and family in each.families
            )
        ]

    @property
    def names(self) -> list[str]:
        """The perturbations, then the families of those that are not uncertain."""
        families = {
            f"{FAMILY}{family}"
            for each in self.perturbations
            if each.label_effect != "uncertain"
            for family in each.families
        }
        return [*(each.name for each in self.perturbations), *sorted(families)]


def find_effects(result: Result) -> Effects:
    """Find the effects of perturbations on a run.

    Args:
        result: A run of unperturbed examples, or of perturbed ones.

    Returns:
        The effects, without runs and scores if it was evaluated without perturbed
        examples. For a run of perturbed examples, those of its perturbation.

    Raises:
        StorageError: A run cannot be read.
    """
    if result.record.perturbation is not None:
        return Effects([result], _scores(result, EFFECTS_FILE))
    if result.perturbed is None:
        path = result.path
        result.perturbed = [] if path is None else _stored(result, path)
    runs = result.perturbed
    scores = [score for run in runs for score in _scores(run, EFFECTS_FILE)]
    scores += _scores(result, FAMILIES_FILE)
    order = {score.metric: place for place, score in reversed([*enumerate(scores)])}
    return Effects(runs, sorted(scores, key=lambda score: order[score.metric]))


def record_of(result: Result) -> dict[str, Any]:
    """Return what `run.json` holds, with the runs of perturbed examples.

    Args:
        result: A run of unperturbed examples.

    Returns:
        Its record; in `perturbed` those of the perturbed examples, each with the
        `effects` of its perturbation, and in `families` those of families.
    """
    effects = find_effects(result)
    perturbed = [
        {
            **run.to_dict(),
            "effects": [score._asdict() for score in _scores(run, EFFECTS_FILE)],
        }
        for run in effects.runs
    ]
    families = [score._asdict() for score in _scores(result, FAMILIES_FILE)]
    return {**result.to_dict(), "perturbed": perturbed, "families": families}


def find_original(result: Result) -> Result:
    """Find the run of the unperturbed examples."""
    wanted, path = result.record.original, result.path
    for run in [] if path is None else list_runs(_folder_of(path)):
        if run.record.fingerprint == wanted:
            return read_run(run.path)
    raise StorageError(
        f"{path or result.run_id}: the run of the unperturbed examples ({wanted}) is "
        "not in the folder of the run"
    )


def _stored(result: Result, path: Path) -> list[Result]:
    """Read the runs of perturbed examples that were evaluated with a run."""
    runs = []
    for name in result.record.perturbed_runs:
        try:
            run = read_run(f"{_folder_of(path)}/{name}")
            _scores(run, EFFECTS_FILE)
        except StorageError as error:
            notice = f"effects of a perturbation are missing: {error}"
            result.amend(notices=(notice, *result.notices))
        else:
            runs.append(run)
    return runs


def _folder_of(path: Path) -> str:
    """Return the path or URI of the folder that holds a run folder."""
    path = path if isinstance(path, FetchedPath) else path.resolve()
    return str(path).rpartition("/")[0]


def _scores(result: Result, name: str) -> list[Score]:
    frame = result.tables.get(name)
    if frame is None:
        return []
    return [Score(**row) for row in frame.iter_rows(named=True)]
