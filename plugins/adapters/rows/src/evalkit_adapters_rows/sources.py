"""Rows of files in any format that has fields, as they are or checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, ValidationError

from evalkit import Violation
from evalkit.base.columns import unnamed
from evalkit.base.violations import from_pydantic
from evalkit.catalog import Row, hook_failures, located
from evalkit.errors import DataError, SchemaError
from evalkit.plugins.bound import validated
from evalkit.reading.field_types import bare, holds_decimals
from evalkit.reading.files import TABLES, read_rows
from evalkit.reading.formats import Format, detect_format
from evalkit.reading.schemas import ColumnPlan, cell_texts, plan_of
from evalkit.reading.tables import cast_column, plain_values, read_frames
from evalkit.reading.typed_values import row_of_table


def file_rows(path: str | Path, kind: Format | None = None) -> Iterator[Row]:
    """Read the rows of a file.

    Args:
        path: JSON lines, CSV, TSV, Parquet or Arrow; cells of CSV are texts.
        kind: Its format. Default: by the suffix.

    Yields:
        The rows with their lines; broken ones with what is wrong.

    Raises:
        DataError: The file cannot be read, has no fields, or times finer than a
            microsecond.
    """
    path = Path(path)
    frames = file_frames(path, kind)
    if frames is None:
        yield from read_rows(path, kind or detect_format(path), ())
        return
    for number, values in _numbered(path, frames):
        yield Row(number, values)


def _numbered(
    path: Path, frames: Iterable[pl.DataFrame], names: Iterable[str] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Return the rows of tables, whose columns of these names are used."""
    number = 0
    for frame in frames:
        _refuse_cut_times(path, frame, frame.columns if names is None else names)
        rows = frame.iter_rows(named=True)
        for index in range(frame.height):
            number += 1
            try:
                values = next(rows)
            # as with a date after the year 9999
            except (Exception, pl.exceptions.PanicException) as error:
                raise _not_of_python(path, frame, index, number) from error
            yield number, values


def _not_of_python(
    path: Path, frame: pl.DataFrame, index: int, number: int
) -> DataError:
    """Find the value that Python cannot hold: rows are converted some at a time."""
    for further in range(index, frame.height):
        for column in frame:
            try:
                column.to_frame().row(further)
            except (Exception, pl.exceptions.PanicException) as error:
                row = number + further - index
                return DataError(f"{path}: row {row:,}: {column.name}: {error}")
    return DataError(f"{path}: row {number:,} or a later one cannot be read")


def _refuse_cut_times(path: Path, frame: pl.DataFrame, names: Iterable[str]) -> None:
    """Refuse columns with times that Python's types would cut off."""
    for name in {*names} & {*frame.columns}:
        kind = frame[name].dtype
        is_fine = kind == pl.Time or getattr(kind, "time_unit", None) == "ns"
        if is_fine and (unnamed(frame[name]).to_physical() % 1000 != 0).any():
            raise DataError(
                f"{path}: {name}: has times finer than a microsecond, which rows do "
                "not keep; round the column to microseconds"
            )


def file_frames(
    path: str | Path, kind: Format | None = None
) -> Iterator[pl.DataFrame] | None:
    """Read a file of a table in batches.

    Args:
        path: The file.
        kind: Its format. Default: by the suffix.

    Returns:
        Data frames; None for a file of rows.

    Raises:
        DataError: The file cannot be read, or has no fields.
    """
    path = Path(path) if isinstance(path, str) else path
    kind = kind or detect_format(path)
    if kind is Format.PLAIN:
        raise DataError(f"{path}: adapters need fields, and plain lines have none")
    return read_frames(path, kind) if kind in TABLES else None


