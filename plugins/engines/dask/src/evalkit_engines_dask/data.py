"""The data in parts: checked and converted by core, and written into buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from evalkit.base.columns import encode
from evalkit.errors import DataError, SchemaError
from evalkit.examples.clusters import cluster_notices
from evalkit.examples.fingerprints import DataIdentity
from evalkit.examples.kept import makes_groups
from evalkit.examples.label_conversion import tag_notices
from evalkit.examples.rows import ExampleRows
from evalkit.examples.selection import Selection
from evalkit.examples.table import Examples, load_examples
from evalkit.plugins.bound import BoundDataset
from evalkit.reading.formats import Format, detect_format
from evalkit.reading.json_tables import is_small
from evalkit.runs.recording import Asked
from evalkit.scoring.grouping import facets_of
from evalkit.statistics.resampling import unit_keys
from evalkit_engines_dask.buckets import files_of, rows_by_bucket
from evalkit_engines_dask.plan import Survey, Task
from evalkit_engines_dask.sources import on_this_machine
from evalkit_engines_dask.store import attempt, load, save
from evalkit_engines_dask.types import common_type, common_types, conformed, type_of


def load_part(
    task: Task,
    number: int,
    path: Path | None,
    limit: int | None,
    known: Mapping[str, pl.DataType] | None,
) -> Survey:
    """Load, check and convert a part of the data, and write it into buckets.

    The path is None, and `limit` what a dataset is asked for, where that loads rows.
    `known` are the types of columns in the whole, once all parts were read. What is of
    one bucket already is read again from where it lies.
    """
    examples, refusal, own = _read(task, path, limit, known)
    frame, limit = examples.frame, task.load().asked.options.selection.limit
    buckets = rows_by_bucket(frame["id"], task.buckets)
    files: dict[int, str | Path] = {}
    is_parquet = path is not None and detect_format(path) is Format.PARQUET
    if path and is_parquet and limit is None and len(buckets) == 1:
        files = dict.fromkeys(buckets, path)
    for n, rows in buckets.items() if not files else ():
        name = attempt(f"{task.data}/{number}/{n}")
        files[n] = save(task.store, name, examples.at(rows))
    return Survey(
        examples.at(np.empty(0, np.int64))._replace(
            frame=_typed(frame, ["answer"]),
            inputs=_typed(examples.inputs, examples.inputs.columns),
        ),
        examples.clustered,
        facets_of(frame["tags"]),
        [(0, files)],
        frame.height,
        frame["row"].filter(frame["selected"]).head(limit or 0).to_numpy(),
        {name: _values(examples.inputs[name]) for name in examples.kept},
        refusal,
        own,
    )


def _read(
    task: Task,
    path: Path | None,
    limit: int | None,
    known: Mapping[str, pl.DataType] | None,
) -> tuple[Examples, str | None, dict[str, pl.DataType]]:
    """Read a part; return also why filters choose nothing, and the types it has."""
    own: dict[str, pl.DataType] = {}

    def typed(rows: ExampleRows) -> ExampleRows:
        columns = {column.name: column for column in rows.frame.get_columns()}
        own.update({n: column.dtype for n, column in columns.items() if column.count()})
        types = known or {}
        others = [n for n, c in columns.items() if c.dtype != types.get(n, c.dtype)]
        texts = {n: columns[n].to_list() for n in others if types[n] == pl.String}
        frame = rows.frame.with_columns(conformed(columns[n], types[n]) for n in others)
        return rows._replace(frame=frame, nested={**rows.nested, **texts})

    plan = task.load()
    asked, selection = plan.asked, plan.asked.options.selection
    whole = asked.dataset, asked.task, asked.split, plan.columns, path, limit
    examples = load_examples(*whole, is_part=True, typed=typed)
    if examples.identity.attached_sha256 is not None:
        raise DataError(
            f"{asked.dataset.component.origin}: its rows name files, by which parts "
            "of the data cannot be identified. Evaluate without an engine"
        )
    selected, refusal = None, None
    try:
        selected = Selection(None, selection.filters).mask(examples)
    except DataError as error:  # of a part
        refusal = str(error)
    frame = examples.frame.with_columns(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("row"),
        pl.lit(refusal is None).alias("selected") if selected is None else selected,
    )
    return examples._replace(frame=frame), refusal, own


def _typed(frame: pl.DataFrame, inferred: Sequence[str]) -> pl.DataFrame:
    """Return no row, with the type Null for inferred columns without a value."""
    types = {name: type_of(frame[name]) for name in inferred}
    return pl.DataFrame(schema={**frame.schema, **types})


def _values(column: pl.Series) -> pl.Series:
    """Return the distinct values of a column, the repeated ones twice."""
    counts = column.alias("value").drop_nulls().value_counts()
    return pl.concat([counts["value"], counts.filter(pl.col("count") > 1)["value"]])


def merge_parts(
    asked: Asked, parts: Sequence[Survey], identity: DataIdentity | None
) -> Survey:
    """Merge what core inferred from the parts of the data, in their order.

    The identity is None where the only part says it.
    """
    refusals = [part.refusal for part in parts if part.refusal]
    if len(refusals) == len(parts):
        raise DataError(refusals[0])
    known = [part.examples for part in parts]
    identity = identity or known[0].identity
    columns = tuple(dict.fromkeys(name for each in known for name in each.data_columns))
    without = sum(each.without_cluster for each in known)
    notices = [*asked.dataset.notices, *identity.notices]
    notices += cluster_notices(asked.dataset, without)
    notices += tag_notices(asked.dataset, asked.task, columns)
    if any(each.answer_kind == "any-of" for each in known):
        known = [*map(_widened, known)]
    starts = np.cumsum([0, *(part.rows for part in parts)]).tolist()
    selected = [n + part.selected for n, part in zip(starts, parts, strict=False)]
    examples = known[0]._replace(
        frame=pl.DataFrame(schema=common_types(each.frame.schema for each in known)),
        inputs=pl.DataFrame(schema=common_types(each.inputs.schema for each in known)),
        nested={name: () for each in known for name in each.nested},
        identity=identity,
        notices=tuple(notices),
        data_columns=columns,
        kept=_kept(parts, asked.dataset),
    )
    return Survey(
        examples,
        any(part.is_clustered for part in parts),
        sorted({facet for part in parts for facet in part.facets}),
        [(n, part.pieces[0][1]) for n, part in zip(starts, parts, strict=False)],
        starts[-1],
        np.concatenate(selected)[: asked.options.selection.limit],
        types=common_types(part.types for part in parts),
    )


def _widened(examples: Examples) -> Examples:
    """Take single answers for lists of one, as of data in which some have several."""
    if examples.answer_kind != "one":
        return examples
    frame = examples.frame.with_columns(answer=pl.concat_list("answer"))
    return examples._replace(frame=frame, answer_kind="any-of")


def _kept(parts: Sequence[Survey], dataset: BoundDataset) -> tuple[str, ...]:
    """Return the columns that a run of all parts keeps."""
    if dataset.keep is not None:
        return tuple(dataset.keep)
    found = []
    for name in dict.fromkeys(name for part in parts for name in part.values):
        having = [part for part in parts if name in part.examples.data_columns]
        values = [part.values[name] for part in having if name in part.values]
        dtype = common_type(map(type_of, values))
        column = pl.concat([conformed(each, dtype) for each in values])
        if len(values) == len(having) and is_small(column) and makes_groups(column):
            found.append(name)
    return tuple(found)


def bucket_examples(task: Task, survey: Survey, bucket: int) -> Examples:
    """Read the examples of a bucket, in the types of the whole and the data's order.

    The frame has their numbers in the data, from 0 (`row`), and whether they are
    evaluated (`selected`).
    """
    known = survey.examples
    parts: list[Examples] = []
    for start, file in files_of(survey.pieces, bucket):
        if isinstance(file, Path):
            part = _read(task, on_this_machine(file), None, survey.types)[0]
        else:
            part = load(task.store, file)
        frame = part.frame.with_columns(pl.col("row") + start)
        parts.append(part._replace(frame=frame))
    if known.answer_kind == "any-of":
        parts = [*map(_widened, parts)]
    frames = [known.frame, *(each.frame for each in parts)]
    inputs = [known.inputs, *(each.inputs for each in parts)]
    options = [each.choices for each in parts if each.choices is not None]
    frame = pl.concat(frames, how="diagonal_relaxed")
    if survey.selected.size:
        is_taken = pl.col("selected") & (pl.col("row") <= survey.selected[-1])
        frame = frame.with_columns(is_taken)
    _refuse_repeated(frame)
    if survey.is_clustered and frame["cluster"].null_count():
        # of parts without a copy: each example is its own original
        own = unit_keys([str(encode([uid])) for uid in frame["id"]], 0)
        frame = frame.with_columns(pl.col("cluster").fill_null(pl.Series(own)))
    return known._replace(
        frame=frame,
        inputs=pl.concat(inputs, how="diagonal_relaxed"),
        nested={
            name: [value for each in parts for value in _values_of(each, name)]
            for name in known.nested
        },
        choices=pl.concat(options) if options else known.choices,
    )


def _values_of(examples: Examples, name: str) -> Sequence[object]:
    """Return the values of a column, of which the whole holds some as JSON text."""
    if name in examples.nested:
        return examples.nested[name]
    if name in examples.inputs.columns:
        return examples.inputs[name].to_list()
    return [None] * examples.frame.height


def _refuse_repeated(frame: pl.DataFrame) -> None:
    repeated = frame.filter(pl.col("id").is_duplicated()).sort("id", "row")
    if repeated.height:
        (uid, first), (_, second) = repeated[:2].select("id", "row").rows()
        raise SchemaError(
            f"the data: example {second + 1}: uid {uid!r} was given before, at example "
            f"{first + 1}; each example needs an id of its own"
        )


def answers_of(task: Task, survey: Survey) -> pl.DataFrame:
    """Read id and answer of all examples, in the order of the data."""
    parts = (bucket_examples(task, survey, n).frame for n in range(task.buckets))
    rows = [frame.select("id", "answer", "selected", "row") for frame in parts]
    return pl.concat(rows).sort("row").drop("row")
