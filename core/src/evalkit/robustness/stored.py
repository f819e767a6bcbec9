"""Makes perturbed copies of what runs hold: of a run of them, and of one's pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np
import polars as pl

from evalkit.base.columns import frame_of
from evalkit.base.copies import INPUT_ID, PERTURBATION
from evalkit.base.terms import AnswerKind
from evalkit.base.wording import count_of
from evalkit.errors import AlignmentError, SchemaError, StorageError
from evalkit.examples.copy_columns import PROBLEM, stored_columns
from evalkit.examples.fingerprints import DataIdentity
from evalkit.examples.table import Examples
from evalkit.predictions.alignment import Alignment, OnDuplicate
from evalkit.predictions.matching import IdIndex
from evalkit.predictions.problems import Problems
from evalkit.robustness.copies import Copies, Originals, place_copies
from evalkit.robustness.inputs import RunSource
from evalkit.runs.column_tables import stored_lacking
from evalkit.runs.record import RunRecord
from evalkit.runs.results import Result
from evalkit.runs.stored import (
    answer_kind,
    examples_of,
    refuse_without_answers,
    scored_fields,
)


def copies_of_run(
    source: RunSource, originals: Originals, on_duplicate: OnDuplicate
) -> Copies:
    """Return the examples of a run as copies, with the predictions that it holds.

    Neither the file of copies nor the predictions are read again. Which of several
    rows with one id counts, the run has settled.

    Args:
        source: The run.
        originals: What the copies were made of.
        on_duplicate: What an evaluation now would do with such rows.

    Returns:
        The copies.

    Raises:
        AlignmentError: They are copies of other data, of another task, or their ids
            are not their own; or another one of several rows would count now.
        SchemaError: The run is not of copies, or a file of them would be refused.
        StorageError: The run was refused, holds no answers and predictions, or cannot
            be read.
    """
    run = source.run
    record = run.record
    _refuse_other(source, record, originals)
    frame = examples_of(run)
    _refuse_unsound(source, frame)
    if frame[INPUT_ID].null_count() == frame.height:
        raise SchemaError(
            f"{source.name}: its data have no column {INPUT_ID!r} or none "
            f"{PERTURBATION!r}, so that its examples are no perturbed copies; give a "
            "run of a file that `evalkit perturb` wrote"
        )
    placed = place_copies(source, _examples(record, frame, answer_kind(run)), originals)
    replications = record.replications
    counts, problems = run.counts, run.problems
    if placed.selected is not None and not replications:
        unselected = counts.get("unselected", 0) + _answered(frame, ~placed.selected)
        counts = {**counts, "unselected": unselected}
        frame = frame.filter(placed.selected)
        problems = _problems_of(run, {*frame["id"]})
        repeated = (problem.status == "duplicate" for problem in problems)
        counts["duplicate"] = sum(repeated)
    alignment = _alignment(run, frame, counts, problems)
    then = record.policies.on_duplicate
    _refuse_duplicates(source, counts["duplicate"], then, on_duplicate)
    return placed.copies(
        source,
        _identity(record),
        record.predictions.to_dict(),
        alignment._replace(replications=replications),
    )


def stored_copies(result: Result) -> Copies:
    """Return the copies that an evaluation with perturbed copies kept.

    Args:
        result: A result, stored or not, that has perturbed copies.

    Returns:
        All of them, as if they were of one file.

    Raises:
        StorageError: The run holds no answers and predictions, or not the original of
            a copy.
    """
    frame = result.perturbed_examples
    assert frame is not None
    refuse_without_answers(frame, result.path or f"the run {result.run_id}")
    record = result.record
    places = IdIndex(examples_of(result)["id"]).find(frame[INPUT_ID])
    if (places < 0).any():
        raise StorageError(
            f"{result.path or result.run_id}: holds copies of examples that it does "
            "not hold"
        )
    counts = dict.fromkeys(result.counts, 0)
    return Copies(
        RunSource(result, f"the run {result.run_id}"),
        _identity(record),
        record.predictions.to_dict(),
        _examples(record, frame, answer_kind(result)),
        np.asarray(places, dtype=np.int64),
        frame[INPUT_ID],
        frame[PERTURBATION],
        (),
        _alignment(result, frame, counts, Problems(), of_copies=True),
        0,
    )


def _refuse_unsound(source: RunSource, frame: pl.DataFrame) -> None:
    """Refuse a run of rows that a file of them would be refused for."""
    if PROBLEM in frame.columns:
        for problem in frame[PROBLEM].drop_nulls().head(1):
            raise SchemaError(
                f"{source.name}: its rows were no sound copies: {problem}"
            )


def _refuse_other(source: RunSource, record: RunRecord, originals: Originals) -> None:
    """Refuse a run that was refused, or is of another task."""
    if record.status == "refused":
        raise StorageError(
            f"{source.name}: was refused, so that there is nothing to score"
        )
    task = originals.task.component.name
    if record.task != task:
        raise AlignmentError(
            f"{source.name}: is of the task {record.task!r}, {originals.name} is of "
            f"{task!r}; evaluate the copies of this data"
        )


def _refuse_duplicates(
    source: RunSource, repeated: int, then: str, on_duplicate: OnDuplicate
) -> None:
    """Refuse a run that settled repeated ids of these copies in another way."""
    if repeated and then != on_duplicate:
        rows = count_of(repeated, "row")
        raise AlignmentError(
            f"{source.name}: holds the {then} of {rows} with a repeated id; evaluate "
            f"with --on-duplicate {then} too, or give the files of the copies"
        )


def _examples(record: RunRecord, frame: pl.DataFrame, kind: AnswerKind) -> Examples:
    columns = [frame["id"].alias("uid"), *stored_columns(frame)]
    return Examples(
        frame.select("id", "answer", "tags", "cluster"),
        frame_of(columns),
        {},
        record.labels,
        kind,
        DataIdentity(str(record.data.sha256), (), ()),
        (),
    )


def _alignment(
    run: Result,
    frame: pl.DataFrame,
    counts: Mapping[str, int],
    problems: Problems,
    of_copies: bool = False,
) -> Alignment:
    """Return the outcome of rows of a run, with their numbers counted anew."""
    said = (run.column_details, run.record.columns)
    statuses = frame["status"]
    counted = {
        status: int((statuses == status).sum())
        for status in ("scored", "invalid", "missing")
    }
    unanswered = counted["missing"] + counted["invalid"]
    others = counts["duplicate"] + counts["unknown"] + counts["unreadable"]
    return Alignment(
        statuses,
        frame["pred"].alias("prediction"),
        {name: frame[name] for name in scored_fields(frame)},
        problems,
        {
            **counts,
            **counted,
            "examples": frame.height,
            "predictions": counted["scored"] + counted["invalid"] + others,
            "unparsed": frame["pred"].null_count() - unanswered,
        },
        Counter(),
        lacking=dict(stored_lacking(*said, frame, of_copies)),
    )


def _problems_of(run: Result, ids: Collection[str]) -> Problems:
    """Leave out what is about other copies."""
    of_no_copy = ("unreadable", "unknown")
    return Problems(
        problem
        for problem in run.problems
        if problem.status in of_no_copy or problem.id in ids
    )


def _answered(frame: pl.DataFrame, chosen: pl.Series) -> int:
    return int((frame["status"].filter(chosen) != "missing").sum())


def _identity(record: RunRecord) -> dict[str, str | None]:
    """Return name and SHA-256 of the data that a run was made from."""
    if len(record.data.files) == 1:
        [file] = record.data.files
        return {"name": file.name, "sha256": file.sha256}
    return {"name": None, "sha256": record.data.sha256}
