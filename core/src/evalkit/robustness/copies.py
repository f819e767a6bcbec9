"""Reads files of perturbed copies, and matches them with originals and predictions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evalkit.adapting.extraction import Extraction
from evalkit.base.copies import COPY_COLUMNS, TAGS
from evalkit.base.violations import FirstProblems, few
from evalkit.errors import AlignmentError, SchemaError
from evalkit.examples.adapted import adapt_examples
from evalkit.examples.copy_columns import (
    CopyColumns,
    Statement,
    read_columns,
    selected_columns,
    with_texts,
)
from evalkit.examples.table import Examples, load_examples
from evalkit.inference.intervals import Integers
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.predictions.adapted import AdaptedPredictions
from evalkit.predictions.alignment import Alignment, OnDuplicate, align
from evalkit.predictions.input_rows import fields_read
from evalkit.predictions.matching import NOWHERE, IdIndex
from evalkit.predictions.preparation import identify, read_responses, watched_file
from evalkit.predictions.responses import ResponseReader
from evalkit.predictions.systems import read_system
from evalkit.reading.given_rows import local_path
from evalkit.robustness.inputs import CopySource, FileSource

__all__ = [
    "Copies",
    "Originals",
    "Placed",
    "load_copies",
    "place_copies",
    "refuse_shared_ids",
]


class Originals(NamedTuple):
    """The data set that copies were made of."""

    dataset: BoundDataset
    task: BoundTask
    split: str
    ids: pl.Series
    """Ids of all examples, in the data's order."""
    examples: Examples
    """Those that are evaluated."""
    model: str
    """The model that is evaluated."""
    fields: Collection[str] = ()
    """What metrics ask for beside prediction and answer, which responses may have."""
    extraction: Extraction | None = None
    """What takes the answers out of texts."""

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self.dataset.component.name} (split {self.split})"


class Copies(NamedTuple):
    """The copies of one file, in its order, without those of unselected examples."""

    source: CopySource
    data: dict[str, str | None]
    """Name and SHA-256 of the file."""
    predictions: dict[str, str | None]
    """Name and SHA-256 of the predictions."""
    examples: Examples
    """The copies; tags are their own, clusters those of their originals."""
    originals: Integers
    """Position of each copy's original among the evaluated examples."""
    input_ids: pl.Series
    """Id of each copy's original."""
    perturbations: pl.Series
    """Identity of the perturbation that made each copy."""
    statements: Sequence[Statement]
    """What the rows say of the perturbations."""
    alignment: Alignment
    left_out: int
    """Copies of examples that are not evaluated."""


class Placed(NamedTuple):
    """Copies whose originals are known, without those of unselected examples."""

    examples: Examples
    columns: CopyColumns
    originals: Integers
    """Position of each copy's original among the evaluated examples."""
    selected: pl.Series | None
    """Which of the rows these are; None for all."""

    def copies(
        self,
        source: CopySource,
        data: dict[str, str | None],
        predictions: dict[str, str | None],
        alignment: Alignment,
    ) -> Copies:
        """Put them together with the predictions for them.

        Args:
            source: Where they are from.
            data: Name and SHA-256 of the file.
            predictions: Name and SHA-256 of the predictions.
            alignment: The outcome for each copy.

        Returns:
            The copies.

        Raises:
            AlignmentError: Responses come in replications.
        """
        if alignment.replications:
            raise AlignmentError(
                f"{source.predictions_name}: has several responses to one copy "
                "(replications); scores under perturbation take one response for each"
            )
        left_out = 0 if self.selected is None else int((~self.selected).sum())
        return Copies(
            source,
            data,
            predictions,
            self.examples,
            self.originals,
            *self.columns,
            alignment,
            left_out,
        )


def load_copies(
    source: FileSource,
    originals: Originals,
    on_duplicate: OnDuplicate,
    columns: Collection[str] | None,
) -> Copies:
    """Load the copies of a file and match them with originals and predictions.

    Args:
        source: The file, and the predictions for it.
        originals: What the copies were made of.
        on_duplicate: Which of several rows with one id counts.
        columns: Columns of the data that metrics need; None for all.

    Returns:
        The copies.

    Raises:
        AlignmentError: They are copies of other data, or their ids are not their own.
        DataError: A file cannot be read.
        SchemaError: Rows break the task's input, or lack what makes them copies.
    """
    dataset, task = originals.dataset, originals.task
    needed = None
    if columns is not None:
        needed = {*columns, *COPY_COLUMNS, *fields_read(dataset, task)}
    files = [watched_file(each) for each in (source.rows, source.predictions)]
    data, given = identify(source.rows), identify(source.predictions)
    system = read_system(source.predictions)
    if system is not None:
        given = {**given, "system": system.recorded}
    rows = _given_rows(source, dataset, task)
    examples = load_examples(dataset, task, originals.split, needed, rows)
    placed = place_copies(source, examples, originals)
    fields, extraction = originals.fields, originals.extraction
    reader = ResponseReader(task, dataset, examples, fields, extraction)
    ids = examples.frame["id"]
    blocks = read_responses(source.predictions, reader, ids)
    alignment = align(ids, blocks, reader, on_duplicate, placed.selected)
    for file in files:
        if file is not None:
            file.check()
    return placed.copies(source, dict(data), dict(given), alignment)


