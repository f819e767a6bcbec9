"""Predictions as they come: what changes their rows, and the files beside them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import polars as pl
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from evalkit.base.jobs import Job, JobFigures
from evalkit.base.violations import from_pydantic, shorten
from evalkit.errors import DataError
from evalkit.examples.row_stages import RowStage
from evalkit.plugins.sources import sha256_of
from evalkit.reading.formats import model_name
from evalkit.reading.given_rows import file_at, local_path, path_beside
from evalkit.reading.rows import decode_json

_Model = TypeVar("_Model", bound=BaseModel)


class ChangedPredictions(NamedTuple):
    """Predictions, and what changes their rows."""

    given: str | Path | pl.DataFrame | Sequence[Mapping[str, Any]]
    """A file or rows, as the model wrote them."""
    stage: RowStage
    """What changes the rows."""


def file_of(predictions: Any) -> str | Path | None:
    """Return the file of predictions; None where they are of none."""
    if isinstance(predictions, ChangedPredictions):
        predictions = predictions.given
    return predictions if isinstance(predictions, str | Path) else None


def read_beside(path: Path, model: type[_Model]) -> tuple[_Model, bytes] | None:
    """Read a JSON file beside predictions."""
    if not (path.exists() or path.is_symlink()):
        return None
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise DataError("not a regular file")
        content = path.read_bytes()
        return checked_figures(model, _decode(content)), content
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except DataError as error:
        raise DataError(
            f"{path}: {error}. It is read with the predictions beside it: fix or "
            "rename it"
        ) from error


def _decode(content: bytes) -> Any:
    try:
        return decode_json(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"invalid JSON: {error}") from error


def checked_figures(model: type[_Model], values: Any) -> _Model:
    """Return values as a model."""
    if not isinstance(values, Mapping):
        raise DataError(f"must be an object, got {shorten(values)}")
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        # what is wrong with several keys at once names them
        raise DataError(
            "; ".join(
                each.rule if each.field == "(row)" else str(each)
                for each in from_pydantic(error)
            )
        ) from error


def job_file_name(predictions: str) -> str:
    """Return the name of the file that tells of the job that made another one."""
    return model_name(Path(predictions)) + ".job.json"


def read_job(predictions: Any) -> Job | None:
    """Read the file beside a file of predictions."""
    file = file_of(predictions)
    if file is None or not Path(file).name:
        return None
    given = local_path(file)
    path = path_beside(given, job_file_name(given.name))
    figures, content = read_beside(path, JobFigures) or (None, b"")
    return Job(path.name, figures, hashlib.sha256(content).hexdigest())


def given_job(figures: Mapping[str, Any]) -> Job:
    """Return the job whose figures are given in Python."""
    try:
        return Job("job", checked_figures(JobFigures, figures))
    except DataError as error:
        raise DataError(f"job: {error}") from error


SUFFIX = ".system.json"


class System(BaseModel):
    """What made predictions, and how it was asked."""

    model_config = ConfigDict(frozen=True, extra="forbid", title="system")

    model: Mapping[str, Any] = Field(
        description="The model: its id, parameters and version, and what it says of "
        "itself."
    )
    prompt: Mapping[str, Any] | None = Field(
        None, description="How it was asked; null where it answers inputs as they are."
    )
    extract: str | list[Any] | None = Field(
        None, description="What takes the answer out of a reply, unless a user says it."
    )

    predictions_sha256: str | None = Field(
        None, description="Of the file of predictions that it tells of."
    )
    tables: Mapping[str, str] = Field(
        {}, description="SHA-256 of tables that a run keeps, by name: files STEM.NAME."
    )

    @field_validator("extract")
    @classmethod
    def _holds_stages(cls, extract: Any) -> Any:
        is_said = not isinstance(extract, str) or re.search("[|]|:(?!//)", extract)
        if not is_said and extract.endswith((".yaml", ".yml", ".json")):
            raise ValueError("must be extractors, and not a file of them")
        return extract

    @model_validator(mode="before")
    @classmethod
    def _can_be_recorded(cls, values: Any) -> Any:
        json.dumps(values, allow_nan=False)
        return values

    @property
    def recorded(self) -> dict[str, Any]:
        """What a run records of it; of the predictions it has another digest.

        What a prompt and the file of its shots are called is no part of the digest.
        """
        said = self.model_dump(mode="json", exclude={"predictions_sha256", "tables"})
        told = {k: each for k, each in (said["prompt"] or {}).items() if k != "name"}
        if "shown" in told and isinstance(told.get("shots"), dict):
            told["shots"] = {k: v for k, v in told["shots"].items() if k != "source"}
        identity = {**said, "prompt": None if said["prompt"] is None else told}
        text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
        sha256 = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return {"sha256": sha256, **said, "tables": self.tables}


def read_system(predictions: Any) -> System | None:
    """Read the file beside a file of predictions."""
    file = file_of(predictions)
    path = None if file is None else system_file(file)
    found = None if path is None else read_beside(path, System)
    if file is None or found is None:
        return None
    given, system = file_at(file), found[0]
    if system.predictions_sha256 not in (None, sha256_of(given)):
        raise DataError(f"{path}: tells of other predictions than {given} holds now")
    return system


def tables_beside(predictions: Any, digests: Mapping[str, str]) -> dict[str, Any]:
    """Read the tables beside a file of predictions that a run keeps."""
    given, found = file_at(predictions) if digests else Path(), {}
    for name, digest in digests.items():
        path = path_beside(given, f"{model_name(given)}.{name}")
        if not path.is_file() or sha256_of(path) != digest:
            raise DataError(f"{path}: not the table that {system_file(given)} names")
        found[name] = pl.read_parquet(path)
    return found


def system_file(predictions: str | Path) -> Path | None:
    """Return the file that tells of a file of predictions, which need not be there."""
    given = file_at(predictions)
    return path_beside(given, model_name(given) + SUFFIX) if given.name else None
