"""Reads perturbed examples, and matches them with originals and predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evalkit.base.copies import COPY_COLUMNS, TAGS
from evalkit.base.violations import FirstProblems, few
from evalkit.catalog import BoundDataset, BoundTask, local_path
from evalkit.errors import AlignmentError, DataError, SchemaError
from evalkit.examples.copy_columns import (
    CopyColumns,
    Statement,
    read_columns,
    with_texts,
)
from evalkit.examples.table import Examples, load_examples
from evalkit.predictions.alignment import Alignment, settle
from evalkit.predictions.beside import ChangedPredictions, read_system
from evalkit.predictions.input_rows import fields_read
from evalkit.predictions.judging import JudgedRows
from evalkit.predictions.matching import NOWHERE, IdIndex
from evalkit.predictions.preparation import (
    Prepared,
    identify,
    read_responses,
    watched_file,
)
from evalkit.predictions.responses import ResponseReader
from evalkit.runs.recording import Asked
from evalkit.statistics.clusters import Integers
from evalkit_analysis_robustness.sources import FileSource, Source


class Originals(NamedTuple):
    """The evaluation of the unperturbed examples."""

    asked: Asked
    prepared: Prepared
    model: str

    @property
    def examples(self) -> Examples:
        """The examples that are evaluated."""
        return self.prepared.examples

    @property
    def name(self) -> str:
        """The dataset, as messages name it."""
        name = self.asked.dataset.component.name
        return f"{name} (split {self.asked.split})"


class Placed(NamedTuple):
    """Perturbed examples of one source whose originals are evaluated."""

    examples: Examples
    columns: CopyColumns
    originals: Integers
    """Position of each one's original among the evaluated examples."""
    selected: pl.Series
    """Which rows of the source these are."""

    @property
    def left_out(self) -> int:
        """Number of rows whose originals are not evaluated."""
        return int((~self.selected).sum())

    def by_perturbation(self) -> Iterator[tuple[str, pl.Series]]:
        """Yield each perturbation, sorted, and which of the examples it made."""
        for name in self.columns.perturbations.unique().sort():
            yield name, self.columns.perturbations == name

    def rows(self, made: pl.Series) -> pl.Series:
        """Return which rows of the source some of the examples are."""
        rows = np.zeros(len(self.selected), dtype=bool)
        rows[np.flatnonzero(self.selected)] = made.to_numpy()
        return pl.Series("selected", rows)

    def part(
        self, name: str, made: pl.Series, source: Source, prepared: Prepared
    ) -> Perturbed:
        """Return the examples of one perturbation with their predictions."""
        return Perturbed(
            name,
            source,
            prepared,
            self.originals[made.to_numpy()],
            self.columns.statements,
        )


class Perturbed(NamedTuple):
    """The examples of one perturbation, matched with predictions."""

    name: str
    """Identity of the perturbation."""
    source: Source
    prepared: Prepared
    originals: Integers
    """Position of each one's original among the evaluated examples."""
    statements: Sequence[Statement]
    """What the rows of the source state about perturbations."""
    dataset: BoundDataset | None = None
    """The dataset with what changed the rows in place of what changes its own; None
    for a stored run."""

    @property
    def examples(self) -> Examples:
        """The examples."""
        return self.prepared.examples

    @property
    def alignment(self) -> Alignment:
        """The outcome for each of them."""
        return self.prepared.alignment


class Loaded(NamedTuple):
    """The perturbed examples of one source."""

    source: Source
    parts: Sequence[Perturbed]
    """Those of each perturbation."""
    left_out: int
    """Rows whose originals are not evaluated."""


