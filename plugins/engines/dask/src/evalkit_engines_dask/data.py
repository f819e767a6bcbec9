"""The data in parts: checked and converted by core, and written into buckets."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evalkit.base.columns import all_named, encode, frame_of
from evalkit.base.terms import AnswerKind
from evalkit.errors import DataError, EvalkitError, SchemaError
from evalkit.examples.fingerprints import DataIdentity
from evalkit.examples.kept import makes_groups
from evalkit.examples.label_conversion import tag_notices
from evalkit.examples.selection import Selection
from evalkit.examples.table import Examples, load_examples
from evalkit.reading.json_tables import is_small
from evalkit.scoring.grouping import facets_of
from evalkit.statistics.resampling import unit_keys
from evalkit_engines_dask.buckets import bucket_of, files_of, read_bucket, write_buckets
from evalkit_engines_dask.plan import Survey, Task
from evalkit_engines_dask.types import common_type, conformed, type_of

ROW, PART, SELECTED = "(row)", "(part)", "(selected)"
_INPUT, _NESTED = "input ", "nested "


class DataPart(NamedTuple):
    """What a part of the data holds, and what core inferred from it."""

    examples: Examples
    """Without a row."""
    rows: int
    files: Mapping[int, str]
    types: Mapping[str, pl.DataType | None]
    is_clustered: bool
    facets: frozenset[str]
    values: Mapping[str, pl.Series]
    """The distinct values of columns that a run may keep, and a second null where
    another value is there more than once."""
    selected: Sequence[int] | None
    """Rows that are evaluated; None for all."""
    refusal: str | None = None
    """Why the filters choose no example."""


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
    examples = load_examples(
        *(asked.dataset, asked.task, asked.split, plan.columns, path, limit),
        is_part=True,
    )
    if examples.identity.attached_sha256 is not None:
        raise DataError(
            f"{asked.dataset.component.origin}: its rows name files, which parts of "
            "the data cannot be identified by. Evaluate without an engine"
        )
    filters = Selection(None, asked.options.selection.filters)
    selected, refusal = None, None
    try:
        selected = filters.mask(examples)
    except DataError as error:
        selected = pl.repeat(False, examples.frame.height, eager=True)
        refusal = str(error)
    frame = _rows(examples, selected)
    buckets = bucket_of(examples.frame["id"], task.buckets)
    files = write_buckets(task.store, f"data/{number}", frame, buckets)
    kept = examples.inputs.select(all_named(examples.kept))
    return DataPart(
        examples.where(pl.repeat(False, examples.frame.height, eager=True)),
        examples.frame.height,
        files,
        {name: type_of(frame[name]) for name in frame.columns},
        examples.clustered,
        frozenset(facets_of(examples.frame["tags"])),
        {column.name: _values(column) for column in kept.get_columns()},
        None if selected is None else selected.arg_true().to_list(),
        refusal,
    )


def _values(column: pl.Series) -> pl.Series:
    """Return the distinct values of a column, the repeated ones twice."""
    counts = column.alias("value").drop_nulls().value_counts()
    return pl.concat([counts["value"], counts.filter(pl.col("count") > 1)["value"]])


def _rows(examples: Examples, selected: pl.Series | None) -> pl.DataFrame:
    columns = [
        pl.int_range(examples.frame.height, dtype=pl.Int64, eager=True).alias(ROW),
        *examples.frame.get_columns(),
    ]
    inputs = examples.inputs.get_columns()
    columns += [column.alias(_INPUT + column.name) for column in inputs]
    for name, values in examples.nested.items():
        pickled = [*map(pickle.dumps, values)]
        columns.append(pl.Series(_NESTED + name, pickled, dtype=pl.Binary))
    if examples.choices is not None:
        columns.append(examples.choices.alias("choices"))
    if selected is not None:
        columns.append(selected.alias(SELECTED))
    return frame_of(columns)


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
    columns = tuple(dict.fromkeys(c for p in parts for c in p.examples.data_columns))
    kept = _kept(parts, asked.dataset.keep)
    notices = (*asked.dataset.notices, *identity.notices)
    notices += tuple(tag_notices(asked.dataset, asked.task, columns))
    known = [part.examples for part in parts]
    kinds = {each.answer_kind for each in known}
    kind: AnswerKind = "any-of" if "any-of" in kinds else known[0].answer_kind
    types = _types(parts, kind)
    inputs = {
        name.removeprefix(_INPUT): dtype
        for name, dtype in types.items()
        if name.startswith(_INPUT)
    }
    frame = {name: types[name] for name in ("id", "answer", "tags", "cluster")}
    nested = {name: () for each in known for name in each.nested}
    choices = None
    if "choices" in types:
        choices = pl.Series("choices", [], types["choices"])
    offsets = np.cumsum([0, *(part.rows for part in parts)]).tolist()
    selected, last = _selected(parts, offsets, asked.options.selection.limit)
    examples = known[0]._replace(
        frame=pl.DataFrame(schema=frame),
        inputs=pl.DataFrame(schema=inputs),
        nested=nested,
        answer_kind=kind,
        identity=identity,
        notices=notices,
        data_columns=columns,
        choices=choices,
        kept=kept,
    )
    return Survey(
        examples,
        any(part.is_clustered for part in parts),
        sorted(frozenset().union(*(part.facets for part in parts))),
        tuple(offsets[:-1]),
        tuple(part.files for part in parts),
        offsets[-1],
        selected,
        last,
    )


def _types(parts: Sequence[DataPart], kind: AnswerKind) -> dict[str, pl.DataType]:
    names = dict.fromkeys(name for part in parts for name in part.types)
    found = {}
    for name in names:
        types = [part.types.get(name) for part in parts]
        if name == "answer" and kind == "any-of":
            types = [
                pl.List(dtype)
                if part.examples.answer_kind == "one" and dtype
                else dtype
                for part, dtype in zip(parts, types, strict=True)
            ]
        first = next(p.examples for p in parts if name in p.types)
        found[name] = common_type(types) or _empty_type(first, name)
    return found


def _empty_type(examples: Examples, name: str) -> pl.DataType:
    """Return the type of a column without a value."""
    if name in examples.frame.columns:
        return examples.frame.schema[name]
    inputs = examples.inputs
    column = name.removeprefix(_INPUT)
    return inputs.schema[column] if column in inputs.columns else pl.String()


def _kept(parts: Sequence[DataPart], keep: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns that a run of all parts keeps."""
    if keep is not None:
        return tuple(keep)
    names = dict.fromkeys(name for part in parts for name in part.values)
    found = []
    for name in names:
        known = [p for p in parts if name in p.examples.data_columns]
        if not all(name in part.values for part in known):
            continue
        values = [part.values[name] for part in known]
        dtype = common_type(map(type_of, values))
        column = pl.concat([conformed(each, dtype) for each in values if len(each)])
        if is_small(column) and makes_groups(column):
            found.append(name)
    return tuple(found)


