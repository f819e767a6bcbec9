"""What a caller gives as perturbed examples: files, tables, rows, and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import polars as pl

from evalkit import Result, find_run, read_run
from evalkit.base.violations import shorten
from evalkit.catalog import is_file_name
from evalkit.errors import EvalkitError, StorageError
from evalkit.examples.row_stages import RowStage
from evalkit.places import FetchedPath, is_remote, local_file
from evalkit.predictions.preparation import Predictions, changed_by
from evalkit.reading.given_rows import rows_of
from evalkit.reporting import count_of
from evalkit.runs.folders import RUN_FILE, runs_root

Given = Sequence[Any] | str | Path | pl.DataFrame | Result
"""Several files, tables or runs, or one."""


class FileSource(NamedTuple):
    """A file of copies and the predictions for it."""

    rows: Predictions
    predictions: Predictions
    name: str
    """How messages call the copies."""
    predictions_name: str

    def changed_by(self, predictions: RowStage | None, rows: RowStage | None) -> Self:
        """Return the same with predictions, and with copies, that stages change."""
        return self._replace(
            predictions=changed_by(self.predictions, predictions),
            rows=changed_by(self.rows, rows),
        )


class RunSource(NamedTuple):
    """A run of which the examples are copies."""

    run: Result
    name: str
    """How messages call the copies."""

    @property
    def predictions_name(self) -> str:
        """How messages call the predictions."""
        return self.name

    def changed_by(self, _predictions: Any, _rows: Any) -> Self:
        """Return the same: what a run holds was changed when it was made."""
        return self


Source = FileSource | RunSource
"""Where copies and the predictions for them are from."""


def pair_sources(
    perturbed: Given, predictions: Given, runs: str | Path = "runs"
) -> list[Source]:
    """Pair files of copies with files of predictions, by position."""
    copies = [
        _copies(each, f"perturbed copies, number {number},", runs)
        for number, each in enumerate(_listed(perturbed, "perturbed"), 1)
    ]
    responses = [
        rows_of(each, f"predictions for perturbed copies, number {number},")
        for number, each in enumerate(_listed(predictions, "perturbed_predictions"), 1)
    ]
    files = [each for each in copies if not isinstance(each, Result)]
    if len(files) != len(responses):
        alone = ""
        if len(files) < len(copies):
            alone = "; a run holds its predictions and takes no file"
        raise EvalkitError(
            f"{count_of(len(files), 'perturbed file')} and "
            f"{count_of(len(responses), 'file')} of predictions for them: give each "
            f"--perturbed FILE its --perturbed-predictions FILE, in the same order"
            f"{alone}"
        )
    answers = iter(responses)
    found: list[Source] = []
    for number, rows in enumerate(copies, 1):
        if isinstance(rows, Result):
            found.append(RunSource(rows, f"the run {rows.run_id}"))
            continue
        given = next(answers)
        name = _name(rows, f"perturbed rows {number}")
        found.append(
            FileSource(rows, given, name, _name(given, f"answers to {Path(name).name}"))
        )
    return found


def find_stored(given: str | Path, runs: str | Path = "runs") -> Path | None:
    """Find the run that a caller may mean by what could be a file too.

    Args:
        given: A path, the start of an id, a model, or `latest`.
        runs: Folder that runs are looked for in.

    Returns:
        The run folder; None where a file is meant, whether it is there or not.

    Raises:
        DataError: It is no file of this machine.
        StorageError: There is neither a file nor a run of this name, or there are
            several such runs.
    """
    path = _file_or_folder(given)
    if path.exists() and not path.is_dir() and path.name != RUN_FILE:
        return None
    try:
        return find_run(given, runs)
    except StorageError as error:
        if path.is_dir():
            raise
        if is_file_name(given):
            return None
        raise StorageError(f"{given}: file not found. As a run: {error}") from error


def _file_or_folder(given: str | Path) -> Path:
    """Return the path of a file or folder, whether it is there or not.

    Of a folder in a store the records of its runs are fetched, and nothing else.
    """
    if isinstance(given, FetchedPath) or not is_remote(str(given)):
        return Path(given)
    return local_file(given) or runs_root(given)


def _copies(given: Any, what: str, runs: str | Path) -> Predictions | Result:
    if isinstance(given, Result):
        return given
    if isinstance(given, str | Path):
        stored = find_stored(given, runs)
        if stored is not None:
            return read_run(stored)
    return rows_of(given, what)


def _listed(given: Any, what: str) -> Sequence[Any]:
    """Return several files, tables or runs, also where there is one."""
    is_one = isinstance(given, str | Path | Result | pl.LazyFrame)
    if is_one or hasattr(given, "__arrow_c_stream__"):
        return [given]
    if isinstance(given, Mapping | bytes) or not isinstance(given, Iterable):
        raise EvalkitError(
            f"{what} must be a list of paths, tables or lists of dicts, found "
            f"{shorten(given)}"
        )
    parts = list(given)
    # rows that were not put into a list of tables
    return [parts] if parts and isinstance(parts[0], Mapping) else parts


def _name(rows: Predictions, otherwise: str) -> str:
    return str(rows) if isinstance(rows, str | Path) else otherwise
