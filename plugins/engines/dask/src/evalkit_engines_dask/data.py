"""The data in parts: checked and converted by core, and written into buckets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import all_named, encode
from evalkit.errors import DataError, SchemaError
from evalkit.examples.clusters import cluster_notices
from evalkit.examples.fingerprints import DataIdentity
from evalkit.examples.kept import makes_groups
from evalkit.examples.label_conversion import tag_notices
from evalkit.examples.selection import Selection
from evalkit.examples.table import Examples, load_examples
from evalkit.plugins.bound import BoundDataset
from evalkit.reading.json_tables import is_small
from evalkit.scoring.grouping import facets_of
from evalkit.statistics.resampling import unit_keys
from evalkit_engines_dask.buckets import Rows, bucket_of, write_buckets
from evalkit_engines_dask.plan import Survey, Task
from evalkit_engines_dask.sources import on_this_machine
from evalkit_engines_dask.store import load
from evalkit_engines_dask.types import common_type, conformed, conformed_frame, type_of

_NONE = np.empty(0, np.int64)


def files_by_bucket(
    offsets: Sequence[int], parts: Sequence[Mapping[int, str]], buckets: int
) -> list[list[tuple[int, str]]]:
    """Return, by bucket, the file of each part and the offset of the part."""
    several = [*zip(offsets, parts, strict=False)]
    return [
        [(offset, files[number]) for offset, files in several if number in files]
        for number in range(buckets)
    ]


class DataPart(NamedTuple):
    """What a part of the data holds, and what core inferred from it."""

    examples: Examples
    """Without a row; a column without a value has the type Null."""
    rows: int
    files: Mapping[int, str]
    """Files of `Piece`, by bucket."""
    is_clustered: bool
    facets: frozenset[str]
    values: Mapping[str, pl.Series]
    """The distinct values of columns that a run may keep, repeated ones twice."""
    selected: Rows | None
    """Rows that are evaluated; None for all."""
    refusal: str | None = None
    """Why the filters choose no example."""


class Piece(NamedTuple):
    """What a part of the data has of a bucket."""

    rows: Rows
    """Their numbers in the part, from 0."""
    examples: Examples
    selected: pl.Series | None


def load_part(
    task: Task, number: int, path: Path | None, limit: int | None
) -> DataPart:
    """Load, check and convert a part of the data, and write it into buckets.

    Args:
        task: What the task needs.
        number: Number of the part.
        path: The part of a file; None for what the dataset loads.
        limit: Number of examples that a dataset is asked for.

    Returns:
        What it holds.

    Raises:
        DataError: It cannot be read, or breaks a rule.
    """
    plan = task.load()
    asked = plan.asked
    path = None if path is None else on_this_machine(path)
    examples = load_examples(
        *(asked.dataset, asked.task, asked.split, plan.columns, path, limit),
        is_part=True,
    )
    if examples.identity.attached_sha256 is not None:
        raise DataError(
            f"{asked.dataset.component.origin}: its rows name files, by which parts "
            "of the data cannot be identified. Evaluate without an engine"
        )
    selected, refusal = None, None
    try:
        selected = Selection(None, asked.options.selection.filters).mask(examples)
    except DataError as error:  # of a part
        selected = pl.repeat(False, examples.frame.height, eager=True)
        refusal = str(error)

    def piece(rows: Rows) -> Piece:
        return Piece(
            rows, examples.at(rows), None if selected is None else selected[rows]
        )

    buckets = bucket_of(examples.frame["id"], task.buckets)
    kept = examples.inputs.select(all_named(examples.kept))
    return DataPart(
        examples.at(_NONE)._replace(
            frame=_typed(examples.frame, ["answer"]),
            inputs=_typed(examples.inputs, examples.inputs.columns),
        ),
        examples.frame.height,
        write_buckets(task.store, f"{task.data}/{number}", buckets, piece),
        examples.clustered,
        frozenset(facets_of(examples.frame["tags"])),
        {column.name: _values(column) for column in kept.get_columns()},
        None if selected is None else selected.arg_true().to_numpy().astype(np.int64),
        refusal,
    )


def refuse_other_buckets(
    path: Path | None, ids: pl.Series, buckets: Rows, bucket: int
) -> None:
    """Refuse a file that holds an id of another bucket than its own."""
    is_other = buckets != bucket
    if is_other.any():
        place = int(is_other.argmax())
        raise DataError(
            f"{path}: the id {ids[place]!r} is of bucket {buckets[place]}, expected "
            f"{bucket}, as of bucketed files. Leave out bucketed, or write them anew"
        )


def _typed(frame: pl.DataFrame, inferred: Sequence[str]) -> pl.DataFrame:
    """Return no row, with the type Null for inferred columns without a value."""
    types = {name: type_of(frame[name]) or pl.Null() for name in inferred}
    return pl.DataFrame(schema={**frame.schema, **types})


def _values(column: pl.Series) -> pl.Series:
    """Return the distinct values of a column, the repeated ones twice."""
    counts = column.alias("value").drop_nulls().value_counts()
    return pl.concat([counts["value"], counts.filter(pl.col("count") > 1)["value"]])


def merge_parts(
    task: Task, parts: Sequence[DataPart], identity: DataIdentity | None
) -> Survey:
    """Merge what core inferred from the parts of the data.

    Args:
        task: What the tasks needed.
        parts: The parts in the order of the data.
        identity: What tells the data from others; None where the only part says it.

    Returns:
        What is known of all examples.

    Raises:
        DataError: The filters choose no example.
    """
    asked = task.load().asked
    refusals = [part.refusal for part in parts if part.refusal]
    if refusals and len(refusals) == len(parts):
        raise DataError(refusals[0])
    identity = identity or parts[0].examples.identity
    known = [part.examples for part in parts]
    columns = tuple(dict.fromkeys(name for each in known for name in each.data_columns))
    is_any_of = any(each.answer_kind == "any-of" for each in known)
    widened = [_widened(each) if is_any_of else each for each in known]
    offsets = np.cumsum([0, *(part.rows for part in parts)]).tolist()
    selected, last = _selected(parts, offsets, asked.options.selection.limit)
    choices = [each.choices for each in known if each.choices is not None]
    return Survey(
        widened[0]._replace(
            frame=_merged(each.frame for each in widened),
            inputs=_merged(each.inputs for each in widened),
            nested=_nested(known),
            identity=identity,
            notices=(
                *(*asked.dataset.notices, *identity.notices),
                *cluster_notices(
                    asked.dataset, sum(each.without_cluster for each in known)
                ),
                *tag_notices(asked.dataset, asked.task, columns),
            ),
            data_columns=columns,
            choices=choices[0] if choices else None,
            kept=_kept(parts, asked.dataset),
        ),
        any(part.is_clustered for part in parts),
        sorted(frozenset().union(*(part.facets for part in parts))),
        [
            [
                (start, p.files[n])
                for start, p in zip(offsets, parts, strict=False)
                if n in p.files
            ]
            for n in range(task.buckets)
        ],
        offsets[-1],
        selected,
        last,
    )


def _widened(examples: Examples) -> Examples:
    """Take single answers for lists of one, as of data in which some have several."""
    if examples.answer_kind != "one":
        return examples
    frame = examples.frame.with_columns(answer=pl.concat_list("answer"))
    return examples._replace(frame=frame, answer_kind="any-of")


def _merged(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return no row, with the columns of all parts in their common types."""
    types: dict[str, list[pl.DataType]] = {}
    for frame in frames:
        for name, dtype in frame.schema.items():
            types.setdefault(name, []).append(dtype)
    known = {n: [each for each in own if each != pl.Null] for n, own in types.items()}
    return pl.DataFrame(
        schema={name: common_type(own) or pl.String() for name, own in known.items()}
    )


