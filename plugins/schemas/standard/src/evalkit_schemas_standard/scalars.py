"""Types of numbers by their width, and what else may stand in `Annotated`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, JsonValue
from pydantic_core import CoreSchema, core_schema

Kind = Literal[
    "string",
    "boolean",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "decimal",
    "bytes",
    "uuid",
    "date",
    "datetime",
    "time",
    "duration",
    "list",
    "map",
    "struct",
]

ANY_ZONE = "any"
"""Zone of a datetime that may have one or not; one without is in UTC."""
NO_ZONE = "none"

_NOTES = ("title", "description")
"""What is for readers only."""


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Shape(_Frozen):
    """What the values of a field are.

    Attributes:
        kind: The type.
        nullable: Whether null is a value.
        strict: Whether values of another type are refused that could be converted.
        finite: Whether NaN and the infinities are refused; of floats and decimals.
        ge: Least value; of numbers, or as text of dates and times.
        gt: Value that all are above.
        le: Greatest value.
        lt: Value that all are below.
        multiple_of: Number that all are multiples of.
        min_length: Fewest characters, bytes, elements or entries.
        max_length: Most of them.
        pattern: Regular expression that is found in each text.
        values: The only values that are allowed: texts, integers or booleans.
        precision: Digits of a decimal.
        scale: Digits of a decimal behind the point.
        zone: Of a datetime: a time zone, "any" or "none".
        items: Shape of the elements of a list, or of the values of a map.
        map_keys: Shape of the keys of a map.
        unique: Whether the elements of a list are a set.
        fields: Fields of a struct, in order.
        closed: Whether a struct refuses fields that are not named.
        rules: Names of what only the class in Python does: validators, settings.
        title: Name of a struct.
        description: Documentation of a struct.
    """

    kind: Kind
    nullable: bool = False
    strict: bool = False
    finite: bool = False
    ge: int | float | str | None = None
    gt: int | float | str | None = None
    le: int | float | str | None = None
    lt: int | float | str | None = None
    multiple_of: int | float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    values: tuple[bool | int | str, ...] | None = None
    precision: int | None = None
    scale: int | None = None
    zone: str | None = None
    items: Shape | None = None
    map_keys: Shape | None = None
    unique: bool = False
    fields: tuple[Member, ...] = ()
    closed: bool = False
    rules: tuple[str, ...] = ()
    title: str | None = None
    description: str | None = None

    @property
    def size(self) -> int | None:
        """The number of elements of each list, where it is fixed."""
        is_fixed = self.kind == "list" and self.min_length is not None
        return self.min_length if is_fixed and self._is_one_length else None

    @property
    def _is_one_length(self) -> bool:
        return self.min_length == self.max_length and not self.unique

    def changed(self, **values: Any) -> Shape:
        """Return a copy with other values, which are not checked."""
        return self.model_copy(update=values)


class Member(_Frozen):
    """A field of a struct.

    Attributes:
        name: Its name in the data.
        shape: What its values are.
        required: Whether each row has it.
        default: What it is where a row lacks it, as JSON.
        description: Its documentation.
        unit: Unit of its values.
        semantics: What its values mean: a word, or the address of a definition.
    """

    name: str
    shape: Shape
    required: bool = True
    default: JsonValue = None
    description: str | None = None
    unit: str | None = None
    semantics: str | None = None


def distinct(shapes: Iterable[Shape]) -> list[Shape]:
    """Return shapes without those that are equal to an earlier one."""
    found: list[Shape] = []
    for shape in shapes:
        if shape not in found:
            found.append(shape)
    return found


def as_document(part: Shape | Member) -> dict[str, Any]:
    """Return a shape or a field as JSON, without what is as usual."""
    return part.model_dump(mode="json", exclude_defaults=True)


def canonical(shape: Shape) -> str:
    """Return the one text of a shape: without titles and descriptions, keys sorted.

    The order of fields counts, as it does in Arrow.
    """
    document = _without_notes(as_document(shape))
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )


def _without_notes(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out titles and descriptions, but for those that are data: a default."""
    found = {key: value for key, value in document.items() if key not in _NOTES}
    for key in ("shape", "items", "map_keys"):
        if key in found:
            found[key] = _without_notes(found[key])
    if "fields" in found:
        found["fields"] = [_without_notes(member) for member in found["fields"]]
    return found


INTEGERS: dict[str, tuple[int, int]] = {
    **{f"int{n}": (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)},
    **{f"uint{n}": (0, 2**n - 1) for n in (8, 16, 32, 64)},
}
"""Least and greatest value of each type of integers."""

FLOATS: dict[str, float] = {
    "float16": 65504.0,
    "float32": (2 - 2**-23) * 2.0**127,
    "float64": math.inf,
}
"""Greatest finite value of each type of floats (IEEE 754)."""


@dataclass(frozen=True)
class Stored:
    """How the values of a field are stored.

    Attributes:
        kind: The type, where the annotation leaves it open.
        zone: Time zone that instants are shown in.
    """

    kind: Kind
    zone: str | None = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Refuse what the type does not hold (called by pydantic)."""
        schema: Any = handler(source)
        if self.kind in INTEGERS:
            least, most = INTEGERS[self.kind]
            # a field may have narrower bounds, which stand before those of its type
            schema["ge"] = max(schema.get("ge", least), least)
            schema["le"] = min(schema.get("le", most), most)
        most_float = FLOATS.get(self.kind, math.inf)
        if math.isinf(most_float):
            return cast("CoreSchema", schema)

        def check(value: float) -> float:
            if most_float < abs(value) < math.inf:
                raise ValueError(
                    f"must be from {-most_float!r} to {most_float!r} ({self.kind})"
                )
            return value

        return core_schema.no_info_after_validator_function(check, schema)


@dataclass(frozen=True)
class Unit:
    """The unit of a field's values, such as `ms`.

    Attributes:
        name: The unit.
    """

    name: str


@dataclass(frozen=True)
class Semantics:
    """What a field's values mean.

    Attributes:
        name: A word, such as `probability`, or the address of a definition.
    """

    name: str


Int8 = Annotated[int, Stored("int8")]
Int16 = Annotated[int, Stored("int16")]
Int32 = Annotated[int, Stored("int32")]
Int64 = Annotated[int, Stored("int64")]
UInt8 = Annotated[int, Stored("uint8")]
UInt16 = Annotated[int, Stored("uint16")]
UInt32 = Annotated[int, Stored("uint32")]
UInt64 = Annotated[int, Stored("uint64")]
Float16 = Annotated[float, Stored("float16")]
Float32 = Annotated[float, Stored("float32")]
Float64 = Annotated[float, Stored("float64")]
