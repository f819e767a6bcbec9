"""What the fingerprint of a run is a hash of, all of which its record holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evalkit.plugins.provenance import run_id_of
from evalkit.runs import recorded
from evalkit.runs.record import RunRecord

_INPUTS = {
    *("format", "model", "dataset", "split", "policies", "selection", "by", "cluster"),
    *("confidence", "seed", "min_n", "includes_examples", "core"),
    *("against", "original", "parent", "merged"),
}
"""Fields that are inputs as they are recorded."""


def fingerprint_of(record: RunRecord) -> str:
    """Return the fingerprint of a run: evaluated, scored again or merged."""
    given, perturbation = record.predictions, record.perturbation
    return run_id_of(
        {
            **record.model_dump(include=_INPUTS),
            "data": [record.data.identity.key, *_dumped(record.data.adapters)],
            "kept": sorted(record.kept),
            "predictions": [given.sha256, *_dumped(given.adapters)],
            # what was asked is the same in any file, whatever it took
            "name": None if given.system else given.name,
            "job": None if given.system or not given.job else given.job.sha256,
            "system": given.system and given.system.sha256,
            "extract": _dumped(record.extraction.stages if record.extraction else ()),
            "components": _dumped(record.components),
            "perturbation": perturbation and perturbation.name,
        }
    )


def _dumped(parts: Iterable[recorded.Part]) -> list[dict[str, Any]]:
    return [part.model_dump() for part in parts]