def checked_rows(
    path: str | Path, model: type[BaseModel], keys: set[str] | None = None
) -> Iterator[tuple[int, list[Violation]]]:
    """Check the rows of a file.

    Rows of tables are checked as columns where the model's rules can be seen from them;
    pydantic is asked about those that may break one, and about rows of other files.

    Args:
        path: JSON lines, CSV, TSV, Parquet or Arrow. A cell of CSV is a text where the
            model takes one or a Decimal, else JSON; null in a table is no value where a
            field may be left out.
        model: What every row must keep.
        keys: Where given, gets the keys of all rows that were read, declared or not.

    Yields:
        The line or number of each row, and all that it breaks.

    Raises:
        DataError: The file cannot be read, or has no fields; or a validator fails
            otherwise than by refusing a row.
    """
    path = Path(path)
    frames = file_frames(path)
    if frames is None:
        for row in _rows_for(path, model, keys):
            yield row.line, _violations(path, model, row)
        return
    plan = plan_of(model, apart=())
    nullable, decimals = _keys(model, model.model_fields), _decimal_keys(model)
    first = 1
    for frame in frames:
        if keys is not None:
            keys.update(frame.columns)
        passes = None if plan is None else _passes(plan, frame)
        for index in range(frame.height):
            if passes is not None and passes[index]:
                yield first + index, []
                continue
            try:
                given = frame.row(index, named=True)
            except (Exception, pl.exceptions.PanicException) as error:
                raise _not_of_python(path, frame, index, first + index) from error
            values = plain_values(given, nullable, decimals)
            row = Row(first + index, row_of_table(model, values))
            yield first + index, _violations(path, model, row)
        first += frame.height


def _rows_for(
    path: Path, model: type[BaseModel], keys: set[str] | None
) -> Iterator[Row]:
    """Read a file of rows, with cells of CSV as the model takes them."""
    texts = _text_keys(model)
    for row in read_rows(path, detect_format(path), texts):
        if keys is not None:
            keys.update(row.values or ())
        yield row


def _keys(model: type[BaseModel], names: Iterable[str]) -> set[str]:
    """Return the keys of a row under which fields may stand."""
    found = {*names}
    aliases = (model.model_fields[name].validation_alias for name in names)
    return found | {alias for alias in aliases if isinstance(alias, str)}


def _text_keys(model: type[BaseModel]) -> set[str]:
    """Return the keys whose cells are texts, as floats lose digits of a Decimal."""
    fields = model.model_fields.items()
    decimals = {name for name, each in fields if bare(each.annotation) is Decimal}
    return _keys(model, cell_texts(model) | decimals)


def _decimal_keys(model: type[BaseModel]) -> set[str]:
    fields = model.model_fields.items()
    return _keys(
        model, [name for name, each in fields if holds_decimals(each.annotation)]
    )


def validated_rows(
    path: str | Path, model: type[BaseModel], keys: set[str] | None = None
) -> Iterator[tuple[int, BaseModel | list[Violation]]]:
    """Read the rows of a file as instances of a model.

    Args:
        path: JSON lines, CSV, TSV, Parquet, Arrow or the folder of a data set; values
            are taken as `checked_rows` takes them.
        model: What every row must keep.
        keys: Where given, gets the keys of all rows that were read, declared or not.

    Yields:
        The line or number of each row, and the instance, or all that the row breaks.

    Raises:
        DataError: The file cannot be read, or has no fields; or a validator fails
            otherwise than by refusing a row.
    """
    path = Path(path)
    frames = file_frames(path)
    if frames is None:
        for row in _rows_for(path, model, keys):
            yield row.line, _instance(path, model, row)
        return
    nullable, decimals = _keys(model, model.model_fields), _decimal_keys(model)
    for number, given in _numbered(path, frames, nullable):
        if keys is not None:
            keys.update(given)
        plain = row_of_table(model, plain_values(given, nullable, decimals))
        yield number, _instance(path, model, Row(number, plain))


def _instance(
    path: Path, model: type[BaseModel], row: Row
) -> BaseModel | list[Violation]:
    if row.values is None:
        return [row.problem or Violation("(row)", "must be readable")]
    try:
        return validated(model, row.values)
    except ValidationError as error:
        return from_pydantic(error)
    except hook_failures() as error:
        raise SchemaError(
            f"{path}: row {row.line}: a validator of {model.__name__} failed with "
            f"{located(error)}"
        ) from error


def _violations(path: Path, model: type[BaseModel], row: Row) -> list[Violation]:
    found = _instance(path, model, row)
    return found if isinstance(found, list) else []


def _passes(plan: ColumnPlan, frame: pl.DataFrame) -> list[bool] | None:
    """Tell which rows surely keep the model; None where columns do not say it."""
    if plan.forbids_undeclared and not plan.columns.keys() >= {*frame.columns}:
        return None
    columns = {}
    for name, column in plan.columns.items():
        if name not in frame.columns:
            return None
        found = cast_column(frame[name], column.dtype)
        if found is None:
            return None
        columns[name] = found
    return plan.passes(pl.DataFrame(columns)).to_list()
