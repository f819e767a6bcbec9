"""What a run records of the job that made its predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalkit.base.jobs import Job as KnownJob
from evalkit.base.wording import count_of
from evalkit.predictions.beside import job_file_name
from evalkit.runs.recorded import Job

OF_PARTS = "the job of all parts"
"""Stands for the file that tells of the job of a merged run."""

_SAYS = " says that the job gave "


def known_job(predictions: str | None, recorded: Job | None) -> KnownJob | None:
    """Return what metrics are told of the job of a run."""
    if predictions is None and recorded is None:
        return None
    return KnownJob(_name(predictions), recorded)


def _name(predictions: str | None) -> str:
    return OF_PARTS if predictions is None else job_file_name(predictions)


def job_notices(given: Mapping[str, Any], counts: Mapping[str, int]) -> Iterator[str]:
    """Say that the job gave another number of responses than there are predictions."""
    job = given.get("job") or {}
    rows = counts["predictions"] + counts.get("unselected", 0)
    if job.get("examples") not in (None, rows):
        yield (
            f"{_name(given['name'])}{_SAYS}"
            f"{count_of(job['examples'], 'response')}, and there are "
            f"{count_of(rows, 'prediction')}: rates and means by example are of the "
            "former"
        )