def _nested(parts: Sequence[Examples]) -> Mapping[str, Sequence[object]]:
    """Name the columns that hold other values as JSON text, in one part or in all."""
    names = {name for each in parts for name in each.nested}
    merged = _merged(each.inputs for each in parts).schema
    for each in parts:
        for name, dtype in each.inputs.schema.items():
            if merged[name] == pl.String and dtype not in (pl.String, pl.Null):
                names.add(name)
    return {name: () for name in sorted(names)}


def _kept(parts: Sequence[DataPart], dataset: BoundDataset) -> tuple[str, ...]:
    """Return the columns that a run of all parts keeps."""
    if dataset.keep is not None:
        return tuple(dataset.keep)
    found = []
    for name in dict.fromkeys(name for part in parts for name in part.values):
        having = [part for part in parts if name in part.examples.data_columns]
        if all(name in part.values for part in having):
            values = [part.values[name] for part in having]
            dtype = common_type(map(type_of, values))
            column = pl.concat(
                [conformed(v, dtype) for v in values if len(v)] or values
            )
            if is_small(column) and makes_groups(column):
                found.append(name)
    return tuple(found)


def _selected(
    parts: Sequence[DataPart], offsets: Sequence[int], limit: int | None
) -> tuple[int | None, int]:
    """Count the selected examples, and find the last one that a limit takes."""
    if limit is None and all(part.selected is None for part in parts):
        return None, 0
    numbers = np.concatenate(
        [
            start + (np.arange(stop - start) if p.selected is None else p.selected)
            for p, (start, stop) in zip(parts, pairwise(offsets), strict=True)
        ]
    )[:limit]
    return len(numbers), int(numbers[-1])