def _selected(
    parts: Sequence[DataPart], offsets: Sequence[int], limit: int | None
) -> tuple[int | None, int | None]:
    """Count the selected examples, and find the last one that a limit takes."""
    if limit is None and all(part.selected is None for part in parts):
        return None, None
    numbers = np.concatenate(
        [
            np.arange(part.rows) + offset
            if part.selected is None
            else np.array(part.selected, np.int64) + offset
            for part, offset in zip(parts, offsets, strict=False)
        ]
    )
    if limit is not None:
        numbers = numbers[:limit]
    return len(numbers), int(numbers[-1]) if len(numbers) else -1


class BucketExamples(NamedTuple):
    """The examples of a bucket."""

    examples: Examples
    rows: np.ndarray[Any, np.dtype[np.int64]]
    """Number of each example in the data, from 0."""
    selected: pl.Series | None


def bucket_examples(task: Task, survey: Survey, bucket: int) -> BucketExamples:
    """Read the examples of a bucket, in the types of the whole.

    Raises:
        SchemaError: Two examples have the same id.
    """
    known = survey.examples
    frames = read_bucket(task.store, files_of(survey.files, bucket), PART)
    parts = [_conformed(frame, known) for frame in frames]
    frame = pl.concat(parts) if parts else _conformed(pl.DataFrame(), known)
    if survey.is_clustered and frame["cluster"].null_count():
        # parts without a copy: each example is its own original
        own = unit_keys([str(encode([uid])) for uid in frame["id"]], 0)
        frame = frame.with_columns(pl.col("cluster").fill_null(pl.Series(own)))
    starts = np.array(survey.offsets, np.int64)
    rows = frame[ROW].to_numpy() + starts[frame[PART].to_numpy()]
    _refuse_repeated(frame["id"], rows)
    chosen = None
    if survey.selected is not None:
        chosen = frame[SELECTED] & pl.Series(rows <= (survey.last or 0))
    inputs = {name: frame[_INPUT + name] for name in known.inputs.columns}
    return BucketExamples(
        known._replace(
            frame=frame.select(all_named(known.frame.columns)),
            inputs=pl.DataFrame({n: c.alias(n) for n, c in inputs.items()}),
            nested={
                name: [pickle.loads(v) for v in frame[_NESTED + name]]
                for name in known.nested
            },
            choices=None if known.choices is None else frame["choices"],
        ),
        rows,
        chosen,
    )


