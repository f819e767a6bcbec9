"""Annotates the responses of a run that was made before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from evalkit.annotating.annotations import Annotated, Tell, annotate
from evalkit.annotating.declared import refuse_absent
from evalkit.annotating.wanted import Wanted, find_annotators
from evalkit.base.columns import frame_of
from evalkit.base.progress import Progress
from evalkit.errors import EvalkitError
from evalkit.plugins.bound import BoundMetric
from evalkit.plugins.resolver import Resolver
from evalkit.predictions.annotations import annotated
from evalkit.robustness.rescoring import holds_copies
from evalkit.robustness.stored import stored_copies
from evalkit.runs.annotations import (
    annotation_tables,
    join_annotations,
    record_annotations,
)
from evalkit.runs.data_columns import with_columns
from evalkit.runs.results import Result
from evalkit.runs.stored import examples_of
from evalkit.scoring.measurement import Measured
from evalkit.workflows.against import AGAINST


class AnnotatedRun(NamedTuple):
    """A run, and what metrics score of it, with what annotators said now."""

    run: Result
    measured: Measured
    annotations: Sequence[Annotated] = ()
    """What was said now; nothing where the run has all that metrics ask for."""
    warnings: Sequence[str] = ()
    """What is wrong with the answers that were kept from before."""


def annotate_run(
    run: Result,
    measured: Measured,
    metrics: Sequence[BoundMetric],
    resolver: Resolver,
    jobs: int,
    progress: Progress,
) -> AnnotatedRun:
    """Have those annotators annotate a run of which it lacks a column.

    Args:
        run: The run. Perturbed copies that it holds are annotated, too, unless an
            annotator reads fields of the input that it does not hold of them.
        measured: What metrics score of it.
        metrics: Metrics that may ask for columns of annotators.
        resolver: Finds annotators, and the data for what they read.
        jobs: Processes that may ask an annotator at the same time.
        progress: Told how far each is.

    Returns:
        The run with the columns, and what annotators said.

    Raises:
        PluginError: An annotator is broken, or does not give such a column.
    """
    held = {*measured.everything.frame.columns}
    wanted = find_annotators(resolver, metrics, held)
    if not wanted:
        return AnnotatedRun(run, measured)
    columns = {name for each in wanted for name in each.columns}
    reads = {name for each in wanted for name in each.annotator.reads}
    try:
        # a column of the data is no annotator's
        of_data = sorted(reads, key=lambda name: (name == AGAINST, name))
        measured = with_columns(measured, run, [*of_data, *columns], resolver)
    except EvalkitError:
        if not reads <= held:
            raise
    said: list[Annotated] = []
    new: list[Wanted] = []

    def told(text: str) -> None:
        progress(text, 0.0)

    for each in wanted:
        present = measured.everything.frame.columns
        asked = {n: part for n, part in each.columns.items() if n not in present}
        if asked:
            refuse_absent(each.annotator, present, ())
            new.append(Wanted(each.annotator, asked))
            found = annotate(new[-1], measured.everything.frame, jobs, told)
            measured = _with(measured, found)
            said.append(found)
    of_copies = _annotated_copies(run, new, jobs, told)
    warnings = [text for each in (*said, *of_copies) for text in each.warnings]
    return AnnotatedRun(_holding(run, said, of_copies), measured, said, warnings)


def _annotated_copies(
    run: Result, wanted: Sequence[Wanted], jobs: int, tell: Tell
) -> Sequence[Annotated]:
    """Have those annotators annotate a run's copies that can."""
    if not wanted or not holds_copies(run):
        return ()
    assert run.perturbed_examples is not None
    held = {*run.perturbed_examples.columns}
    possible = [each for each in wanted if {*each.annotator.reads} <= held]
    copies = stored_copies(run)
    found = annotated(copies.examples, copies.alignment, possible, jobs, tell)
    return found.annotations


def _with(measured: Measured, found: Annotated) -> Measured:
    table = measured.everything
    frame = table.frame.hstack(list(found.columns.values()))
    lacking = {**table.lacking, **dict.fromkeys(found.columns, found.lacking)}
    return measured._replace(everything=table._replace(frame=frame, lacking=lacking))


def _new_rows(table: pl.DataFrame, run: Result, name: str) -> pl.DataFrame:
    """Leave out what the run holds already of an annotator that gives several columns.

    The hashes that it records are of the reasons in one table for all columns.
    """
    known = run.annotations.get(name)
    if known is None:
        return table
    keys = ["id", "replication", "copy", "reason"]
    return table.join(known, keys, "anti", nulls_equal=True, maintain_order="left")


def _holding(
    run: Result, said: Sequence[Annotated], of_copies: Sequence[Annotated]
) -> Result:
    """Return a run that holds what was said of it, too."""
    examples, copies = examples_of(run), run.perturbed_examples
    ids, replications = examples["id"], examples["replication"]
    new = [*annotation_tables(said, ids, replications)]
    if copies is not None:
        new += annotation_tables(of_copies, copies["id"], None)
        copies = _with_columns(copies, of_copies)
    tables = join_annotations(new)
    recorded = record_annotations(said, tables, include_reasons=True)
    fresh = {name: _new_rows(table, run, name) for name, table in tables.items()}
    joined = [*run.annotations.items(), *fresh.items()]
    result = Result(
        run.record.changed(annotations=(*run.record.annotations, *recorded)),
        run.scores,
        run.problems,
        _with_columns(examples, said),
        run.statistics,
        copies,
        join_annotations(joined),
    )
    result.path = run.path
    return result


def _with_columns(rows: pl.DataFrame, said: Sequence[Annotated]) -> pl.DataFrame:
    """Put what was said of rows among the fields of their responses."""
    columns = [column for each in said for column in each.columns.values()]
    place = rows.columns.index("pred") + 1
    before, after = rows.get_columns()[:place], rows.get_columns()[place:]
    return frame_of([*before, *columns, *after])
