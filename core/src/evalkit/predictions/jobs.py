"""Reads what the job took that made predictions, from the file beside them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from evalkit.base.jobs import Job, JobFigures
from evalkit.base.violations import describe, from_pydantic
from evalkit.errors import DataError
from evalkit.predictions.adapted import AdaptedPredictions
from evalkit.reading.formats import model_name
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
    if isinstance(predictions, AdaptedPredictions):
        predictions = predictions.given
    if not isinstance(predictions, str | Path):
        return None
    given = Path(predictions)
    path = given.with_name(job_file_name(given.name))
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
        return Job("job", JobFigures.model_validate(dict(figures)))
    except ValidationError as error:
        raise DataError(f"job: {describe(from_pydantic(error))}") from error


def _figures(path: Path, content: bytes) -> JobFigures:
    text = None
    try:
        text = content.decode("utf-8-sig")
        return JobFigures.model_validate(decode_json(text))
    except ValidationError as error:
        raise _refusal(path, describe(from_pydantic(error))) from error
    except (ValueError, RecursionError) as error:
        # NaN is no JSON, but what is to be mended is the field that holds it
        raise _refusal(path, _broken_fields(text) or f"no JSON: {error}") from error


def _broken_fields(text: str | None) -> str:
    try:
        JobFigures.model_validate(json.loads(text or ""))
    except ValidationError as error:
        return describe(from_pydantic(error))
    except (ValueError, RecursionError):
        pass
    return ""


def _refusal(path: Path, why: str) -> DataError:
    return DataError(
        f"{path}: {why}. It is read as what the job took that made the predictions "
        "beside it (docs/metrics/job.md); mend it, or call it otherwise"
    )
