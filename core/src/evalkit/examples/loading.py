"""Loads the rows of a split, and checks their ids and their shape."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from evalkit.base.columns import frame_of, is_text_only, to_series, unstorable_place
from evalkit.base.ids import AS_INTEGERS, EXAMPLE_ID_KEYS, read_id
from evalkit.base.violations import FirstProblems, Violation, few, shorten
from evalkit.base.wording import HOW_TO_CONVERT, NOT_UTF8
from evalkit.errors import DataError, SchemaError
from evalkit.examples.cells import read_cells
from evalkit.examples.lacking import lacking_error
from evalkit.examples.rows import ExampleRows, Rows
from evalkit.examples.scored_values import unscorable_kind
from evalkit.plugins.bound import BoundDataset, BoundTask
from evalkit.plugins.components import AS_FILE
from evalkit.reading.data_places import loaded_path
from evalkit.reading.field_types import model_types
from evalkit.reading.files import TABLES
from evalkit.reading.formats import Format, detect_format, is_data_set
from evalkit.reading.json_tables import Wanted, read_json_table
from evalkit.reading.rows import Row
from evalkit.reading.schemas import ColumnPlan, plan_of
from evalkit.reading.sharded import ShardedPath, place_in
from evalkit.reading.steady_files import SteadyFile
from evalkit.reading.tables import holds_integers, read_frames
from evalkit.reading.threads import in_background

_PLAIN_TYPES = (pl.String, pl.Boolean, pl.Int64, pl.Float64, pl.List(pl.String))


def load_rows(
    dataset: BoundDataset,
    task: BoundTask,
    split: str,
    kept: Collection[str] | None = None,
    given: Any = None,
    asked: Asked | None = None,
    *,
    needs_answer: bool = False,
    is_part: bool = False,
) -> ExampleRows:
    """Load the rows of a split, or of a part of it, and check their ids."""
    splits = dataset.splits
    # a row stage may read any column, and drop rows
    asked = Asked() if asked is None or dataset.pipeline is not None else asked
    if split not in splits:
        raise DataError(
            f"{dataset.component.id} has no split {split!r}; it has {', '.join(splits)}"
        )
    with dataset.guard_of_load(split):
        rows = given
        if given is None:
            rows = dataset.row_function("load")(split=split, **asked.arguments)
        is_changed = (given is None or is_part) and dataset.pipeline is not None
        try:
            loaded = _materialise(dataset, task, rows, kept, is_changed)
        except DataError as error:
            raise _named(dataset, error) from error.__cause__
    if given is None and loaded.path is None:
        identifying, limit = asked.looked_at(dataset)
        loaded = loaded._replace(identifying=identifying, limit=limit)
    if loaded.frame.is_empty():
        problems = [f"{loaded.source(dataset)}: split {split!r} has no examples"]
        if is_changed:
            problems += ["its adapters left no row", *dataset.pipeline.notices]
        raise DataError("; ".join(problems))
    return _with_ids(dataset, task, loaded._replace(needs_answer=needs_answer))


def _named(dataset: BoundDataset, error: DataError) -> DataError:
    """Name the plugin whose data cannot be read, where an error does not."""
    component = dataset.component
    if component.distribution == AS_FILE or component.id in str(error):
        return error
    named = type(error)(f"{component.origin}: {error}")
    named.mapping, named.place = error.mapping, error.place
    return named


def _materialise(
    dataset: BoundDataset,
    task: BoundTask,
    loaded: Any,
    kept: Collection[str] | None,
    is_changed: bool,
) -> ExampleRows:
    """Return the rows that a data set loaded, as its row stage changes them if so."""
    path = loaded_path(loaded)
    given = None if path is not None else _given_rows(dataset, loaded)
    if path is None and not is_changed:
        if isinstance(given, pl.DataFrame):
            return ExampleRows(given)
        return _with_frame(dataset, task, ExampleRows(pl.DataFrame(), given))
    file = None if path is None else SteadyFile(path)
    hashes = None if file is None else in_background(SteadyFile.hashes, file)
    try:
        if path is None or is_changed:
            read = _changed_rows(dataset, task, path, given)
        else:
            read = _read_rows(dataset, task, path, detect_format(path), kept)
    except DataError:
        if hashes is not None and path is not None and is_data_set(path):
            hashes.result()  # says which of its files is not what was written
        raise
    if file is not None:
        file.check()
    return read._replace(hashes=hashes)


def _given_rows(dataset: BoundDataset, loaded: Any) -> pl.DataFrame | Rows:
    """Return a table, or the rows, that a data set loaded."""
    if isinstance(loaded, pl.LazyFrame):
        return loaded.collect()
    if isinstance(loaded, pl.DataFrame) or hasattr(loaded, "__arrow_c_stream__"):
        return pl.DataFrame(loaded)
    rows = list(loaded) if isinstance(loaded, Iterable) else []
    strange = next(
        (n for n, row in enumerate(rows) if not isinstance(row, Mapping)), -1
    )
    if not isinstance(loaded, Iterable):
        problem = (
            f"load returned {type(loaded).__name__}; it must return a polars frame, an "
            "Arrow table, a path or an iterable of dicts"
        )
    elif not rows and isinstance(loaded, Iterator):
        problem = (
            "load gave an iterator without examples; one that was read before has none "
            "left: return a list"
        )
    elif strange >= 0:
        problem = (
            f"example {strange + 1} is {shorten(rows[strange])}, not a dict; load must "
            "give dicts"
        )
    else:
        return rows
    raise DataError(f"{dataset.component.origin}: {problem}")


def _changed_rows(
    dataset: BoundDataset, task: BoundTask, path: Path | None, given: Any
) -> ExampleRows:
    found = dataset.pipeline.read_examples(dataset, task, path, given)
    if isinstance(found, pl.DataFrame):
        read = ExampleRows(found, None, path)
    else:
        read = _rows_of_file(dataset, task, path, found)
    dataset.pipeline.refuse_absent(read.source(dataset), "data")
    return read


def _read_rows(
    dataset: BoundDataset,
    task: BoundTask,
    path: Path,
    kind: Format,
    kept: Collection[str] | None,
) -> ExampleRows:
    if kind is Format.JSON_LINES and not isinstance(path, ShardedPath):
        table = read_json_table(path, _wanted(dataset, task, kept))
        if table is not None and not _lacks_ids(table.frame):
            return ExampleRows(path=path, **table._asdict())
    if kind in TABLES:
        frames = list(read_frames(path, kind))
        return ExampleRows(pl.concat(frames) if frames else pl.DataFrame(), None, path)
    return _rows_of_file(dataset, task, path, read_cells(dataset, task, path, kind))


def _wanted(
    dataset: BoundDataset, task: BoundTask, kept: Collection[str] | None
) -> Wanted | None:
    """Say which texts need not be kept: those that columns can be checked for."""
    plan = input_plan(task)
    if kept is None or plan is None:
        return None
    texts = [
        name
        for name, column in plan.columns.items()
        if column.dtype == pl.String and name not in kept
    ]
    names = {*kept, *EXAMPLE_ID_KEYS, *plan.columns} - {*texts}
    return Wanted(names, plan.of(texts), dataset.keep is None)


def input_plan(task: BoundTask) -> ColumnPlan | None:
    """Plan the columns of the task's `Input`."""
    plan = plan_of(task.Input, apart=EXAMPLE_ID_KEYS)
    return plan if plan is not None and not plan.forbids_undeclared else None


