"""Reads what the job took that made predictions, from the file beside them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from evalkit.base.jobs import Job, JobFigures
from evalkit.base.violations import from_pydantic, shorten
from evalkit.errors import DataError
from evalkit.predictions.changed import ChangedPredictions
from evalkit.reading.formats import model_name
from evalkit.reading.given_rows import local_path, path_beside
from evalkit.reading.rows import decode_json

SUFFIX = ".job.json"


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

    Args:
        predictions: The name of the file of predictions.

    Returns:
        It without the suffixes of its format: `a.job.json` for `a.jsonl.gz`.
    """
    return model_name(Path(predictions)) + SUFFIX


def read_job(predictions: Any) -> JobFile | None:
    """Read the file beside a file of predictions.

    Args:
        predictions: The file, or what was given in its place.

    Returns:
        What it says; None where the predictions are of no file.

    Raises:
        DataError: It cannot be read, or breaks the schema of such files.
    """
    if isinstance(predictions, ChangedPredictions):
        predictions = predictions.given
    if not isinstance(predictions, str | Path):
        return None
    given = local_path(predictions)
    path = path_beside(given, job_file_name(given.name))
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return JobFile(Job(path.name, None), None)
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{path}: cannot be read: {reason}") from error
    figures = _figures(path, content)
    return JobFile(Job(path.name, figures), hashlib.sha256(content).hexdigest())


def given_job(figures: Mapping[str, Any]) -> Job:
    """Return the job whose figures are given in Python.

    Args:
        figures: What it took, with the keys of a file.

    Raises:
        DataError: They break the schema of such files.
    """
    try:
        return Job("job", _checked(figures))
    except DataError as error:
        raise DataError(f"job: {error}") from error


def _figures(path: Path, content: bytes) -> JobFigures:
    text = ""
    try:
        text = content.decode("utf-8-sig")
        return _checked(decode_json(text))
    except DataError as error:
        raise _refusal(path, error) from error
    except (ValueError, RecursionError) as error:
        # NaN is no JSON, but what is to be mended is the field that holds it
        raise _refusal(path, _broken_field(text) or f"no JSON: {error}") from error


def _checked(figures: Any) -> JobFigures:
    if not isinstance(figures, Mapping):
        raise DataError(f"must be an object, found {shorten(figures)}")
    try:
        return JobFigures.model_validate(dict(figures))
    except ValidationError as error:
        raise DataError(_said(error)) from error


def _said(error: ValidationError) -> str:
    """Describe what is wrong; what is wrong with several keys at once names them."""
    return "; ".join(
        each.rule if each.field == "(row)" else str(each)
        for each in from_pydantic(error)
    )


def _broken_field(text: str) -> DataError | None:
    try:
        _checked(json.loads(text))
    except DataError as error:
        return error
    except (ValueError, RecursionError):
        pass
    return None


def _refusal(path: Path, why: DataError | str) -> DataError:
    return DataError(
        f"{path}: {why}. It is read as what the job took that made the predictions "
        "beside it (docs/metrics/job.md); mend it, or call it otherwise"
    )
