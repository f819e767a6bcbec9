"""What a field's annotation and its rules demand of the values of a column.

A check is sufficient, not necessary: pydantic accepts each value that passes, and makes
the same of it. Of a value that does not pass nothing is said.
"""

from __future__ import annotations

import datetime
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import reduce
from operator import and_
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import annotated_types
import polars as pl
from pydantic import AllowInfNan, AwareDatetime, BaseModel, NaiveDatetime, Strict
from pydantic.fields import FieldInfo

from evalkit.base.terms import NamesFile
from evalkit.reading.field_types import KEY, VALUE, field_type

_LEAST, _MOST = -(2**63), 2**63 - 1


class Scope(NamedTuple):
    """What holds for all fields of a model."""

    labels: Sequence[str] | None = None
    """The labels; a field that maps texts to numbers has one number for each."""
    is_strict: bool = False
    """Whether the model converts no value into one of another type."""
    matches_in_rust: bool = True
    """Whether patterns mean what they mean to polars."""

    @classmethod
    def of(cls, model: type[BaseModel], labels: Sequence[str] | None = None) -> Scope:
        """Return the scope of a model's fields."""
        config = model.model_config
        engine = config.get("regex_engine", "rust-regex")
        return cls(labels, bool(config.get("strict")), engine == "rust-regex")


class ValueCheck(NamedTuple):
    """How values of an annotation are checked."""

    passes: pl.Expr
    """True for a value that keeps all rules, else False or null."""
    in_json: bool = True
    """Whether a reader of JSON gives a value as a table would hold it."""
    is_plain: bool = True
    """Whether pydantic returns the value that a table's row holds in Python."""

    def also(self, passes: pl.Expr) -> ValueCheck:
        """Return a check that demands more."""
        return self._replace(passes=self.passes & passes)


def unwrap(annotation: Any, metadata: Iterable[Any]) -> tuple[Any, list[Any]]:
    """Take `Annotated` and names of types apart.

    Args:
        annotation: An annotation.
        metadata: What is said beside it.

    Returns:
        The annotation itself, and all rules.
    """
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
            return annotation, list(_single_rules(rules))


def _single_rules(rules: Iterable[Any]) -> Iterable[Any]:
    for rule in rules:
        if isinstance(rule, annotated_types.GroupedMetadata):
            yield from rule
        elif rule is not None:
            yield rule


