"""The plain fields of a pydantic model as columns, and a check of whole columns.

A row that passes the check is one that pydantic accepts with the very same values. All
other rows, and models with other fields or with rules of their own, go to pydantic.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import annotated_types
import polars as pl
from pydantic import AllowInfNan, BaseModel, Strict
from pydantic.fields import FieldInfo

from evalkit.base.columns import is_pattern, named
from evalkit.base.ids import RESPONSE_ID_KEYS
from evalkit.base.label_fields import (
    BOUND_TOLERANCE,
    SUM_TOLERANCE,
    IsDistribution,
    IsLabel,
)
from evalkit.base.terms import NamesFile
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


class ColumnPlan(NamedTuple):
    """The fields of a model as columns."""

    columns: Mapping[str, PlannedColumn]
    forbids_undeclared: bool
    """Whether the model refuses keys that it does not declare."""

    def passes(self, frame: pl.DataFrame) -> pl.Series:
        """Tell which rows surely keep all rules; the frame has all planned columns."""
        checks = [
            _check(frame.schema[name], named(name), column)
            for name, column in self.columns.items()
        ]
        mask = reduce(and_, checks, pl.repeat(True, frame.height, eager=False))
        return frame.select(passes=mask.fill_null(False)).to_series()

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


def with_planned(frame: pl.DataFrame, plan: ColumnPlan) -> pl.DataFrame:
    """Add the planned columns that a frame lacks, with their defaults or nulls."""
    lacking = [
        pl.Series(name, [], column.dtype).extend_constant(column.default, frame.height)
        for name, column in plan.columns.items()
        if name not in frame.columns
    ]
    return frame.with_columns(lacking) if lacking else frame


def _check(found: pl.DataType, value: pl.Expr, column: PlannedColumn) -> pl.Expr:
    passes = column.passes if found == column.dtype else pl.lit(False)
    return passes | value.is_null() if column.takes_null else passes


def plan_of(
    model: type[BaseModel],
    labels: Sequence[str] | None = None,
    apart: Iterable[str] = RESPONSE_ID_KEYS,
    is_open: bool = False,
) -> ColumnPlan | None:
    """Plan the columns of a model; None for a model that only pydantic can check.

    That is one with rules of its own, or with a field that is not a text, a number, a
    boolean, a `Literal`, a list of texts or numbers, or numbers by label. The fields
    `apart`, which are checked elsewhere, must be plain texts. If `is_open`, a `Label`
    may be another one than the labels.
    """
    if has_own_rules(model):
        return None
    columns = {}
    for name, field in model.model_fields.items():
        if name in apart:
            if field.annotation is not str or field.metadata or field.validation_alias:
                return None
            continue
        column = _plan_field(name, field, labels, is_open)
        if column is None:
            return None
        columns[name] = column
    return ColumnPlan(columns, model.model_config.get("extra") == "forbid")


def _plan_field(
    name: str, field: FieldInfo, labels: Sequence[str] | None, is_open: bool
) -> PlannedColumn | None:
    is_renamed = field.validation_alias is not None or field.serialization_alias
    if is_renamed or field.exclude or getattr(field, "exclude_if", None):
        return None
    annotation, rules = _unwrap(field.annotation, field.metadata)
    options = {*get_args(annotation)} - {type(None)}
    takes_null = _is_union(annotation) and len(options) < len(get_args(annotation))
    if takes_null and len(options) == 1:
        annotation, rules = _unwrap(options.pop(), rules)
    dtype = field_type(annotation, labels)
    value = named(name)
    passes = None if dtype is None else _check_type(annotation, dtype, value)
    if dtype is None or passes is None:
        return None
    for rule in rules:
        kept = _check_rule(rule, value, dtype)
        if isinstance(rule, IsLabel):
            kept = pl.lit(True) if labels is None or is_open else value.is_in(labels)
        if kept is None:
            return None
        passes &= kept
    default = field.default
    is_plain = type(default) in (str, bool, int, float) and not field.validate_default
    return PlannedColumn(
        dtype,
        passes,
        takes_null and default is None,
        default if is_plain and fits(default, dtype) else None,
    )


def _unwrap(annotation: Any, metadata: Iterable[Any] = ()) -> tuple[Any, list[Any]]:
    """Take `Annotated` and names of types apart; return the type and all rules."""
    rules = list(metadata)
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            for rule in more:
                rules += rule.metadata if isinstance(rule, FieldInfo) else [rule]
        elif hasattr(annotation, "__value__"):
            annotation = annotation.__value__
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        else:
            break
    single: list[Any] = []
    for rule in rules:
        is_group = isinstance(rule, annotated_types.GroupedMetadata)
        single += rule if is_group else [rule]
    return annotation, [rule for rule in single if rule is not None]


def _is_union(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, types.UnionType)


def _check_type(annotation: Any, dtype: pl.DataType, value: pl.Expr) -> pl.Expr | None:
    if annotation in (str, bool, int):
        return value.is_not_null()
    if annotation is float:
        return value.is_finite()
    if get_origin(annotation) is Literal:
        return value.is_in(list(get_args(annotation)))
    if annotation in (list[str], list[int], list[float]):
        item = pl.element()
        kept = item.is_finite() if annotation == list[float] else item.is_not_null()
        broken = value.list.eval(kept.fill_null(False).not_()).list.any()
        return value.is_not_null() & broken.not_()
    if not isinstance(dtype, pl.Struct) or get_origin(annotation) is not dict:
        return None
    names = [field.name for field in dtype.fields]
    if any(map(is_pattern, names)):
        return None
    finite = [value.struct.field(name).is_finite() for name in names]
    return reduce(and_, finite, value.is_not_null())


_BOUNDS: Mapping[Any, tuple[str, Callable[[pl.Expr, Any], pl.Expr]]] = {
    annotated_types.Ge: ("ge", pl.Expr.ge),
    annotated_types.Gt: ("gt", pl.Expr.gt),
    annotated_types.Le: ("le", pl.Expr.le),
    annotated_types.Lt: ("lt", pl.Expr.lt),
}


def _check_rule(rule: Any, value: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
    """Return the check of a rule; None for a rule that only pydantic knows."""
    if isinstance(rule, annotated_types.MinLen | annotated_types.MaxLen):
        if dtype == pl.String:
            length = value.str.len_chars()
        elif isinstance(dtype, pl.List):
            length = value.list.len()
        else:
            return None
        if isinstance(rule, annotated_types.MinLen):
            return length >= rule.min_length
        return length <= rule.max_length
    if type(rule) in _BOUNDS and dtype in (pl.Int64, pl.Float64):
        attribute, compare = _BOUNDS[type(rule)]
        limit = getattr(rule, attribute)
        return compare(value, limit) if _is_limit(limit, dtype) else None
    if isinstance(rule, IsDistribution) and isinstance(dtype, pl.Struct):
        values = [value.struct.field(field.name) for field in dtype.fields]
        within = pl.all_horizontal([number.is_between(0, 1) for number in values])
        # what the order of adding decides goes to pydantic
        limit = SUM_TOLERANCE - BOUND_TOLERANCE
        return within & ((pl.sum_horizontal(values) - 1).abs() <= limit)
    # a file is looked for where the data is loaded; numbers that are not finite never
    # pass; columns are of strict types; and a text is a remark
    if isinstance(rule, NamesFile | AllowInfNan | Strict | str):
        return pl.lit(True)
    return None


def _is_limit(limit: Any, dtype: pl.DataType) -> bool:
    """Tell whether polars and pydantic compare with the very same number."""
    if dtype == pl.Int64:
        return type(limit) is int and abs(limit) < 2**127
    return type(limit) in (int, float) and abs(limit) <= 2**53


def has_own_rules(model: type[BaseModel]) -> bool:
    """Tell whether a model has rules or changes that its fields do not show."""
    decorators = model.__pydantic_decorators__
    config = model.model_config
    return bool(
        decorators.validators
        or decorators.root_validators
        or decorators.field_validators
        or decorators.model_validators
        or decorators.field_serializers
        or decorators.model_serializers
        or decorators.computed_fields
        or model.__pydantic_root_model__
        or model.__pydantic_post_init__ is not None
        or config.get("extra") == "allow"
        or any(setting.startswith("str_") for setting in config)
        or not config.get("allow_inf_nan", True)
        or config.get("validate_default")
        or _is_overridden(model)
    )


_HOOKS = ("__init__", "__get_pydantic_core_schema__", "model_validate", "model_dump")


def _is_overridden(model: type[BaseModel]) -> bool:
    """Tell whether a model changes how pydantic builds, reads or gives its rows."""
    own = (kind for kind in model.__mro__ if kind not in BaseModel.__mro__)
    return any(name in vars(kind) for kind in own for name in _HOOKS)


def text_fields(model: type[BaseModel]) -> set[str]:
    """Return the names of the fields of a model that may hold a text."""
    names = set()
    for name, field in model.model_fields.items():
        annotation = _unwrap(field.annotation)[0]
        options = get_args(annotation) if _is_union(annotation) else (annotation,)
        for option in (_unwrap(each)[0] for each in options):
            is_choice = get_origin(option) is Literal
            if option is str or (is_choice and isinstance(get_args(option)[0], str)):
                names.add(name)
    return names


_TEXT_TYPES = (pl.String, pl.Binary, pl.Date, pl.Datetime, pl.Time)


def cell_texts(model: type[BaseModel]) -> set[str]:
    """Return the names of the fields that a cell of a file of texts may hold as it is.

    Cells of other fields are read as JSON. Text is also what pydantic makes bytes, a
    date or a time of.
    """
    typed = {
        name
        for name, field in model.model_fields.items()
        if field_type(field.annotation) in _TEXT_TYPES
    }
    return text_fields(model) | typed
