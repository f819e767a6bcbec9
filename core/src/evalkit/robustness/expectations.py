"""Asks perturbations whether a model's two predictions are as they should be."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evalkit.base.violations import shorten
from evalkit.errors import PluginContractError, PluginError
from evalkit.examples.loading import load_rows
from evalkit.inference.intervals import Floats
from evalkit.plugins.bound import BoundPerturbation
from evalkit.reading.given_rows import local_path
from evalkit.robustness.copies import Copies, Originals
from evalkit.robustness.effects import Effect
from evalkit.robustness.inputs import FileSource
from evalkit.robustness.pairs import Pairs

_VALUES = {"pass": 1.0, "fail": 0.0, "not applicable": np.nan}
"""What an `expect` may say, as numbers."""

_Row = Mapping[str, Any]


class Expectations(NamedTuple):
    """What the `expect` of perturbations says."""

    told: dict[str, Floats]
    """By perturbation, 1 for each pair that passes, 0 for one that fails, nan for one
    to which it does not apply or of which a prediction does not count."""
    problems: dict[str, str]
    """By perturbation, why its `expect` failed."""
    notices: list[str] = []
    """Which copies were not asked about."""


def ask_expectations(
    effects: Mapping[str, Effect],
    originals: Originals,
    copies: Sequence[Copies],
    pairs: Pairs,
    predictions: tuple[pl.Series, Sequence[pl.Series]],
) -> Expectations:
    """Call the `expect` of every perturbation that has one, for all of its pairs.

    The rows of the data and of the copies are read once more, with all their fields. A
    composition of several steps has no `expect`, and a run of copies no texts.

    Args:
        effects: The perturbations.
        originals: What the copies were made of.
        copies: The files.
        pairs: Their pairs.
        predictions: Of the originals, and of the copies of each file.

    Returns:
        What they say; one that fails is not asked any more.
    """
    expecting = {
        name: effect.expecting
        for name, effect in effects.items()
        if effect.expecting is not None
    }
    asked, notices = _askable(expecting, copies)
    counted = pairs.counted & pairs.sample.counted[pairs.originals]
    chosen = pairs.made_by(list(asked)) & counted
    found = {name: np.full(pairs.size, np.nan) for name in asked}
    if not chosen.any():
        return Expectations(found, {}, notices)
    problems: dict[str, str] = {}
    ids = set(pairs.sample.ids.gather(np.unique(pairs.originals[chosen])))
    before = _rows(originals, None, ids, originals.examples.frame)
    for place, (each, start) in enumerate(zip(copies, pairs.starts, strict=True)):
        if not isinstance(each.source, FileSource):
            continue
        numbers = np.flatnonzero(chosen[start : start + len(each.originals)])
        uids = each.examples.frame["id"].gather(numbers)
        rows = each.source.rows
        given = local_path(rows) if isinstance(rows, str | Path) else rows
        after = _rows(originals, given, set(uids), each.examples.frame)
        positions = pairs.originals[start + numbers]
        for number, uid, input_id, name, first, second in zip(
            numbers.tolist(),
            uids,
            pairs.sample.ids.gather(positions),
            each.perturbations.gather(numbers),
            predictions[0].gather(positions).to_list(),
            predictions[1][place].gather(numbers).to_list(),
            strict=True,
        ):
            if name in problems:
                continue
            try:
                found[name][start + number] = _expected(
                    asked[name], before[input_id], after[uid], first, second
                )
            except PluginError as error:
                problems[name] = str(error)
                found[name][:] = np.nan
    return Expectations(found, problems, notices)


def _askable(
    expecting: Mapping[str, BoundPerturbation], copies: Sequence[Copies]
) -> tuple[dict[str, BoundPerturbation], list[str]]:
    """Return those with copies in a file, and say which runs cannot be asked about."""
    in_files: set[str] = set()
    notices = []
    for each in copies:
        names = {*each.perturbations.unique()} & expecting.keys()
        if isinstance(each.source, FileSource):
            in_files |= names
        elif names:
            notices.append(
                f"{each.source.recorded_name}: {', '.join(sorted(names))}: `expect` "
                "was not asked, as a run holds no texts; give the file of copies "
                "instead"
            )
    return {name: expecting[name] for name in expecting if name in in_files}, notices


def _rows(
    originals: Originals, given: Any, ids: Collection[str], frame: pl.DataFrame
) -> dict[str, _Row]:
    """Return rows as dicts by uid, with the tags that they are scored by."""
    loaded = load_rows(originals.dataset, originals.task, originals.split, None, given)
    tags = dict(zip(frame["id"], frame["tags"].to_list(), strict=True))
    return {
        row["uid"]: {**row, "tags": tags[row["uid"]]}
        for row in loaded.named()
        if row["uid"] in ids
    }


def _expected(
    step: BoundPerturbation, original: _Row, perturbed: _Row, first: Any, second: Any
) -> float:
    where = f"{step.component.origin}: expect for the copy {perturbed['uid']!r}"
    offered = {
        "original": original,
        "perturbed": perturbed,
        "original_pred": first,
        "perturbed_pred": second,
    }
    told = step.ask("expect", "copy", perturbed["uid"], offered)
    if not isinstance(told, str) or told not in _VALUES:
        raise PluginContractError(
            f"{where} must return 'pass', 'fail' or 'not applicable', returned "
            f"{shorten(told)}"
        )
    return _VALUES[told]