def _conformed(frame: pl.DataFrame, known: Examples) -> pl.DataFrame:
    """Bring the rows of a part into the types of the whole."""
    types: dict[str, Any] = {ROW: pl.Int64, PART: pl.Int32, **known.frame.schema}
    types |= {_INPUT + name: dtype for name, dtype in known.inputs.schema.items()}
    types |= {_NESTED + name: pl.Binary for name in known.nested}
    if known.choices is not None:
        types["choices"] = known.choices.dtype
    answer = frame.get_column("answer", default=None)
    is_single = answer is not None and not isinstance(answer.dtype, pl.List)
    if known.answer_kind == "any-of" and is_single:
        frame = frame.with_columns(answer=pl.concat_list("answer"))
    columns = []
    for name, dtype in types.items():
        if name in frame.columns:
            columns.append(conformed(frame[name], dtype))
        else:
            columns.append(pl.Series(name, [None] * frame.height, dtype))
    selected = frame.get_column(SELECTED, default=None)
    if selected is None:
        selected = pl.repeat(True, frame.height, eager=True)
    return frame_of([*columns, selected.alias(SELECTED)])


def _refuse_repeated(ids: pl.Series, rows: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    is_repeated = ids.is_duplicated()
    if not is_repeated.any():
        return
    uid = ids.filter(is_repeated)[0]
    first, second = np.sort(rows[(ids == uid).to_numpy()])[:2].tolist()
    raise SchemaError(
        f"the data: example {second + 1}: uid {uid!r} was given before, at example "
        f"{first + 1}; each example needs an id of its own"
    )


def answers_of(task: Task, survey: Survey) -> pl.DataFrame:
    """Read the answers of all examples, in the order of the data."""
    parts = []
    for bucket in range(task.buckets):
        found = bucket_examples(task, survey, bucket)
        frame = found.examples.frame.select("id", "answer")
        frame = frame.with_columns(pl.Series(ROW, found.rows))
        parts.append(frame if found.selected is None else frame.filter(found.selected))
    return pl.concat(parts).sort(ROW).drop(ROW)


def refuse_large(rows: int, most: int, what: str) -> None:
    """Refuse what needs all rows on the driver where these are too many."""
    if rows > most:
        raise EvalkitError(
            f"{what} needs all {rows:,} examples in one process, which an engine does "
            f"for at most {most:,}. Evaluate without an engine"
        )
