"""Turns a pydantic model into columns, and a check that sees whole columns at once.

The check is sufficient, not necessary: a row that passes is one that the model would
accept with the very same values. Every other row is for pydantic to judge. Models whose
rules cannot be seen from columns have no plan.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import polars as pl
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from evalkit.base.columns import is_pattern, named
from evalkit.base.ids import RESPONSE_ID_KEYS
from evalkit.reading.column_checks import Scope, check_field, has_own_rules, unwrap
from evalkit.reading.field_types import field_type
from evalkit.reading.typed_values import fits


class PlannedColumn(NamedTuple):
    """How one field of a model is stored and checked as a column."""

    dtype: pl.DataType
    passes: pl.Expr
    """True for a value that keeps the field's rules, else False or null."""
    takes_null: bool
    """Whether a row without the field is as valid as one with null."""
    default: str | bool | int | float | None = None
    """What the field is where no row has it; None also for no default."""
    in_json: bool = True
    """Whether a reader of JSON gives values as a table would hold them."""
    is_plain: bool = True
    """Whether pydantic returns the values that rows of a table hold in Python."""


class ColumnPlan(NamedTuple):
    """The fields of a model as columns."""

    columns: Mapping[str, PlannedColumn]
    forbids_undeclared: bool
    """Whether the model refuses keys that it does not declare."""

    def passes(self, frame: pl.DataFrame) -> pl.Series:
        """Tell which rows keep all rules of the model.

        Args:
            frame: The rows; it has all columns of the plan.

        Returns:
            True for rows that surely keep them.
        """
        checks = [
            _check(frame.schema[name], named(name), column)
            for name, column in self.columns.items()
            # spares looking into structs that are not there
            if not (column.takes_null and frame[name].null_count() == frame.height)
        ]
        mask = reduce(and_, checks, pl.repeat(True, frame.height, eager=False))
        return frame.select(passes=mask.fill_null(False)).to_series()

    @property
    def in_json(self) -> bool:
        """Whether all fields can be read from JSON as columns."""
        return all(column.in_json for column in self.columns.values())

    @property
    def is_plain(self) -> bool:
        """Whether pydantic returns the values that rows of a table hold in Python."""
        return all(column.is_plain for column in self.columns.values())

    @property
    def defaults(self) -> dict[str, Any]:
        """What fields are in a row that lacks them, as far as that is known."""
        return {
            name: column.default
            for name, column in self.columns.items()
            if column.takes_null or column.default is not None
        }

    def of(self, names: Collection[str]) -> ColumnPlan:
        """Return the plan of some of the fields."""
        chosen = {name: self.columns[name] for name in self.columns if name in names}
        return self._replace(columns=chosen)

    def planned_only(self, values: pl.Series) -> pl.Series:
        """Leave out what a struct has beyond the planned fields.

        Args:
            values: A column that is named as in the plan.

        Returns:
            The column in its planned type.
        """
        dtype = self.columns[values.name].dtype
        if values.dtype == dtype or not isinstance(dtype, pl.Struct):
            return values
        name, whole = values.name, named(values.name)
        fields = [whole.struct.field(field.name) for field in dtype.fields]
        kept = pl.when(whole.is_not_null()).then(pl.struct(fields))
        return values.to_frame().select(kept.alias(name)).to_series()


def with_planned(frame: pl.DataFrame, plan: ColumnPlan) -> pl.DataFrame:
    """Add the planned columns that a frame lacks, with their defaults or nulls."""
    lacking = [
        pl.Series(name, [], column.dtype).extend_constant(column.default, frame.height)
        for name, column in plan.columns.items()
        if name not in frame.columns
    ]
    return frame.with_columns(lacking) if lacking else frame


def _check(found: pl.DataType, value: pl.Expr, column: PlannedColumn) -> pl.Expr:
    if found == column.dtype:
        passes = column.passes
    elif others := _other_fields(found, column.dtype):
        empty = [value.struct.field(name).is_null() for name in others]
        passes = reduce(and_, empty, column.passes)
    else:
        passes = pl.lit(False)
    return passes | value.is_null() if column.takes_null else passes


def _other_fields(found: pl.DataType, planned: pl.DataType) -> list[str]:
    """Return what a struct has beyond the planned fields; nothing for another type."""
    if not isinstance(planned, pl.Struct) or not isinstance(found, pl.Struct):
        return []
    wanted = {field.name: field.dtype for field in planned.fields}
    types = {field.name: field.dtype for field in found.fields}
    if any(types.get(name) != dtype for name, dtype in wanted.items()):
        return []
    if any(map(is_pattern, types)):
        return []
    return [name for name in types if name not in wanted]


def plan_of(
    model: type[BaseModel],
    labels: Sequence[str] | None = None,
    apart: Iterable[str] = RESPONSE_ID_KEYS,
) -> ColumnPlan | None:
    """Plan the columns of a model.

    Args:
        model: The model.
        labels: The labels; a field that maps texts to numbers is taken as one number
            for every label.
        apart: Fields that are checked elsewhere, which must be plain texts.

    Returns:
        The plan; None where a field or a rule of the model cannot be seen from columns.
    """
    if has_own_rules(model):
        return None
    columns = {}
    scope = Scope.of(model, labels)
    for name, field in model.model_fields.items():
        if name in apart:
            if field.annotation is not str or field.metadata or field.validation_alias:
                return None
            continue
        column = _plan_field(name, field, scope)
        if column is None:
            return None
        columns[name] = column
    return ColumnPlan(columns, model.model_config.get("extra") == "forbid")


def text_fields(model: type[BaseModel]) -> set[str]:
    """Return the names of the fields of a model that may hold a text."""
    names = set()
    for name, field in model.model_fields.items():
        options = {unwrap(field.annotation, ())[0]}
        if get_origin(*options) in (Union, types.UnionType):
            options = {unwrap(each, ())[0] for each in get_args(*options)}
        if any(
            each is str
            or (get_origin(each) is Literal and isinstance(get_args(each)[0], str))
            for each in options
        ):
            names.add(name)
    return names


_TEXT_TYPES = (pl.String, pl.Binary, pl.Date, pl.Datetime, pl.Time)


def cell_texts(model: type[BaseModel]) -> set[str]:
    """Return the names of the fields that a cell of a file of texts may hold as it is.

    Those of the others are read as JSON. Text is also what pydantic makes bytes, a date
    or a time of.
    """
    typed = {
        name
        for name, field in model.model_fields.items()
        if field_type(field.annotation) in _TEXT_TYPES
    }
    return text_fields(model) | typed


def _plan_field(name: str, field: FieldInfo, scope: Scope) -> PlannedColumn | None:
    dtype = field_type(field.annotation, scope.labels)
    found = check_field(field, named(name), scope)
    if found is None or dtype is None:
        return None
    if isinstance(dtype, pl.Struct) and any(is_pattern(f.name) for f in dtype.fields):
        return None
    check, is_optional = found
    takes_null = is_optional and field.default is None
    default = _plain_default(field, dtype)
    return PlannedColumn(
        dtype, check.passes, takes_null, default, check.in_json, check.is_plain
    )


def _plain_default(field: FieldInfo, dtype: pl.DataType) -> Any:
    """Return a default that a column can be filled with as it is."""
    is_checked = field.validate_default
    is_plain = type(field.default) in (str, bool, int, float) and not is_checked
    return field.default if is_plain and fits(field.default, dtype) else None
