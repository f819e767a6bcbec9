"""The steps before scoring: load the examples, read the predictions, match them.

Files of predictions in any of the formats are read as blocks of rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, repeat
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.jobs import Job
from evalkit.base.progress import Progress, reported
from evalkit.errors import DataError
from evalkit.examples.fingerprints import hash_frame
from evalkit.examples.row_stages import RowStage
from evalkit.examples.selection import Selection
from evalkit.examples.table import Examples, load_examples
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.plugins.observers import Observers
from evalkit.plugins.provenance import rows_hash
from evalkit.predictions.alignment import Alignment, OnDuplicate, align
from evalkit.predictions.answer_readers import AnswerReader
from evalkit.predictions.beside import (
    ChangedPredictions,
    file_of,
    read_job,
    read_system,
)
from evalkit.predictions.input_rows import fields_read
from evalkit.predictions.responses import ResponseReader
from evalkit.reading.files import TABLES, read_rows
from evalkit.reading.formats import Format, detect_format, is_data_set, model_name
from evalkit.reading.given_rows import local_path
from evalkit.reading.json_lines import read_json_blocks
from evalkit.reading.manifests import data_sha256
from evalkit.reading.plain import read_plain_blocks
from evalkit.reading.rows import Block, Row, object_row, row_blocks
from evalkit.reading.sharded import ShardedPath
from evalkit.reading.steady_files import SteadyFile, file_hashes, joined_digest
from evalkit.reading.streams import refuse_other_than_file
from evalkit.reading.tables import read_table_blocks, table_blocks
from evalkit.reading.threads import in_background


class Prepared(NamedTuple):
    """Examples and predictions, matched."""

    examples: Examples
    """The selected ones."""
    alignment: Alignment
    predictions: Mapping[str, Any]
    """Name and SHA-256 of what was read, its adapters, its job, and what made it."""
    ids: pl.Series
    """The ids of all examples, also of those that were not selected."""
    stage: RowStage | None = None
    """What the predictions went through before they were checked."""
    answers: AnswerReader | None = None
    """What took the answers out of them after that."""
    job: Job | None = None
    """The job that made the predictions; None where they are of no file."""


def default_model(predictions: Predictions) -> str:
    """Name a model after its file of predictions."""
    file = file_of(predictions)
    return "model" if file is None else model_name(Path(file))


def prepare(
    dataset: BoundDataset,
    task: BoundTask,
    predictions: Predictions,
    split: str,
    selection: Selection,
    on_duplicate: OnDuplicate,
    model: str,
    watchers: Observers,
    progress: Progress,
    columns: Collection[str] | None = None,
    fields: Collection[str] = (),
    *,
    needs_all: bool = False,
    answers: AnswerReader | None = None,
    given: Any = None,
) -> Prepared:
    """Load, read and match.

    Of the data, columns are kept that later steps read; None for all. Of responses, the
    fields are kept that metrics ask for beside prediction and answer. With `needs_all`,
    later steps ask for examples that are not selected, too. Given examples take the
    place of those of the data set. Where responses name replications, each example is
    returned as often as there are replications.
    """
    name = dataset.name
    progress(f"loading {name}", 0.0)
    watchers.tell("before_load", dataset=name, split=split)
    needed = None
    if columns is not None:
        needed = {*columns, *selection.columns, *fields_read(dataset, task)}
    whole = needs_all or bool(selection.filters) or has_plain_lines(predictions)
    limit = None if whole else selection.limit
    examples = load_examples(dataset, task, split, needed, given, limit)
    selected = selection.mask(examples)
    n_examples = examples.frame.height if selected is None else int(selected.sum())
    watchers.tell("after_load", dataset=name, split=split, n_examples=n_examples)
    reading = f"reading the predictions of {model}", 0.2
    progress(*reading)
    reader = ResponseReader(task, dataset, examples, fields, answers)
    ids = examples.frame["id"]
    file = watched_file(predictions)
    # rows are identified before anybody changes them, a file while it is read
    identity = in_background(identify, predictions)
    if file is None:
        identity.result()
    job = read_job(predictions)
    blocks = reported(read_responses(predictions, reader, ids), progress, *reading)
    is_part = examples.identity.limit is not None
    alignment = align(ids, blocks, reader, on_duplicate, selected, is_part=is_part)
    source = identity.result()
    if file is not None:
        file.check()
    alignment = alignment._replace(place=place_of(predictions))
    if selected is not None:
        examples = examples.where(selected)
    if alignment.replications:
        examples = examples.repeated(len(alignment.replications))
    stage = None
    if isinstance(predictions, ChangedPredictions):
        stage = predictions.stage
    if job is not None:
        source = {**source, **job.recorded}
    system = read_system(predictions)
    if system is not None:
        source = {**source, "system": system.recorded}
    return Prepared(examples, alignment, source, ids, stage, answers, job)


def place_of(predictions: Predictions) -> str:
    """Say what the numbers of rows count."""
    if isinstance(predictions, ChangedPredictions) and predictions.stage.has_read_file:
        return "row"
    file = file_of(predictions)
    if file is None or local_path(file).is_dir():
        return "line"
    is_array = detect_format(local_path(file)) is Format.JSON_ARRAY
    return "element" if is_array else "line"


def has_plain_lines(predictions: Predictions) -> bool:
    """Tell whether predictions are matched with examples by their places."""
    if not isinstance(predictions, str | Path):
        return False
    return detect_format(local_path(predictions)) is Format.PLAIN


def read_responses(
    predictions: Predictions, reader: ResponseReader, ids: pl.Series
) -> Iterable[Block]:
    """Read predictions, of a file or as they were given."""
    if isinstance(predictions, ChangedPredictions):
        return predictions.stage.read_responses(predictions.given, reader)
    if isinstance(predictions, str | Path):
        return _read_file(local_path(predictions), reader, ids)
    if isinstance(predictions, pl.DataFrame):
        return table_blocks(predictions, 1, reader.plan, reader.nullable, reader.output)
    return row_blocks(map(object_row, count(1), predictions), reader.plan)


Predictions = (
    str | Path | pl.DataFrame | Sequence[Mapping[str, Any]] | ChangedPredictions
)


def changed_by(predictions: Predictions, stage: RowStage | None) -> Predictions:
    """Return predictions whose rows a stage changes as they are read."""
    if stage is None or isinstance(predictions, ChangedPredictions):
        return predictions
    return ChangedPredictions(predictions, stage)


def identify(
    predictions: Predictions, *, may_be_folder: bool = False
) -> Mapping[str, Any]:
    """Return name, SHA-256 and adapters of the predictions."""
    if isinstance(predictions, ChangedPredictions):
        given, stage = predictions
        own = identify(given, may_be_folder=stage.reads_files)
        return {**own, "adapters": stage.specification}
    if isinstance(predictions, str | Path):
        path = local_path(predictions)
        if isinstance(path, ShardedPath):
            digests = [each["sha256"] for each in file_hashes(path)]
            return {"name": path.name, "sha256": joined_digest(digests)}
        if not (is_data_set(path) or (may_be_folder and path.is_dir())):
            refuse_other_than_file(path)
        try:
            return {"name": path.name, "sha256": data_sha256(path)}
        except OSError as error:
            reason = error.strerror or error
            raise DataError(f"{path}: cannot be read: {reason}") from error
    if not isinstance(predictions, pl.DataFrame):
        return {"name": None, "sha256": rows_hash(predictions)}
    if pl.Object in predictions.dtypes:
        return {"name": None, "sha256": rows_hash(predictions.iter_rows(named=True))}
    by_name = predictions.select(all_named(sorted(predictions.columns)))
    return {"name": None, "sha256": hash_frame(by_name)}


def watched_file(predictions: Predictions) -> SteadyFile | None:
    """Return the file of predictions as it is now; None where they are of none."""
    file = file_of(predictions)
    return None if file is None else SteadyFile(local_path(file))


def _read_shards(
    path: ShardedPath, reader: ResponseReader, ids: pl.Series
) -> Iterator[Block]:
    """Read shards one after another; lines are numbered through."""
    last = 0

    def noted(rows: Iterable[Row]) -> Iterator[Row]:
        nonlocal last
        for row in rows:
            last = max(last, row.line)
            yield row

    for shard in path.shards:
        for block in map(Block.moved, _read_file(shard, reader, ids), repeat(last)):
            yield block._replace(rows=noted(block.rows))
            last = max(last, int(block.lines.max(initial=0)))


def _read_file(path: Path, reader: ResponseReader, ids: pl.Series) -> Iterator[Block]:
    found = detect_format(path)
    if isinstance(path, ShardedPath) and found is not Format.PLAIN:
        return _read_shards(path, reader, ids)
    if found is Format.JSON_LINES:
        return read_json_blocks(path, reader.plan)
    if found in TABLES:
        return read_table_blocks(
            path, found, reader.plan, reader.nullable, reader.output
        )
    if found is not Format.PLAIN:
        rows = read_rows(path, found, reader.text_fields)
        return row_blocks(_with_nulls(rows, reader.nullable), reader.plan)
    if reader.answer_field is None:
        raise DataError(
            f"{path}: plain lines need a task that names its `answer_field`; "
            f"{reader.origin} does not. Give JSON lines"
        )
    return read_plain_blocks(path, reader.plan, ids, reader.answer_field)


def _with_nulls(rows: Iterable[Row], nullable: Sequence[str]) -> Iterator[Row]:
    """Say that a cell with nothing in it is null where null is a value."""
    nulls = dict.fromkeys(nullable)
    for row in rows:
        if nulls and row.values is not None:
            row = row._replace(values={**nulls, **row.values})
        yield row