class BucketExamples(NamedTuple):
    """The examples of a bucket, in the order of the data."""

    examples: Examples
    rows: Rows
    """Number of each example in the data, from 0."""
    selected: pl.Series | None


def bucket_examples(task: Task, survey: Survey, bucket: int) -> BucketExamples:
    """Read the examples of a bucket, in the types of the whole.

    Raises:
        SchemaError: Two examples have the same id.
    """
    known = survey.examples
    pieces: list[Piece] = [load(task.store, file) for _, file in survey.files[bucket]]
    starts = [start for start, _ in survey.files[bucket]]
    rows = np.concatenate(
        [_NONE, *(start + p.rows for start, p in zip(starts, pieces, strict=True))]
    )
    parts = [piece.examples for piece in pieces]
    if known.answer_kind == "any-of":
        parts = [*map(_widened, parts)]
    frames = [conformed_frame(each.frame, known.frame.schema) for each in parts]
    frame = pl.concat([known.frame, *frames])
    _refuse_repeated(frame["id"], rows)
    if survey.is_clustered and frame["cluster"].null_count():
        # of parts without a copy: each example is its own original
        own = unit_keys([str(encode([uid])) for uid in frame["id"]], 0)
        frame = frame.with_columns(pl.col("cluster").fill_null(pl.Series(own)))
    selected = None
    if survey.selected is not None:
        everything = (pl.repeat(True, len(p.rows), eager=True) for p in pieces)
        chosen = [
            every if piece.selected is None else piece.selected
            for piece, every in zip(pieces, everything, strict=True)
        ]
        empty = pl.Series([], dtype=pl.Boolean)
        selected = pl.concat([empty, *chosen]) & pl.Series(rows <= survey.last)
    inputs = [conformed_frame(each.inputs, known.inputs.schema) for each in parts]
    options = [c for c in (each.choices for each in parts) if c is not None]
    return BucketExamples(
        known._replace(
            frame=frame,
            inputs=pl.concat([known.inputs, *inputs]),
            nested={
                n: [v for e in parts for v in _values_of(e, n)] for n in known.nested
            },
            choices=pl.concat(options) if options else known.choices,
        ),
        rows,
        selected,
    )


def _values_of(examples: Examples, name: str) -> Sequence[object]:
    """Return the values of a column, of which the whole holds some as JSON text."""
    if name in examples.nested:
        return examples.nested[name]
    if name in examples.inputs.columns:
        return examples.inputs[name].to_list()
    return [None] * examples.frame.height


def _refuse_repeated(ids: pl.Series, rows: Rows) -> None:
    is_repeated = ids.is_duplicated()
    if is_repeated.any():
        uid = ids.filter(is_repeated)[0]
        first, second = np.sort(rows[(ids == uid).to_numpy()])[:2].tolist()
        raise SchemaError(
            f"the data: example {second + 1}: uid {uid!r} was given before, at example "
            f"{first + 1}; each example needs an id of its own"
        )


def answers_of(task: Task, survey: Survey, *, is_all: bool = False) -> pl.DataFrame:
    """Read id and answer of the selected examples, or all, in the order of the data."""
    parts = []
    for bucket in range(task.buckets):
        found = bucket_examples(task, survey, bucket)
        frame = found.examples.frame.select("id", "answer")
        frame = frame.with_columns(pl.Series("row", found.rows))
        if found.selected is not None and not is_all:
            frame = frame.filter(found.selected)
        parts.append(frame)
    return pl.concat(parts).sort("row").drop("row")