def load_perturbed(source: FileSource, originals: Originals) -> Loaded:
    """Load the perturbed examples of a file, and match them."""
    asked, columns = originals.asked, originals.asked.columns
    dataset, task = asked.dataset, asked.task
    needed = (
        None
        if columns is None
        else {*columns, *COPY_COLUMNS, *fields_read(dataset, task)}
    )
    files = [watched_file(each) for each in (source.rows, source.predictions)]
    given: dict[str, Any] = {**identify(source.predictions)}
    system = read_system(source.predictions)
    if system is not None:
        given["system"] = system.recorded
    stage = source.rows.stage if isinstance(source.rows, ChangedPredictions) else None
    through = replace(dataset, pipeline=stage)
    rows = _given_rows(source, dataset, task)
    try:
        examples = load_examples(dataset, task, asked.split, needed, rows)
    except DataError as error:
        if source.name not in str(error):  # of rows it names the originals' dataset
            error.args = (f"{source.name}: {error}",)
        raise
    # a run of copies has these columns anyway
    examples = examples._replace(
        kept=tuple(n for n in examples.kept if dataset.keep or n not in COPY_COLUMNS)
    )
    reader = ResponseReader(task, dataset, examples, asked.fields, asked.answers)
    placed = place(source, examples, originals)
    collected = JudgedRows(examples.frame["id"], reader)
    for block in read_responses(source.predictions, reader, examples.frame["id"]):
        collected.add(block)
    for file in files:
        if file is not None:
            file.check()
    found, on_duplicate = [], asked.options.policies.on_duplicate
    unselected = 0
    if placed.left_out:
        everyone = settle(collected, on_duplicate, placed.selected, is_part=False)
        unselected = everyone.counts["unselected"]
    for name, made in placed.by_perturbation():
        alignment = settle(collected, on_duplicate, placed.rows(made), is_part=False)
        alignment = with_unselected(alignment, unselected, asked)
        if alignment.replications:
            raise AlignmentError(
                f"{source.predictions_name}: several responses per perturbed example "
                "(replications); give one response for each"
            )
        prepared = originals.prepared._replace(
            examples=placed.examples.where(made),
            alignment=alignment,
            predictions=given,
            job=None,
        )
        part = placed.part(name, made, source, prepared)
        found.append(part._replace(dataset=through))
    return Loaded(source, found, placed.left_out)


def with_unselected(alignment: Alignment, unselected: int, asked: Asked) -> Alignment:
    """Count rows of examples that are not evaluated, and not those of others."""
    counts = {**alignment.counts, "unselected": unselected}
    if asked.options.selection.is_whole:
        del counts["unselected"]
    return alignment._replace(counts=counts)


def _given_rows(source: FileSource, dataset: BoundDataset, task: BoundTask) -> Any:
    """Return the rows of a file, or its path; changed if there is a stage."""
    rows = source.rows
    if not isinstance(rows, ChangedPredictions):
        return local_path(rows) if isinstance(rows, str | Path) else rows
    given = rows.given
    path = local_path(given) if isinstance(given, str | Path) else None
    found = rows.stage.read_examples(dataset, task, path, None if path else given)
    if isinstance(found, pl.DataFrame):
        return found
    problems = FirstProblems()
    changed = []
    for row in found:
        if row.values is None:
            problems.add(f"line {row.line}: {row.problem}")
        else:
            changed.append(row.values)
    if problems:
        raise SchemaError(f"{source.name}: {problems}")
    return changed


def place(source: Source, examples: Examples, originals: Originals) -> Placed:
    """Find the originals of perturbed examples."""
    examples = _with_kind_of(source, examples, originals.examples)
    columns = read_columns(source.name, examples)
    _check_ids(source, examples, columns.input_ids, originals)
    places = IdIndex(originals.examples.frame["id"]).find(columns.input_ids)
    is_evaluated = places != NOWHERE
    selected = pl.Series("selected", is_evaluated)
    if not is_evaluated.all():
        examples = examples.where(selected)
        columns = columns.where(selected)
        places = places[is_evaluated]
    examples = examples._replace(labels=originals.examples.labels)
    own = _with_own_tags(source, examples, originals.examples, places)
    return Placed(own, columns, places, selected)


