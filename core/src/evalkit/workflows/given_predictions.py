"""The predictions of an evaluation: a file, rows, or the responses of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.progress import Progress
from evalkit.errors import StorageError
from evalkit.places.names import FetchedPath, is_remote
from evalkit.plugins.importing import find_owner, name_owner
from evalkit.predictions.kept_responses import keep_responses, restore_responses
from evalkit.predictions.preparation import Predictions, Prepared, default_model
from evalkit.predictions.row_sources import RowSource
from evalkit.reading.given_rows import rows_of
from evalkit.runs.accounts import known_job
from evalkit.runs.comparability import find_differences
from evalkit.runs.folders import is_run
from evalkit.runs.options import EvaluationOptions
from evalkit.runs.results import Result
from evalkit.runs.stored import read_run

_DATA = ("task", "dataset", "version", "data", "split")


class GivenPredictions(NamedTuple):
    """Predictions that can be read, and where they came from."""

    predictions: Predictions
    responses: Callable[[], pl.DataFrame | None]
    """Returns them in the form in which a run keeps them."""
    options: EvaluationOptions
    """Options with what the earlier run recorded of its responses."""
    run: Result | None = None
    """The earlier run."""

    @property
    def model(self) -> str:
        """The default name of the model."""
        of_run = None if self.run is None else self.run.model
        return of_run or default_model(self.predictions)

    def keep_in(self, result: Result) -> None:
        """Let a result hold the responses, unless it was made without examples."""
        if result.record.includes_examples:
            result.responses_of = self.responses
        if self.run is None:
            return
        differences = find_differences(self.run.record, result.record)
        if text := "; ".join(str(each) for each in differences if each.field in _DATA):
            notice = f"the predictions come from a run that differs in {text}"
            result.amend(notices=(*result.notices, notice))

    def told(self, prepared: Prepared) -> Prepared:
        """Return what was prepared with the source that the earlier run recorded."""
        if self.run is None:
            return prepared
        recorded = self.run.record.predictions
        source = recorded.model_dump(include={"name", "sha256"})
        source |= recorded.model_dump(include={"job", "system"}, exclude_none=True)
        job = known_job(recorded.name, recorded.job)
        given = {**prepared.predictions, **source}
        return prepared._replace(predictions=given, job=job or prepared.job)


@contextmanager
def open_predictions(
    predictions: Any, options: EvaluationOptions, progress: Progress
) -> Iterator[GivenPredictions]:
    """Yield predictions in a form that can be read.

    The responses of a run go through the adapters and extractors that the run recorded
    for them where the options name none.
    """
    run = _run_of(predictions)
    if run is None:
        may_be_folder = options.rows is not None and options.rows.reads_folders
        rows = rows_of(predictions, progress=progress, may_be_folder=may_be_folder)
        yield GivenPredictions(rows, partial(keep_responses, rows), options)
        return
    kept = run.responses
    if kept is None:
        raise StorageError(
            f"{run.path or run.run_id}: the run holds no responses: it is of perturbed "
            "examples or of other runs, was made with --no-examples, or of a line that "
            "is too long or a value that JSON lacks. Give the file of predictions"
        )
    with TemporaryDirectory(prefix="evalkit-responses-") as folder:
        rows = restore_responses(kept, run.record.predictions.name, Path(folder))
        own = _with_recorded(options, run)
        yield GivenPredictions(rows, lambda: kept, own, run)


def _run_of(predictions: Any) -> Result | None:
    if isinstance(predictions, Result):
        return predictions
    if not isinstance(predictions, str | Path):
        return None
    if is_remote(str(predictions)) and not isinstance(predictions, FetchedPath):
        return None
    return read_run(predictions) if is_run(Path(predictions)) else None


def _with_recorded(options: EvaluationOptions, run: Result) -> EvaluationOptions:
    stages = [adapter.stage for adapter in run.record.predictions.adapters]
    extraction = run.record.extraction
    extract: list[dict[str, Any]] | None = []
    if extraction is not None:
        is_own = extraction.chosen_by == "user"
        extract = [each.stage for each in extraction.stages] if is_own else None
    owner = find_owner("datasets", "adapters")
    if owner is None:
        if stages or extract:
            raise StorageError(
                f"{run.path or run.run_id}: its responses went through adapters or "
                f"extractors. Install {name_owner('datasets', 'adapters')}"
            )
        return options
    source: RowSource = owner((), options.rows)
    return replace(options, rows=source.with_recorded(stages, extract))