def _lacks_ids(frame: pl.DataFrame) -> bool:
    """Tell whether ids have to be looked for row by row."""
    key = next((key for key in EXAMPLE_ID_KEYS if key in frame.columns), None)
    return key is None or frame[key].null_count() > 0


def _rows_of_file(
    dataset: BoundDataset, task: BoundTask, path: Path | None, found: Iterable[Row]
) -> ExampleRows:
    rows: Rows = []
    lines: list[int] = []
    problems = FirstProblems()
    is_encoded = True
    word = "example" if path is None else "line"
    if path is not None and dataset.pipeline and dataset.pipeline.has_read_file:
        word = "row"
    elif path is not None and detect_format(path) is Format.JSON_ARRAY:
        word = "element"
    has_lines = word == "line"
    for row in found:
        if row.values is None:
            problems.add(f"{place_in(path, row.line, word)}: {row.problem}")
            is_encoded &= not str(row.problem and row.problem.rule).startswith(NOT_UTF8)
        elif not problems:
            rows.append(row.values)
            lines.append(row.line)
    if problems:
        given = ExampleRows(pl.DataFrame(), path=path)
        cause = "" if is_encoded else f"it is not UTF-8: {HOW_TO_CONVERT}; "
        raise SchemaError(f"{given.source(dataset)}: {cause}{problems}")
    given = ExampleRows(pl.DataFrame(), rows, path, lines if has_lines else None)
    return _with_frame(dataset, task, given)


MOST_EMPTY_CELLS = 10_000_000
"""Cells of a table of examples beyond which most must hold something."""

_CELLS_A_VALUE = 20


def _refuse_sparse(source: str, rows: Rows, keys: int) -> None:
    """Refuse rows of which each has other keys: their table grows with the square."""
    values = sum(map(len, rows))
    if len(rows) * keys > MOST_EMPTY_CELLS + _CELLS_A_VALUE * values:
        raise SchemaError(
            f"{source}: the {len(rows)} examples have {keys} different keys, of which "
            f"an example has {values / len(rows):.3g} on average; each key is a "
            "column, so put what differs from example to example into one key, as a "
            "list of names and values"
        )


