"""Loads the rows of a split, and checks their ids and their shape."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from pydantic import BaseModel, ValidationError

from evalkit.columns import is_storable, is_text_only, to_series
from evalkit.errors import DataError, EvalkitError, PluginError, SchemaError
from evalkit.ids import EXAMPLE_ID_KEYS, read_id
from evalkit.prediction_files import read_json_lines
from evalkit.registry import Bound
from evalkit.sources import Source, locate, sha256_of
from evalkit.violations import Violation, describe, few, from_pydantic, shorten

Rows = list[Mapping[str, Any]]


class ExampleRows(NamedTuple):
    """The rows of a split as they were loaded."""

    frame: pl.DataFrame
    """One column for each key; once ids are checked, with `uid` as text."""
    rows: Rows | None = None
    """The rows as dicts, where they came so."""
    path: Path | None = None
    """The file that they were read from, where they came from one."""
    lines: Sequence[int] | None = None
    """The line of each row in that file."""
    nested: Mapping[str, Sequence[Any]] = {}
    """Values of those columns of the frame that hold other values as JSON text."""

    def where(self, position: int) -> str:
        """Say which row is meant: its line in a file, or its number."""
        if self.lines is None:
            return f"example {position + 1}"
        return f"line {self.lines[position]}"

    def source(self, dataset: Bound) -> str:
        """Say where the rows come from: data set, distribution, version and file."""
        origin = dataset.component.origin
        return f"{origin}: {self.path}" if self.path else origin

    def named(self) -> Iterator[Mapping[str, Any]]:
        """Give the rows as dicts, with `uid` as text."""
        if self.rows is None:
            yield from self.frame.iter_rows(named=True)
            return
        for uid, row in zip(self.frame["uid"], self.rows, strict=True):
            yield {**row, "uid": uid}


def load_rows(dataset: Bound, split: str) -> ExampleRows:
    """Load the rows of a split and check their ids.

    Args:
        dataset: The data set.
        split: Name of the split.

    Returns:
        The rows.

    Raises:
        DataError: The split is unknown, cannot be loaded, or is empty.
        SchemaError: Rows cannot be read, lack an id, or repeat one.
    """
    splits = dataset.attributes["splits"]
    if split not in splits:
        raise DataError(
            f"{dataset.component.id} has no split {split!r}; it has {', '.join(splits)}"
        )
    try:
        loaded = _materialise(dataset, dataset.hooks.load(split=split))
    except EvalkitError:
        raise
    except (Exception, SystemExit) as error:
        raise DataError(
            f"{dataset.component.origin}: load({split!r}) failed with "
            f"{type(error).__name__}: {error}"
        ) from error
    if loaded.frame.is_empty():
        raise DataError(f"{loaded.source(dataset)}: split {split!r} has no examples")
    return _with_ids(dataset, loaded)


def _materialise(dataset: Bound, loaded: Any) -> ExampleRows:
    if isinstance(loaded, pl.LazyFrame):
        return ExampleRows(loaded.collect())
    if isinstance(loaded, pl.DataFrame):
        return ExampleRows(loaded)
    if hasattr(loaded, "__arrow_c_stream__"):
        return ExampleRows(pl.DataFrame(loaded))
    if isinstance(loaded, str | Path):
        return _read_file(dataset, Path(loaded))
    if not isinstance(loaded, Iterable):
        raise DataError(
            f"{dataset.component.origin}: load returned {type(loaded).__name__}; it "
            "must return a polars frame, an Arrow table, a path or an iterable of dicts"
        )
    rows = list(loaded)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise DataError(
                f"{dataset.component.origin}: example {number} is {shorten(row)}, not "
                "a dict"
            )
    return _with_frame(dataset, ExampleRows(pl.DataFrame(), rows))


def _read_file(dataset: Bound, path: Path) -> ExampleRows:
    rows: Rows = []
    lines: list[int] = []
    problems = []
    for row in read_json_lines(path):
        if row.values is None:
            problems.append(f"line {row.line}: {row.problem}")
        else:
            rows.append(row.values)
            lines.append(row.line)
    if problems:
        raise SchemaError(f"{dataset.component.origin}: {path}: {few(problems)}")
    return _with_frame(dataset, ExampleRows(pl.DataFrame(), rows, path, lines))


def _with_frame(dataset: Bound, loaded: ExampleRows) -> ExampleRows:
    rows = loaded.rows or []
    names = dict.fromkeys(key for row in rows for key in row)
    columns = []
    nested = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            column = to_series(name, values)
        except ValueError as error:
            position = [is_storable(value) for value in values].index(False)
            raise SchemaError(
                f"{loaded.source(dataset)}: {loaded.where(position)}: {name}: must be "
                f"a value that can be stored, found {shorten(values[position])}"
            ) from error
        columns.append(column)
        if column.dtype == pl.String and name != "uid" and not is_text_only(values):
            nested[column.name] = values
    return loaded._replace(frame=pl.DataFrame(columns), nested=nested)


def _with_ids(dataset: Bound, loaded: ExampleRows) -> ExampleRows:
    columns = loaded.frame.columns
    keys = [key for key in EXAMPLE_ID_KEYS if key in columns]
    if not keys:
        raise SchemaError(
            f"{loaded.source(dataset)}: examples have no id; the key is 'uid', the "
            f"data has {', '.join(columns)}"
        )
    if loaded.rows is None:
        ids = [read_id({keys[0]: value}, (keys[0],)) for value in loaded.frame[keys[0]]]
    else:
        ids = [read_id(row, EXAMPLE_ID_KEYS) for row in loaded.rows]
    problems = [
        f"{loaded.where(position)}: {found}"
        for position, found in enumerate(ids)
        if isinstance(found, Violation)
    ]
    problems = problems or list(_repeated(loaded, ids))
    if problems:
        raise SchemaError(f"{loaded.source(dataset)}: {few(problems)}")
    uid = pl.Series("uid", ids, dtype=pl.String)
    return loaded._replace(frame=loaded.frame.with_columns(uid))


def _repeated(loaded: ExampleRows, ids: Sequence[object]) -> Iterator[str]:
    first: dict[object, int] = {}
    for position, uid in enumerate(ids):
        earlier = first.setdefault(uid, position)
        if earlier != position:
            yield (
                f"{loaded.where(position)}: uid {uid!r} was given before, at "
                f"{loaded.where(earlier)}"
            )


def check_inputs(dataset: Bound, task: Bound, loaded: ExampleRows) -> None:
    """Check that every row has the shape of the task's `Input`.

    Args:
        dataset: The data set.
        task: Its task.
        loaded: The rows.

    Raises:
        SchemaError: Rows break it.
        PluginError: The task's own validators failed.
    """
    model: type[BaseModel] = task.attributes["Input"]
    if fits_text_columns(model, loaded.frame.drop(loaded.nested)):
        return
    problems = []
    for position, row in enumerate(loaded.named()):
        try:
            model.model_validate(row)
        except ValidationError as error:
            problems.append(
                f"{loaded.where(position)} (uid {row['uid']!r}): "
                f"{describe(from_pydantic(error))}"
            )
        except Exception as error:
            raise PluginError(
                f"{task.component.origin}: Input failed for the example "
                f"{row['uid']!r} with {type(error).__name__}: {error}"
            ) from error
    if problems:
        raise SchemaError(
            f"{loaded.source(dataset)}: {len(problems)} of {loaded.frame.height} "
            f"examples break the input of the task {task.component.name}: "
            f"{few(problems)}"
        )


def fits_text_columns(model: type[BaseModel], frame: pl.DataFrame) -> bool:
    """Tell whether columns alone show that every row has the shape of a model.

    Args:
        model: The model; only fields that are plain texts can be seen from columns.
        frame: The rows.

    Returns:
        True if every field is a plain text and its column holds texts without nulls.
    """
    decorators = model.__pydantic_decorators__
    has_more_rules = (
        decorators.field_validators
        or decorators.model_validators
        or model.model_config.get("extra") == "forbid"
        or model.__pydantic_post_init__ is not None
        or any(setting.startswith("str_") for setting in model.model_config)
    )
    return not has_more_rules and all(
        field.annotation is str
        and not field.metadata
        and field.validation_alias is None
        and frame.schema.get(name) == pl.String
        and frame[name].null_count() == 0
        for name, field in model.model_fields.items()
    )


def fingerprint(
    dataset: Bound, loaded: ExampleRows
) -> tuple[str, tuple[Mapping[str, str], ...], tuple[str, ...]]:
    """Identify the data.

    Args:
        dataset: The data set.
        loaded: Its rows.

    Returns:
        SHA-256 of the data, name and SHA-256 of each file that it came from, and
        notices about files that are not the published ones.
    """
    sources: Mapping[str, Source] = dataset.attributes["sources"]
    notices: list[str] = []
    files: list[Mapping[str, str]] = []
    if loaded.path is not None:
        files.append({"name": loaded.path.name, "sha256": sha256_of(loaded.path)})
    used = getattr(dataset.plugin, "located_files", None) or {
        filename: locate(dataset.component.name, filename, source)
        for filename, source in sources.items()
    }
    for filename, source in sources.items():
        if filename not in used:
            continue
        found = sha256_of(used[filename])
        files.append({"name": filename, "sha256": found})
        if source.sha256 and found != source.sha256:
            notices.append(
                f"{filename} is not the published file (its SHA-256 is {found[:12]}…)"
            )
    digest = hashlib.sha256()
    if files:
        digest.update(json.dumps(files, sort_keys=True).encode())
    else:
        digest.update(loaded.frame.write_ndjson().encode())
    return digest.hexdigest(), tuple(files), tuple(notices)