def _check_ids(
    source: Source, examples: Examples, input_ids: pl.Series, originals: Originals
) -> None:
    """Refuse rows of other examples, and rows that have the id of an example."""
    known = IdIndex(originals.prepared.ids)
    uids = examples.frame["id"]
    foreign = np.flatnonzero(known.find(input_ids) == NOWHERE)
    if len(foreign):
        shown = [
            f"{uid!r} of {original!r}"
            for uid, original in zip(
                uids.gather(foreign), input_ids.gather(foreign), strict=True
            )
        ]
        what = "all of its rows are" if len(foreign) == len(uids) else "rows are"
        raise AlignmentError(
            f"{source.name}: {what} copies of examples that are not in "
            f"{originals.name}: {few(shown)}. Perturb this data and this split, or "
            "name the data and split that was perturbed"
        )
    taken = uids.filter(pl.Series(known.find(uids) != NOWHERE))
    if len(taken):
        raise AlignmentError(
            f"{source.name}: copies have the uids of examples of {originals.name}: "
            f"{few([repr(uid) for uid in taken])}; a copy needs a uid of its own"
        )


def refuse_shared(parts: Sequence[Perturbed]) -> None:
    """Refuse a perturbation, or an id, that is in two sources."""
    for number, later in enumerate(parts):
        for earlier in parts[:number]:
            if earlier.source is later.source:
                continue
            ids = later.examples.frame["id"]
            shared = ids.filter(ids.is_in(earlier.examples.frame["id"].implode()))
            if len(shared):
                raise AlignmentError(
                    f"{earlier.source.name} and {later.source.name} hold copies with "
                    f"the same uid: {few([repr(uid) for uid in shared])}; give each "
                    "copy once (`--variants` makes several copies of an example)"
                )
            if earlier.name == later.name:
                raise AlignmentError(
                    f"{earlier.source.name} and {later.source.name}: both hold "
                    f"examples of the perturbation {later.name}. Put them in one file"
                )


def _with_kind_of(source: Source, examples: Examples, originals: Examples) -> Examples:
    """Give answers the shape of the originals', or refuse them."""
    kind, expected = examples.answer_kind, originals.answer_kind
    if (kind, expected) == ("one", "any-of"):
        listed = examples.frame.with_columns(pl.concat_list("answer"))
        return examples._replace(frame=listed, answer_kind="any-of")
    if kind != expected:
        raise SchemaError(
            f"{source.name}: its answers are of the kind {kind!r}, those of the "
            f"originals of {expected!r}; perturb the data that is evaluated"
        )
    return examples


def _with_own_tags(
    source: Source, examples: Examples, originals: Examples, places: Integers
) -> Examples:
    """Return examples with their own tags, or else those of their originals.

    Tags that a row stores otherwise than its original are its own; a row that stores
    none, or the same, has the tags of its original.
    """
    tags = originals.frame["tags"].gather(places)
    if TAGS in examples.inputs.columns:
        stored = with_texts(examples.inputs[TAGS])
        is_inherited = stored.is_null()
        if TAGS in originals.inputs.columns:
            before = with_texts(originals.inputs[TAGS]).gather(places)
            if before.dtype == stored.dtype:
                is_inherited |= stored.eq_missing(before)
        if not is_inherited.all():
            own = _as_lists(source, stored)
            both: Mapping[str, pl.Series] = {
                "is_inherited": is_inherited,
                "inherited": tags,
                "own": own,
            }
            chosen = pl.when("is_inherited").then("inherited").otherwise("own")
            tags = pl.DataFrame(both).select(chosen.alias(TAGS))[TAGS]
    return examples._replace(frame=examples.frame.with_columns(tags.alias("tags")))


def _as_lists(source: Source, tags: pl.Series) -> pl.Series:
    """Return lists of tags, each tag once."""
    if tags.dtype != pl.List(pl.String):
        raise SchemaError(
            f"{source.name}: tags: must be lists of texts, are {tags.dtype}"
        )
    return tags.list.drop_nulls().list.unique(maintain_order=True)
