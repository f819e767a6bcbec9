"""What stands beside a type in an annotation, as parts of a shape."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from annotated_types import Ge, GroupedMetadata, Gt, Le, Lt, MaxLen, MinLen, MultipleOf
from pydantic import AllowInfNan, ConfigDict, Strict, TypeAdapter

from evalkit.errors import SchemaError
from evalkit_schemas_standard.scalars import (
    FLOATS,
    INTEGERS,
    Semantics,
    Shape,
    Stored,
    Unit,
)

_BOUNDS: dict[type, str] = {Ge: "ge", Gt: "gt", Le: "le", Lt: "lt"}
_LENGTHS: dict[type, str] = {MinLen: "min_length", MaxLen: "max_length"}
_ORDERED = (*INTEGERS, *FLOATS, "decimal", "date", "datetime", "time", "duration")
_OF_KINDS = {
    **dict.fromkeys(_BOUNDS.values(), _ORDERED),
    **dict.fromkeys(_LENGTHS.values(), ("string", "bytes", "list", "map")),
    "pattern": ("string",),
    "multiple_of": (*INTEGERS, *FLOATS, "decimal"),
    "precision": ("decimal",),
    "scale": ("decimal",),
}
"""The kinds of values that a rule is for."""
_TIMES = (date, datetime, time, timedelta)
_SETTINGS = {
    "allow_inf_nan": True,
    "coerce_numbers_to_str": False,
    "populate_by_name": False,
    "regex_engine": "rust-regex",
    "str_max_length": None,
    "str_min_length": 0,
    "str_strip_whitespace": False,
    "str_to_lower": False,
    "str_to_upper": False,
    "val_json_bytes": "utf8",
    "val_temporal_unit": "infer",
    "validate_by_alias": True,
    "validate_by_name": False,
    "validate_default": False,
}
"""Settings that change what a model takes or makes of it, and pydantic's defaults."""


def settings(config: ConfigDict) -> Iterator[str]:
    """Yield the settings of a model that only Python knows, as `name=value`."""
    for name, default in _SETTINGS.items():
        value = config.get(name, default)
        if value != default:
            yield f"{name}={value}"


def single(rules: Iterable[Any]) -> Iterator[Any]:
    """Take apart rules that stand for several."""
    for rule in rules:
        if isinstance(rule, GroupedMetadata):
            yield from single(rule)
        else:
            yield rule


def with_rules(shape: Shape, rules: Iterable[Any], where: str) -> Shape:
    """Add the rules beside a type to its shape."""
    found: dict[str, Any] = {}
    only_python: list[str] = []
    for rule in single(rules):
        if isinstance(rule, Stored):
            _store(found, rule, shape, where)
        elif not isinstance(rule, Unit | Semantics | type(None)):
            parts, others = _parts_of(rule, where)
            found |= parts  # of two bounds pydantic takes the last
            only_python += others
    for name, kinds in _OF_KINDS.items():
        if found.get(name) is not None and shape.kind not in kinds:
            raise SchemaError(f"{where}: {name} is no rule for {shape.kind}")
    rules_of_python = (*shape.rules, *only_python)
    return normal(shape.changed(**found, rules=rules_of_python), where)


def _store(found: dict[str, Any], rule: Stored, shape: Shape, where: str) -> None:
    same = {shape.kind, rule.kind}
    if not (same <= INTEGERS.keys() or same <= FLOATS.keys() or len(same) == 1):
        raise SchemaError(f"{where}: {shape.kind} cannot be stored as {rule.kind}")
    found["kind"] = rule.kind
    if rule.zone is not None:
        found["zone"] = rule.zone


def _parts_of(rule: Any, where: str) -> tuple[dict[str, Any], list[str]]:
    """Return what a rule says, and the names of what only Python knows of it."""
    for kind, name in {**_BOUNDS, **_LENGTHS}.items():
        if isinstance(rule, kind):
            return {name: _plain(getattr(rule, name))}, []
    if isinstance(rule, MultipleOf):
        return {"multiple_of": _plain(rule.multiple_of)}, []
    if isinstance(rule, Strict):
        return {"strict": bool(rule.strict)}, []
    if isinstance(rule, AllowInfNan):
        return {"finite": not rule.allow_inf_nan}, []
    if type(rule).__name__ == "_PydanticGeneralMetadata":
        return _parts_of_pydantic(vars(rule), where)
    return {}, [type(rule).__name__]


