"""Reads what the job took that made predictions, from the file beside them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.base.jobs import Job, JobFigures
from evalkit.errors import DataError
from evalkit.predictions.changed import checked_figures, file_of, read_beside
from evalkit.reading.formats import model_name
from evalkit.reading.given_rows import local_path, path_beside


class JobFile(NamedTuple):
    """The file that tells of a job."""

    job: Job
    sha256: str | None
    """Of its bytes; None where there is none."""

    @property
    def recorded(self) -> dict[str, Any]:
        """What a run records of it: nothing where there is none."""
        if self.job.figures is None:
            return {}
        return {"job": {"sha256": self.sha256, **self.job.figures.model_dump()}}


def job_file_name(predictions: str) -> str:
    """Return the name of the file that tells of the job that made another one.

    Returns:
        It without the suffixes of its format: `a.job.json` for `a.jsonl.gz`.
    """
    return model_name(Path(predictions)) + ".job.json"


def read_job(predictions: Any) -> JobFile | None:
    """Read the file beside a file of predictions.

    Args:
        predictions: The file, or what was given in its place.

    Returns:
        What it says; None where the predictions are of no file.
    """
    file = file_of(predictions)
    if file is None:
        return None
    given = local_path(file)
    path = path_beside(given, job_file_name(given.name))
    found = read_beside(path, JobFigures)
    if found is None:
        return JobFile(Job(path.name, None), None)
    figures, content = found
    return JobFile(Job(path.name, figures), hashlib.sha256(content).hexdigest())


def given_job(figures: Mapping[str, Any]) -> Job:
    """Return the job whose figures are given in Python.

    Args:
        figures: What it took, with the keys of a file.
    """
    try:
        return Job("job", checked_figures(JobFigures, figures))
    except DataError as error:
        raise DataError(f"job: {error}") from error
