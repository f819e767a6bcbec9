"""Reads files of perturbed copies, and matches them with originals and predictions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evalkit.alignment import Alignment, OnDuplicate, align
from evalkit.errors import AlignmentError, EvalkitError, SchemaError
from evalkit.examples import Examples, load_examples
from evalkit.intervals import Integers
from evalkit.matching import NOWHERE, IdIndex
from evalkit.preparation import read_responses, rows_of
from evalkit.registry import Bound
from evalkit.responses import ResponseReader, fields_to_verify
from evalkit.run_record import Predictions, identify
from evalkit.violations import few, shorten
from evalkit.wording import count_of

INPUT_ID = "input_id"
"""The column with the uid of a copy's original."""

PERTURBATION = "perturbation"
"""The column with the identity of the perturbation that made a copy."""

TAGS = "tags"
"""The column with a copy's own tags."""

_COLUMNS = (INPUT_ID, PERTURBATION, TAGS)

Given = Sequence[Any] | str | Path | pl.DataFrame
"""Several files or tables, or one."""


class Originals(NamedTuple):
    """The data set that copies were made of."""

    dataset: Bound
    task: Bound
    split: str
    ids: pl.Series
    """Ids of all examples, in the data's order."""
    examples: Examples
    """Those that are evaluated."""

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self.dataset.component.name} (split {self.split})"


class PerturbedSource(NamedTuple):
    """A file of copies and the predictions for it."""

    rows: Predictions
    predictions: Predictions
    name: str
    """How messages call the copies."""
    predictions_name: str


class Copies(NamedTuple):
    """The copies of one file, in its order, without those of unselected examples."""

    source: PerturbedSource
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
    alignment: Alignment
    left_out: int
    """Copies of examples that are not evaluated."""


def pair_sources(perturbed: Given, predictions: Given) -> list[PerturbedSource]:
    """Pair files of copies with files of predictions, by position.

    Args:
        perturbed: Files or tables of copies.
        predictions: As many files or tables of predictions.

    Returns:
        The pairs.

    Raises:
        EvalkitError: There are not as many of one as of the other.
        DataError: A file is not of this machine, or a table cannot be read.
    """
    copies, responses = _listed(perturbed), _listed(predictions)
    if len(copies) != len(responses):
        raise EvalkitError(
            f"{count_of(len(copies), 'perturbed file')} and "
            f"{count_of(len(responses), 'file')} of predictions for them: give each "
            "--perturbed FILE its --perturbed-predictions FILE, in the same order"
        )
    found = []
    for number, (data, given) in enumerate(zip(copies, responses, strict=True), 1):
        rows, answers = rows_of(data), rows_of(given)
        name = _name(rows, f"perturbed rows {number}")
        found.append(
            PerturbedSource(rows, answers, name, _name(answers, f"answers to {name}"))
        )
    return found


def _listed(given: Given) -> Sequence[Any]:
    if isinstance(given, str | Path) or hasattr(given, "__arrow_c_stream__"):
        return [given]
    return list(given)


def _name(rows: Predictions, otherwise: str) -> str:
    return str(rows) if isinstance(rows, str | Path) else otherwise


def load_copies(
    source: PerturbedSource,
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
        needed = {*columns, *_COLUMNS, *(fields_to_verify(task) or ())}
    data, given = identify(source.rows), identify(source.predictions)
    path = Path(source.rows) if isinstance(source.rows, str | Path) else source.rows
    examples = load_examples(dataset, task, originals.split, needed, path)
    examples = _with_kind_of(source, examples, originals.examples)
    perturbations = _texts(source, examples, PERTURBATION)
    input_ids = _texts(source, examples, INPUT_ID)
    _check_ids(source, examples, input_ids, originals)
    places = IdIndex(originals.examples.frame["id"]).find(input_ids)
    is_evaluated = places != NOWHERE
    selected = None if is_evaluated.all() else pl.Series("selected", is_evaluated)
    reader = ResponseReader(task, dataset, examples)
    ids = examples.frame["id"]
    blocks = read_responses(source.predictions, reader, ids)
    alignment = align(ids, blocks, reader, on_duplicate, selected)
    if selected is not None:
        examples = examples.where(selected)
        perturbations = perturbations.filter(selected)
        input_ids = input_ids.filter(selected)
        places = places[is_evaluated]
    if alignment.replications:
        raise AlignmentError(
            f"{source.predictions_name}: has several responses to one copy "
            "(replications); scores under perturbation take one response for each"
        )
    return Copies(
        source,
        dict(data),
        dict(given),
        _with_own_tags(source, examples, originals.examples, places),
        places,
        input_ids,
        perturbations,
        alignment,
        int((~is_evaluated).sum()),
    )


def _texts(source: PerturbedSource, examples: Examples, name: str) -> pl.Series:
    """Give a column of texts that no row may lack; integers as their decimal text."""
    uids = examples.frame["id"]
    if name not in examples.inputs.columns:
        raise SchemaError(
            f"{source.name}: has no column {name!r}, so its rows are no perturbed "
            "copies; `evalkit perturb` writes them"
        )
    column = examples.inputs[name]
    if name in examples.nested:
        values = list(examples.nested[name])
    elif column.dtype.is_integer() or column.dtype == pl.String:
        column = column.cast(pl.String)
        if not column.null_count() and (column.str.len_bytes() > 0).all():
            return column
        values = column.to_list()
    else:
        values = column.to_list()
    problems = [
        f"uid {uid!r}: {name}: {rule}"
        for uid, value in zip(uids, values, strict=True)
        if (rule := _broken(value))
    ]
    if problems:
        raise SchemaError(f"{source.name}: {few(problems)}")
    return pl.Series(name, list(map(str, values)), dtype=pl.String)


def _broken(value: Any) -> str | None:
    if value is None:
        return "is required"
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        return f"must be a text that is not empty, found {shorten(value)}"
    return None


def _check_ids(
    source: PerturbedSource,
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
    source: PerturbedSource, examples: Examples, originals: Examples
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
    source: PerturbedSource, examples: Examples, originals: Examples, places: Integers
) -> Examples:
    """Give copies their tags and the clusters of their originals.

    Tags that a row stores otherwise than its original are the copy's own; a copy that
    stores none, or the same, has the tags of its original.
    """
    tags = originals.frame["tags"].gather(places)
    if TAGS in examples.inputs.columns:
        stored = examples.inputs[TAGS]
        is_inherited = stored.is_null()
        if TAGS in originals.inputs.columns:
            before = originals.inputs[TAGS].gather(places)
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


def _as_lists(source: PerturbedSource, tags: pl.Series) -> pl.Series:
    """Give lists of tags, each tag once."""
    if tags.dtype == pl.List(pl.Null):
        tags = tags.cast(pl.List(pl.String))
    if tags.dtype != pl.List(pl.String):
        raise SchemaError(
            f"{source.name}: tags: must be lists of texts, are {tags.dtype}"
        )
    return tags.list.drop_nulls().list.unique(maintain_order=True)
