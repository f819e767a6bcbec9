"""Writes predictions, and beside them what made them."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.catalog import model_name
from evalkit.errors import DataError, StorageError
from evalkit.reporting import new_file
from evalkit_models_base.records import FILE as REQUESTS

if TYPE_CHECKING:
    import polars as pl

SYSTEM = ".system.json"
JOB = ".job.json"


def files_of(path: str | Path) -> tuple[Path, Path, Path, Path]:
    """Return the files that are written: predictions, system, job and requests."""
    path = Path(path)
    if path.suffix not in (".jsonl", ".ndjson"):
        raise StorageError(f"{path}: predictions are written as JSON lines (.jsonl)")
    stem = model_name(path)
    names = (SYSTEM, JOB, f".{REQUESTS}")
    system, job, requests = (path.with_name(stem + name) for name in names)
    return path, system, job, requests


def refuse_present(path: str | Path, *, overwrite: bool) -> None:
    """Refuse to write over files of predictions, before anything is asked.

    Raises:
        StorageError: One is there already, or the folder is not.
    """
    files = files_of(path)
    if not files[0].parent.is_dir():
        raise StorageError(f"{files[0].parent}: there is no such folder")
    for file in files:
        if file.exists() and not overwrite:
            raise StorageError(
                f"{file} is there already; choose another name, or say that it may be "
                "replaced (--overwrite, overwrite=True)"
            )


def save(
    path: str | Path,
    rows: Sequence[Mapping[str, Any]],
    system: Mapping[str, Any],
    job: Mapping[str, Any],
    requests: pl.DataFrame | None = None,
    *,
    overwrite: bool,
) -> Path:
    """Write predictions, the system, the job and the requests; predictions last."""
    place, system_file, job_file, requests_file = files_of(path)
    refuse_present(place, overwrite=overwrite)
    figures = {name: figure for name, figure in job.items() if figure is not None}
    with new_file(place, overwrite=overwrite) as rows_part:
        digest = hashlib.sha256()
        with rows_part.open("wb") as stream:
            for row in rows:
                line = _line(row, system["model"])
                digest.update(line)
                stream.write(line)
        of_these = {**system, "predictions_sha256": digest.hexdigest()}
        table = io.BytesIO()
        if requests is not None:
            requests.write_parquet(table)
            sha256 = hashlib.sha256(table.getvalue()).hexdigest()
            of_these["tables"] = {REQUESTS: sha256}
        contents = {
            system_file: _written(system_file, of_these),
            job_file: _written(job_file, figures),
            requests_file: table.getvalue(),
        }
        for file, content in contents.items():
            if content:
                with new_file(file, overwrite=overwrite) as part:
                    part.write_bytes(content)
    return place


def _written(file: Path, said: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(said, ensure_ascii=False, allow_nan=False, indent=2)
        return f"{text}\n".encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{file}: cannot be written as JSON: {error}") from error


def _line(row: Mapping[str, Any], model: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False, default=plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"{model['id']}: the answer to {row.get('id')!r} cannot be written as "
            f"JSON: {error}"
        ) from error
    try:
        return f"{text}\n".encode()
    except UnicodeEncodeError:  # half of a character, which is escaped
        return (json.dumps(row, default=plain) + "\n").encode()


def plain(value: Any) -> Any:
    """Return a number or list of numpy's and the like as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no type of JSON")
