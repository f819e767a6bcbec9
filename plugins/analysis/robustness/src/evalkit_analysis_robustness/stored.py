"""Takes perturbed examples, with their predictions, from a run that was made before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import polars as pl

from evalkit import Result
from evalkit.base.columns import frame_of
from evalkit.base.copies import INPUT_ID, PERTURBATION
from evalkit.errors import AlignmentError, SchemaError, StorageError
from evalkit.examples.copy_columns import PROBLEM, stored_columns
from evalkit.examples.fingerprints import DataIdentity
from evalkit.examples.table import Examples
from evalkit.hookspecs import AnswerKind
from evalkit.predictions.alignment import Alignment
from evalkit.predictions.problems import Problems
from evalkit.reporting import count_of
from evalkit.runs import Problem, RunRecord
from evalkit.runs.stored import examples_of, scored_fields
from evalkit.runs.tables import stored_lacking
from evalkit_analysis_robustness.examples import (
    Loaded,
    Originals,
    place,
    with_unselected,
)
from evalkit_analysis_robustness.sources import RunSource

_OF_NO_EXAMPLE = ("unreadable", "unknown")


def load_stored(source: RunSource, originals: Originals) -> Loaded:
    """Return the examples of a run as perturbed ones, with its predictions."""
    run, record = source.run, source.run.record
    _refuse_other(source, record, originals)
    frame = examples_of(run)
    _refuse_unsound(source, frame)
    examples = _examples(record, frame, record.answer_kind or "one")
    placed = place(source, examples, originals)
    answered = frame["status"].filter(~placed.selected) != "missing"
    unselected = run.counts.get("unselected", 0) + int(answered.sum())
    found = []
    for name, made in placed.by_perturbation():
        part = frame.filter(placed.rows(made))
        alignment = with_unselected(_alignment(run, part), unselected, originals.asked)
        _refuse_duplicates(source, alignment, originals)
        prepared = originals.prepared._replace(
            examples=placed.examples.where(made),
            alignment=alignment,
            predictions=record.predictions.to_dict(),
            job=None,
        )
        found.append(placed.part(name, made, source, prepared))
    return Loaded(source, found, placed.left_out)


def _refuse_unsound(source: RunSource, frame: pl.DataFrame) -> None:
    """Refuse a run of rows that a file of them would be refused for."""
    if PROBLEM in frame.columns:
        for problem in frame[PROBLEM].drop_nulls().head(1):
            raise SchemaError(
                f"{source.name}: its rows were no sound copies: {problem}"
            )
    if frame[INPUT_ID].null_count() == frame.height:
        raise SchemaError(
            f"{source.name}: its data have no column {INPUT_ID!r} or none "
            f"{PERTURBATION!r}, so that its examples are no perturbed copies; give a "
            "run of a file that `evalkit perturb` wrote"
        )


def _refuse_other(source: RunSource, record: RunRecord, originals: Originals) -> None:
    """Refuse a run that was refused, has replications, or is of another task."""
    if record.status == "refused":
        raise StorageError(
            f"{source.name}: was refused, so that there is nothing to score"
        )
    task = originals.asked.task.component.name
    if record.task != task:
        raise AlignmentError(
            f"{source.name}: is of the task {record.task!r}, {originals.name} is of "
            f"{task!r}; evaluate the copies of this data"
        )
    if record.replications:
        raise AlignmentError(
            f"{source.name}: several responses per perturbed example (replications); "
            "give one response for each"
        )


def _refuse_duplicates(
    source: RunSource, alignment: Alignment, originals: Originals
) -> None:
    """Refuse a run that settled repeated ids of these examples in another way."""
    repeated = alignment.counts["duplicate"]
    then = source.run.record.policies.on_duplicate
    if repeated and then != originals.asked.options.policies.on_duplicate:
        rows = count_of(repeated, "row")
        raise AlignmentError(
            f"{source.name}: holds the {then} of {rows} with a repeated id; evaluate "
            f"with --on-duplicate {then} too, or give the files of the copies"
        )


def _examples(record: RunRecord, frame: pl.DataFrame, kind: AnswerKind) -> Examples:
    columns = [frame["id"].alias("uid"), *stored_columns(frame)]
    files = tuple(each.to_dict() for each in record.data.files)
    return Examples(
        frame.select("id", "answer", "tags", "cluster"),
        frame_of(columns),
        {},
        record.labels,
        kind,
        DataIdentity(str(record.data.sha256), files, (), record.data.rows_sha256),
        (),
    )


def _alignment(run: Result, frame: pl.DataFrame) -> Alignment:
    """Return the outcome of some rows of a run, with their numbers counted anew."""
    lacking = stored_lacking(run.column_details, run.record.columns, frame)
    statuses = frame["status"]
    counted = {
        status: int((statuses == status).sum())
        for status in ("scored", "invalid", "missing")
    }
    problems = Problems(_of(run.problems, {*frame["id"]}))
    repeated = sum(problem.status == "duplicate" for problem in problems)
    others = repeated + run.counts["unknown"] + run.counts["unreadable"]
    unanswered = counted["missing"] + counted["invalid"]
    answered = counted["scored"] + counted["invalid"]
    return Alignment(
        statuses,
        frame["pred"].alias("prediction"),
        {name: frame[name] for name in scored_fields(frame)},
        problems,
        {
            "examples": frame.height,
            "predictions": answered + others,
            **counted,
            "duplicate": repeated,
            "unknown": run.counts["unknown"],
            "unreadable": run.counts["unreadable"],
            "unparsed": frame["pred"].null_count() - unanswered,
        },
        Counter(),
        lacking=dict(lacking),
    )


def _of(problems: Problems, ids: Collection[str]) -> list[Problem]:
    """Leave out what is about other examples, or not about responses."""
    return [
        problem
        for problem in problems
        if problem.status in _OF_NO_EXAMPLE
        or (problem.id in ids and problem.metric is None)
    ]