def without_none(annotation: Any) -> tuple[Any, bool]:
    """Return the only other option of a union with None, and whether it is one."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation, False
    others = [option for option in get_args(annotation) if option is not type(None)]
    if len(others) == 1 and len(get_args(annotation)) == 2:
        return others[0], True
    return annotation, False


def check_field(
    field: FieldInfo, value: pl.Expr, scope: Scope
) -> tuple[ValueCheck, bool] | None:
    """Check the values of a field, which are not null.

    Args:
        field: A field of a model.
        value: Its values.
        scope: What holds for the model.

    Returns:
        The check, and whether the field takes null; None where columns do not show what
        pydantic makes of the field.
    """
    is_renamed = field.validation_alias is not None or field.serialization_alias
    is_left_out = field.exclude or getattr(field, "exclude_if", None)
    if is_renamed or is_left_out:
        return None
    return check_value(field.annotation, value, scope, field.metadata)


def check_value(
    annotation: Any, value: pl.Expr, scope: Scope, metadata: Iterable[Any] = ()
) -> tuple[ValueCheck, bool] | None:
    """Check values of an annotation, which are not null.

    Args:
        annotation: The annotation.
        value: The values.
        scope: What holds for the model.
        metadata: What is said beside the annotation.

    Returns:
        The check, and whether null is a value too; None where columns do not show what
        pydantic makes of a value.
    """
    annotation, rules = unwrap(annotation, metadata)
    annotation, takes_null = without_none(annotation)
    annotation, inner = unwrap(annotation, ())
    rules = [*rules, *inner]
    dtype = field_type(annotation, scope.labels)
    if dtype is None:
        return None
    if any(isinstance(rule, Strict) and rule.strict for rule in rules):
        scope = scope._replace(is_strict=True)
    check = _check_type(annotation, dtype, value, scope)
    for rule in rules:
        passes = _check_rule(rule, value, dtype, scope)
        if passes is None or check is None:
            return None
        check = check.also(passes)
    return None if check is None else (check, takes_null)


def _check_type(
    annotation: Any, dtype: pl.DataType, value: pl.Expr, scope: Scope
) -> ValueCheck | None:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in _TYPES:
        return _TYPES[annotation](value)
    if origin is Literal:
        return ValueCheck(value.is_in(list(arguments)))
    if origin is list:
        return _check_list(arguments[0], value, scope)
    if origin is tuple and arguments[1:] == (Ellipsis,) and not scope.is_strict:
        found = _check_list(arguments[0], value, scope)
        return found and found._replace(is_plain=False)
    if origin is dict:
        if isinstance(dtype, pl.Struct):
            numbers = [value.struct.field(each.name) for each in dtype.fields]
            finite = [number.is_finite() for number in numbers]
            return ValueCheck(reduce(and_, finite, value.is_not_null()))
        return _check_map(arguments[0], arguments[1], value, scope)
    if not isinstance(annotation, type) or scope.is_strict:
        return None
    if issubclass(annotation, Enum):
        return _check_enum(annotation, dtype, value)
    return (
        _check_model(annotation, value) if issubclass(annotation, BaseModel) else None
    )


def _whole_microseconds(value: pl.Expr) -> pl.Expr:
    return value.cast(pl.Int64) % 1000 == 0


def _within(least: Any, most: Any) -> Callable[[pl.Expr], ValueCheck]:
    """Check dates and times that Python has too."""

    def check(value: pl.Expr) -> ValueCheck:
        return ValueCheck(value.is_between(pl.lit(least), pl.lit(most)), in_json=False)

    return check


_FIRST, _LAST = datetime.datetime.min, datetime.datetime.max
_IN_UTC = _within(
    _FIRST.replace(tzinfo=datetime.UTC), _LAST.replace(tzinfo=datetime.UTC)
)

_TYPES: Mapping[Any, Callable[[pl.Expr], ValueCheck]] = {
    **dict.fromkeys((str, bool, int), lambda value: ValueCheck(value.is_not_null())),
    float: lambda value: ValueCheck(value.is_finite()),
    bytes: lambda value: ValueCheck(value.is_not_null(), in_json=False),
    datetime.date: _within(datetime.date.min, datetime.date.max),
    datetime.datetime: _IN_UTC,
    AwareDatetime: _IN_UTC,
    NaiveDatetime: _within(_FIRST, _LAST),
    datetime.time: lambda value: ValueCheck(_whole_microseconds(value), in_json=False),
    datetime.timedelta: lambda value: ValueCheck(value.is_not_null(), in_json=False),
}


def _all_items(value: pl.Expr, passes: pl.Expr) -> pl.Expr:
    """Tell whether all items of lists pass; null for null."""
    return value.list.eval(passes.fill_null(False).not_()).list.any().not_()


def _check_list(item: Any, value: pl.Expr, scope: Scope) -> ValueCheck | None:
    element = pl.element()
    found = check_value(item, element, scope._replace(labels=None))
    if found is None:
        return None
    check, takes_null = found
    passes = check.passes | element.is_null() if takes_null else check.passes
    return check._replace(passes=_all_items(value, passes) & value.is_not_null())


def _check_map(key: Any, item: Any, value: pl.Expr, scope: Scope) -> ValueCheck | None:
    """Check entries: a column holds those of a map by key, and each key once."""
    entry = pl.element()
    name = entry.struct.field(KEY)
    found = check_value(item, entry.struct.field(VALUE), scope._replace(labels=None))
    if found is None or key is not str:
        return None
    check, takes_null = found
    if takes_null:  # what a table leaves out and what is null look alike
        return None
    follows = (name > name.shift(1)).fill_null(True) & name.is_not_null()
    passes = _all_items(value, check.passes & follows) & value.is_not_null()
    return ValueCheck(passes, in_json=False, is_plain=False)


def _check_enum(
    kind: type[Enum], dtype: pl.DataType, value: pl.Expr
) -> ValueCheck | None:
    if dtype not in (pl.String, pl.Int64):
        return None
    if hasattr(kind, "__get_pydantic_core_schema__"):
        return None
    return ValueCheck(value.is_in([each.value for each in kind]), is_plain=False)


def _check_model(model: type[BaseModel], value: pl.Expr) -> ValueCheck | None:
    """Check the fields of a model in a model."""
    scope = Scope.of(model)
    if has_own_rules(model) or scope.is_strict:
        return None
    whole = ValueCheck(value.is_not_null())
    for name, field in model.model_fields.items():
        inner = value.struct.field(name)
        found = check_field(field, inner, scope)
        if found is None:
            return None
        check, takes_null = found
        # a default is null where the field is null and where it is not there
        takes_null = takes_null and field.default is None
        passes = check.passes | inner.is_null() if takes_null else check.passes
        whole = ValueCheck(
            whole.passes & passes,
            whole.in_json and check.in_json,
            whole.is_plain and check.is_plain,
        )
    return whole


_BOUNDS: Mapping[Any, tuple[str, Callable[[pl.Expr, Any], pl.Expr]]] = {
    annotated_types.Ge: ("ge", pl.Expr.ge),
    annotated_types.Gt: ("gt", pl.Expr.gt),
    annotated_types.Le: ("le", pl.Expr.le),
    annotated_types.Lt: ("lt", pl.Expr.lt),
}


def _check_rule(
    rule: Any, value: pl.Expr, dtype: pl.DataType, scope: Scope
) -> pl.Expr | None:
    is_text = dtype == pl.String
    if isinstance(rule, annotated_types.MinLen | annotated_types.MaxLen):
        return _check_length(rule, value, dtype)
    if type(rule) in _BOUNDS and dtype in (pl.Int64, pl.Float64):
        attribute, compare = _BOUNDS[type(rule)]
        limit = getattr(rule, attribute)
        return compare(value, limit) if _is_limit(limit, dtype) else None
    if isinstance(rule, annotated_types.MultipleOf) and dtype == pl.Int64:
        factor: Any = rule.multiple_of
        is_whole = type(factor) is int and 0 < factor <= _MOST
        return value % factor == 0 if is_whole else None
    if isinstance(rule, NamesFile) and is_text:
        return pl.lit(True)  # the file is looked for where the data is loaded
    if isinstance(rule, AllowInfNan) and dtype == pl.Float64:
        return pl.lit(True)  # numbers that are not finite never pass
    if isinstance(rule, Strict | str):
        return pl.lit(True)  # the type itself knows, and a text is a remark
    if isinstance(rule, annotated_types.BaseMetadata) and is_text:
        given = vars(rule) if hasattr(rule, "__dict__") else {}
        said = {name: each for name, each in given.items() if each is not None}
        if said.keys() == {"pattern"} and scope.matches_in_rust:
            return _check_pattern(said["pattern"], value)
    return None


def _check_length(
    rule: annotated_types.MinLen | annotated_types.MaxLen,
    value: pl.Expr,
    dtype: pl.DataType,
) -> pl.Expr | None:
    if dtype == pl.String:
        length = value.str.len_chars()
    elif isinstance(dtype, pl.List):
        length = value.list.len()
    else:
        return None
    if isinstance(rule, annotated_types.MinLen):
        return length >= rule.min_length
    return length <= rule.max_length


def _is_limit(limit: Any, dtype: pl.DataType) -> bool:
    """Tell whether polars and pydantic compare with the very same number."""
    if dtype == pl.Int64:
        return type(limit) is int and abs(limit) < 2**127
    try:
        return (
            type(limit) in (int, float)
            and math.isfinite(limit)
            and (float(limit) == limit)
        )
    except OverflowError:
        return False


def _check_pattern(pattern: Any, value: pl.Expr) -> pl.Expr | None:
    """Check a pattern, which pydantic and polars both give to Rust's engine."""
    if not isinstance(pattern, str):
        return None
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.PolarsError:
        return None
    return value.str.contains(pattern)


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


def _is_overridden(model: type[BaseModel]) -> bool:
    """Tell whether a model changes how pydantic builds, reads or gives its rows."""
    hooks = (
        "__init__",
        "__get_pydantic_core_schema__",
        "model_validate",
        "model_dump",
    )
    return any(
        getattr(getattr(model, name), "__func__", getattr(model, name))
        is not getattr(getattr(BaseModel, name), "__func__", getattr(BaseModel, name))
        for name in hooks
    )