def _with_frame(
    dataset: BoundDataset, task: BoundTask, loaded: ExampleRows
) -> ExampleRows:
    rows = loaded.rows or []
    # fields that pydantic is asked about may hold what JSON has not, such as a set
    asked = model_types(task.Input)
    if input_plan(task) is not None:
        asked = {name: kind for name, kind in asked.items() if kind not in _PLAIN_TYPES}
    names = dict.fromkeys(key for row in rows for key in row)
    _refuse_sparse(loaded.source(dataset), rows, len(names))
    columns = []
    nested = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            column = to_series(name, values)
        except ValueError as error:
            if name in asked:
                # no other value has the same text, whatever the process
                write = partial(json.dumps, sort_keys=True, default=_as_text)
                columns.append(pl.Series(name, [*map(write, values)]))
                continue
            position = unstorable_place(values)
            raise SchemaError(
                f"{loaded.source(dataset)}: {_named_row(loaded, position)}: {name}: "
                f"must be a value that can be stored ({error}), "
                f"{_what_is(values[position], str(error))}"
            ) from error
        columns.append(column)
        if column.dtype == pl.String and name != "uid" and not is_text_only(values):
            nested[column.name] = values
    return loaded._replace(frame=frame_of(columns), nested=nested)


def _as_text(value: Any) -> Any:
    return (
        sorted(map(repr, value)) if isinstance(value, set | frozenset) else repr(value)
    )


def _named_row(loaded: ExampleRows, position: int) -> str:
    """Say which row is meant, also by its id where it has a sound one."""
    uid = read_id((loaded.rows or [])[position], EXAMPLE_ID_KEYS)
    name = "" if isinstance(uid, Violation) else f" (uid {uid!r})"
    return loaded.where(position) + name


def _what_is(value: Any, known: str) -> str:
    kind = unscorable_kind(value)
    is_said = kind is None or kind == known
    return f"{'found' if is_said else f'is {kind}:'} {shorten(value)}"


def _with_ids(
    dataset: BoundDataset, task: BoundTask, loaded: ExampleRows
) -> ExampleRows:
    columns = loaded.frame.columns
    keys = [key for key in EXAMPLE_ID_KEYS if key in columns]
    if not keys:
        raise lacking_error(dataset, task, loaded)
    given = loaded.frame[keys[0]]
    if isinstance(given.dtype, pl.Decimal) and holds_integers(given.dtype):
        loaded = loaded._replace(frame=loaded.frame.with_columns(given.cast(pl.String)))
    second = loaded.frame["id"] if "id" in columns else given
    is_clear = second.dtype == given.dtype and (second == given).all()
    if (
        loaded.rows is None
        and is_clear
        and (uid := _plain_ids(loaded.frame[keys[0]])) is not None
    ):
        return loaded._replace(frame=loaded.frame.with_columns(uid))
    ids = [read_id(row, EXAMPLE_ID_KEYS) for row in loaded.as_they_came()]
    problems = [
        f"{loaded.where(position)}: {found}"
        for position, found in enumerate(ids)
        if isinstance(found, Violation)
    ]
    problems = problems or list(_repeated(loaded, ids))
    if problems:
        broken = (each.value for each in ids if isinstance(each, Violation))
        is_float = any(isinstance(value, float) for value in broken)
        cause = f"; {AS_INTEGERS}" if is_float else ""
        raise SchemaError(f"{loaded.source(dataset)}: {few(problems)}{cause}")
    uids = pl.Series("uid", ids, dtype=pl.String)
    return loaded._replace(frame=loaded.frame.with_columns(uids))


def _plain_ids(column: pl.Series) -> pl.Series | None:
    """Return the ids of a column that is sound as a whole; else None."""
    if column.null_count() or not (
        column.dtype.is_integer() or column.dtype == pl.String
    ):
        return None
    # in one chunk, as looking at many takes longer
    ids = column.cast(pl.String).alias("uid").rechunk()
    if (ids.str.len_bytes() == 0).any():
        return None
    # different hashes are surely of different texts, and counted much faster
    counts = (distinct.n_unique() for distinct in (ids.hash(), ids))
    return ids if any(count == len(ids) for count in counts) else None


def _repeated(loaded: ExampleRows, ids: Sequence[object]) -> Iterator[str]:
    first: dict[object, int] = {}
    for position, uid in enumerate(ids):
        earlier = first.setdefault(uid, position)
        if earlier != position:
            yield (
                f"{loaded.where(position)}: uid {uid!r} was given before, at "
                f"{loaded.where(earlier)}; each example needs an id of its own"
            )


class Asked(NamedTuple):
    """What is wanted of a data set, which may look at it or not."""

    columns: Collection[str] | None = None
    """The columns that will be read; None for all."""
    always: Collection[str] | None = None
    """Those of them that are read whatever is computed; None for all."""
    limit: int | None = None
    """How many examples, the first ones; None for all."""

    @property
    def arguments(self) -> dict[str, Any]:
        """What `load` is offered beside the split."""
        names = None if self.columns is None else sorted(self.columns)
        return {"columns": names, "limit": self.limit}

    def looked_at(
        self, dataset: BoundDataset
    ) -> tuple[frozenset[str] | None, int | None]:
        """Return the columns that its rows have always, and how many rows it was told.

        Returns:
            None for all columns, and None for all rows.
        """
        arguments = dataset.arguments_of("load")
        looks = "columns" in arguments and self.always is not None
        columns = frozenset(self.always or ()) if looks else None
        return columns, self.limit if "limit" in arguments else None
