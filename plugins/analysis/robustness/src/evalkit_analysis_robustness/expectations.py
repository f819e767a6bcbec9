"""Asks perturbations whether a model's two predictions are as they should be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evalkit.base.violations import shorten
from evalkit.catalog import BoundPerturbation, local_path
from evalkit.errors import PluginContractError
from evalkit.examples.loading import load_rows
from evalkit.predictions.table import prediction_column
from evalkit.statistics.clusters import Floats
from evalkit_analysis_robustness.examples import Originals, Perturbed
from evalkit_analysis_robustness.pairs import Mask
from evalkit_analysis_robustness.sources import FileSource

_VALUES = {"pass": 1.0, "fail": 0.0, "not applicable": np.nan}
"""The values that `expect` may return, as numbers."""

_Row = Mapping[str, Any]


def ask_expectation(
    step: BoundPerturbation, originals: Originals, part: Perturbed, counted: Mask
) -> Floats:
    """Call the `expect` of a perturbation for all of its pairs.

    The rows of the dataset and of the file are read again, with all their fields.
    """
    assert isinstance(part.source, FileSource)
    found: Floats = np.full(len(part.originals), np.nan)
    if not counted.any():
        return found
    examples, numbers = originals.examples, np.flatnonzero(counted)
    positions = part.originals[numbers]
    input_ids = examples.frame["id"].gather(positions)
    uids = part.examples.frame["id"].gather(numbers)
    rows = part.source.rows
    given = local_path(rows) if isinstance(rows, str | Path) else rows
    before = _rows(originals, None, set(input_ids), examples.frame)
    after = _rows(originals, given, set(uids), part.examples.frame)
    first = prediction_column(examples, originals.prepared.alignment.predictions)
    second = prediction_column(part.examples, part.alignment.predictions)
    for number, uid, input_id, one, other in zip(
        numbers.tolist(),
        uids,
        input_ids,
        first.gather(positions).to_list(),
        second.gather(numbers).to_list(),
        strict=True,
    ):
        found[number] = _expected(step, before[input_id], after[uid], one, other)
    return found


def _rows(
    originals: Originals, given: Any, ids: set[str], frame: pl.DataFrame
) -> dict[str, _Row]:
    """Return rows as dicts by uid, with the tags that they are scored by."""
    asked = originals.asked
    loaded = load_rows(asked.dataset, asked.task, asked.split, None, given)
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
    outcome = step.call("expect", ("copy", perturbed["uid"]), **offered)
    if not isinstance(outcome, str) or outcome not in _VALUES:
        raise PluginContractError(
            f"{where} must return 'pass', 'fail' or 'not applicable', returned "
            f"{shorten(outcome)}"
        )
    return _VALUES[outcome]