def _given_rows(source: FileSource, dataset: BoundDataset, task: BoundTask) -> Any:
    """Return the rows of a file of copies, or its path; adapted where that is asked."""
    rows = source.rows
    if not isinstance(rows, AdaptedPredictions):
        return local_path(rows) if isinstance(rows, str | Path) else rows
    given, through = rows.given, replace(dataset, pipeline=rows.pipeline)
    path = local_path(given) if isinstance(given, str | Path) else None
    found = adapt_examples(through, task, path, None if path else given)
    if isinstance(found, pl.DataFrame):
        return found
    problems = FirstProblems()
    adapted = []
    for row in found:
        if row.values is None:
            problems.add(f"line {row.line}: {row.problem}")
        else:
            adapted.append(row.values)
    if problems:
        raise SchemaError(f"{source.name}: {problems}")
    return adapted


def place_copies(
    source: CopySource, examples: Examples, originals: Originals
) -> Placed:
    """Find the originals of copies.

    Args:
        source: Where the copies are from.
        examples: The copies.
        originals: What they were made of.

    Returns:
        Those whose originals are evaluated, with their own tags and the clusters of
        their originals.

    Raises:
        AlignmentError: They are copies of other data, or their ids are not their own.
        SchemaError: Rows lack what makes them copies, or have answers of another kind.
    """
    examples = _with_kind_of(source, examples, originals.examples)
    columns = read_columns(source.name, examples)
    _check_ids(source, examples, columns.input_ids, originals)
    places = IdIndex(originals.examples.frame["id"]).find(columns.input_ids)
    is_evaluated = places != NOWHERE
    selected = None if is_evaluated.all() else pl.Series("selected", is_evaluated)
    if selected is not None:
        examples = examples.where(selected)
        columns = selected_columns(columns, selected)
        places = places[is_evaluated]
    own = _with_own_tags(source, examples, originals.examples, places)
    return Placed(own, columns, places, selected)


def _check_ids(
    source: CopySource,
    examples: Examples,
    input_ids: pl.Series,
    originals: Originals,
) -> None:
    """Refuse copies of other examples, and copies that are called like examples."""
    known = IdIndex(originals.ids)
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


def refuse_shared_ids(copies: Sequence[Copies]) -> None:
    """Refuse files of which two hold a copy of the same uid.

    Args:
        copies: The copies of all files.

    Raises:
        AlignmentError: A uid is in two of them.
    """
    for number, later in enumerate(copies):
        for earlier in copies[:number]:
            ids = later.examples.frame["id"]
            shared = ids.filter(ids.is_in(earlier.examples.frame["id"].implode()))
            if len(shared):
                raise AlignmentError(
                    f"{earlier.source.name} and {later.source.name} hold copies with "
                    f"the same uid: {few([repr(uid) for uid in shared])}; give each "
                    "copy once (`--variants` makes several copies of an example)"
                )


def _with_kind_of(
    source: CopySource, examples: Examples, originals: Examples
) -> Examples:
    """Give answers the shape of the originals', or refuse them."""
    kind, wanted = examples.answer_kind, originals.answer_kind
    if (kind, wanted) == ("one", "any-of"):
        listed = examples.frame.with_columns(pl.concat_list("answer"))
        return examples._replace(frame=listed, answer_kind="any-of")
    if kind != wanted:
        raise SchemaError(
            f"{source.name}: its answers are of the kind {kind!r}, those of the "
            f"originals of {wanted!r}; perturb the data that is evaluated"
        )
    return examples


def _with_own_tags(
    source: CopySource, examples: Examples, originals: Examples, places: Integers
) -> Examples:
    """Give copies their tags and the clusters of their originals.

    Tags that a row stores otherwise than its original are the copy's own; a copy that
    stores none, or the same, has the tags of its original.
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
            both = pl.DataFrame(
                {"is_inherited": is_inherited, "inherited": tags, "own": own}
            )
            chosen = pl.when("is_inherited").then("inherited").otherwise("own")
            tags = both.select(chosen.alias(TAGS))[TAGS]
    frame = examples.frame.with_columns(
        tags.alias("tags"), originals.frame["cluster"].gather(places).alias("cluster")
    )
    return examples._replace(frame=frame)


def _as_lists(source: CopySource, tags: pl.Series) -> pl.Series:
    """Return lists of tags, each tag once."""
    if tags.dtype != pl.List(pl.String):
        raise SchemaError(
            f"{source.name}: tags: must be lists of texts, are {tags.dtype}"
        )
    return tags.list.drop_nulls().list.unique(maintain_order=True)