def _parts_of_pydantic(
    said: dict[str, Any], where: str
) -> tuple[dict[str, Any], list[str]]:
    """Read what pydantic keeps together for what has no class of its own."""
    parts: dict[str, Any] = {}
    others: list[str] = []
    for name, value in said.items():
        if name == "pattern":
            parts["pattern"] = pattern_of(value, where)
        elif name == "strict":
            parts["strict"] = bool(value)
        elif name == "allow_inf_nan":
            parts["finite"] = value is False
        elif name == "max_digits":
            parts["precision"] = value
        elif name == "decimal_places":
            parts["scale"] = value
        elif value not in (None, False):
            others.append(name)
    return parts, others


def pattern_of(pattern: str | re.Pattern[str], where: str) -> str:
    """Return the text of a regular expression."""
    if isinstance(pattern, str):
        return pattern
    if pattern.flags & ~re.UNICODE:
        raise SchemaError(
            f"{where}: the pattern {pattern.pattern!r} has flags; write them into it, "
            "as in (?i)a"
        )
    return pattern.pattern


def _plain(value: Any) -> Any:
    """Return a bound as a number, or as the text that JSON has of it."""
    if isinstance(value, _TIMES):
        return TypeAdapter(type(value)).dump_python(value, mode="json")
    if isinstance(value, Decimal):
        return str(value)
    return value


def normal(shape: Shape, where: str) -> Shape:
    """Return a shape as all that say the same have it."""
    found: dict[str, Any] = {}
    if shape.kind in INTEGERS:
        found |= _integer_bounds(shape, where)
    elif shape.kind in FLOATS:
        found |= {
            name: None if math.isinf(value) else float(value)
            for name in ("ge", "gt", "le", "lt", "multiple_of")
            if (value := getattr(shape, name)) is not None
        }
    elif shape.kind == "decimal":
        _check_digits(shape, where)
    if shape.kind not in (*FLOATS, "decimal"):
        found["finite"] = False
    if not shape.min_length:
        found["min_length"] = None
    if shape.values is not None:
        # Python takes Literal[1, 2] for Literal[2, 1]
        found["values"] = tuple(sorted(shape.values))
    return shape.changed(**found)


def _integer_bounds(shape: Shape, where: str) -> dict[str, Any]:
    """Return the bounds of integers as `ge` and `le`; None where the type has them."""
    least, most = INTEGERS[shape.kind]
    _refuse_wider(shape, where)
    low, high = [least], [most]
    for name, shift, bounds in (
        ("ge", 0, low),
        ("gt", 1, low),
        ("le", 0, high),
        ("lt", -1, high),
    ):
        value = getattr(shape, name)
        if value is None or math.isinf(value):
            continue
        whole = math.ceil(value) if bounds is low else math.floor(value)
        bounds.append(whole + shift if whole == value else whole)
    return {
        "ge": None if max(low) == least else max(low),
        "gt": None,
        "le": None if min(high) == most else min(high),
        "lt": None,
    }


def _refuse_wider(shape: Shape, where: str) -> None:
    """Refuse a bound that takes the place of the type's, and takes more."""
    least, most = INTEGERS[shape.kind]
    wider = {
        "ge": isinstance(shape.ge, int) and shape.ge < least,
        "le": isinstance(shape.le, int) and shape.le > most,
    }
    for name, is_wider in wider.items():
        if is_wider and shape.kind != "int64":
            raise SchemaError(
                f"{where}: {name}={getattr(shape, name)} takes values that "
                f"{shape.kind} does not hold"
            )


def _check_digits(shape: Shape, where: str) -> None:
    if shape.precision is None or shape.scale is None:
        raise SchemaError(
            f"{where}: a Decimal needs max_digits and decimal_places, so that its "
            "column holds each value exactly"
        )
    if not 0 <= shape.scale <= shape.precision or not 1 <= shape.precision <= 76:
        raise SchemaError(
            f"{where}: a decimal has 1 to 76 digits, and not more behind the point"
        )
