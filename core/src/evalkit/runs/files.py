"""Reads the files of a run folder, and says which one is broken."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.base.violations import Violation, shorten
from evalkit.errors import StorageError
from evalkit.predictions.problems import STATUSES, Problem, Problems
from evalkit.runs.results import FORMAT_VERSION, Score
from evalkit.runs.storage import (
    EXAMPLES_FILE,
    PERTURBED_FILE,
    PROBLEMS_FILE,
    RUN_FILE,
)

if TYPE_CHECKING:
    import polars as pl

_REQUIRED: Mapping[str, type | tuple[type, ...]] = {
    "format": int,
    "run_id": str,
    "status": str,
    "dataset": str,
    "counts": dict,
    "scores": list,
}
"""Keys that every run.json has, and the type of their values."""

_POLICIES = {"on_missing", "on_invalid", "on_duplicate"}

_VALID: Mapping[str, Callable[[Any], bool]] = {
    "split": lambda value: isinstance(value, str),
    "confidence": lambda value: _is_number(value) and 0 < value < 1,
    "seed": lambda value: _is_whole(value),
    "min_n": lambda value: _is_whole(value) and value >= 1,
    "interval_rules": lambda value: _is_whole(value) and value >= 1,
    "resample_lists": lambda value: isinstance(value, bool),
    "includes_examples": lambda value: isinstance(value, bool),
    "policies": lambda value: isinstance(value, dict) and value.keys() == _POLICIES,
    "components": lambda value: _are_components(value),
}
"""Tells of keys that older runs may lack whether their values can be."""

_SHOWN_COLUMNS = ("id", "tags", "status")
"""Columns that every examples.parquet has."""


def read_record(folder: Path) -> dict[str, Any]:
    """Read the `run.json` of a run folder.

    Args:
        folder: The run folder.

    Returns:
        All that it holds, the scores under `scores` as they are stored.

    Raises:
        StorageError: It cannot be read, is no record of a run, or is of a newer format.
    """
    path = folder / RUN_FILE
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise _foreign(path, "it holds no object")
    for key, kind in _REQUIRED.items():
        if not isinstance(record.get(key), kind):
            raise _foreign(path, f"{key!r} is {shorten(record.get(key))}")
    if record["format"] > FORMAT_VERSION:
        raise StorageError(
            f"{path}: was written by a newer evalkit, in format {record['format']}; "
            f"this one reads up to format {FORMAT_VERSION}. Upgrade evalkit-core"
        )
    for key, is_valid in _VALID.items():
        if key in record and not is_valid(record[key]):
            raise _foreign(path, f"{key!r} is {shorten(record[key])}")
    return record


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_whole(value) or isinstance(value, float)


def _are_components(value: Any) -> bool:
    """Tell whether there is a component, and each names a plugin and parameters."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(each, dict)
            and isinstance(each.get("id"), str)
            and isinstance(each.get("parameters"), dict)
            for each in value
        )
    )


def scores_of(record: Mapping[str, Any], folder: Path) -> list[Score]:
    """Make score records of what `run.json` holds.

    Args:
        record: What `read_record` gave.
        folder: The run folder, for messages.

    Returns:
        The scores. A field that a run of an older evalkit does not have yet gets its
        default; one that this evalkit does not know is left out.

    Raises:
        StorageError: One lacks a field, or holds a value of another type.
    """
    from pydantic import TypeAdapter, ValidationError

    rows = [
        {key: value for key, value in row.items() if key in Score._fields}
        if isinstance(row, dict)
        else row
        for row in record["scores"]
    ]
    try:
        return TypeAdapter(list[Score]).validate_python(rows)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        why = f"scores.{place}: {first['msg']}"
        raise _foreign(folder / RUN_FILE, why) from error


def read_examples(folder: Path) -> pl.DataFrame | None:
    """Read the `examples.parquet` of a run folder.

    Args:
        folder: The run folder.

    Returns:
        One row for each example; None where the run has no such file.

    Raises:
        StorageError: It cannot be read, or holds no examples of a run.
    """
    return _read_parquet(folder / EXAMPLES_FILE, _SHOWN_COLUMNS)


def read_perturbed_examples(folder: Path) -> pl.DataFrame | None:
    """Read the `perturbed.parquet` of a run folder.

    Args:
        folder: The run folder.

    Returns:
        One row for each perturbed copy; None where the run has no such file.

    Raises:
        StorageError: It cannot be read, or holds no copies of examples.
    """
    columns = (*_SHOWN_COLUMNS, "input_id", "perturbation")
    return _read_parquet(folder / PERTURBED_FILE, columns)


def _read_parquet(path: Path, columns: Sequence[str]) -> pl.DataFrame | None:
    import polars as pl

    if not path.exists():
        return None
    try:
        frame = pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).partition("\n")[0]
        raise _unreadable(path, f"is no Parquet file: {reason}") from error
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise StorageError(
            f"{path}: is not what evalkit writes: it has no column {missing[0]!r}"
        )
    return frame


def read_problems(folder: Path) -> Problems:
    """Read the `problems.jsonl` of a run folder.

    Args:
        folder: The run folder.

    Returns:
        The problems, kept on disk once they are many.

    Raises:
        StorageError: It cannot be read, or a line of it is no problem.
    """
    return Problems(_iterate_problems(folder / PROBLEMS_FILE))


def _iterate_problems(path: Path) -> Iterator[Problem]:
    number = 0
    try:
        with path.open("rb") as stream:
            for line in stream:
                number += 1
                yield _problem(json.loads(line))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StorageError(
            f"{path}, line {number}: is no record of a problem: {error!r}"
        ) from error


def _problem(row: Any) -> Problem:
    if row["status"] not in STATUSES:
        raise ValueError(f"unknown status {row['status']!r}")
    if not isinstance(row["line"], int | None):
        raise TypeError(f"the line is {row['line']!r}")
    violations = tuple(
        Violation(found["field"], found["rule"], found["value"])
        for found in row["violations"]
    )
    newer = {name: row[name] for name in Problem._field_defaults if name in row}
    return Problem(row["status"], row["line"], row["id"], violations, **newer)


def _unreadable(path: Path, why: str) -> StorageError:
    return StorageError(f"{path}: {why}")


def _foreign(path: Path, why: str) -> StorageError:
    return StorageError(f"{path}: is no record of a run: {why}")
