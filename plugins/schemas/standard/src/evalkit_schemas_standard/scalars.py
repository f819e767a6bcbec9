"""Types of numbers by their width, and what else may stand in `Annotated`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

MORE = "x-evalkit"
"""Keyword of what JSON Schema has no word for."""
BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
"""Bounds as pydantic and as JSON Schema call them."""
ANY_ZONE = "any"
"""Zone of a datetime with or without one; one without is in UTC."""
NO_ZONE = "none"

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


def with_more(document: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Return a document of JSON Schema with further values under `x-evalkit`."""
    return {**document, MORE: {**document.get(MORE, {}), **values}}


@dataclass(frozen=True)
class Stored:
    """How the values of a field are stored.

    Attributes:
        kind: The type, where the annotation leaves it open.
        zone: Time zone that instants are shown in.
    """

    kind: str
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
        noted = {"kind": self.kind} | ({"zone": self.zone} if self.zone else {})
        if math.isinf(most_float):
            return _noted(schema, **noted)

        def check(value: float) -> float:
            if most_float < abs(value) < math.inf:
                raise ValueError(
                    f"must be from {-most_float!r} to {most_float!r} ({self.kind})"
                )
            return value

        checked = core_schema.no_info_after_validator_function(check, schema)
        return _noted(checked, **noted)


@dataclass(frozen=True)
class _Note:
    """What a field's values are, for readers and programs; pydantic checks nothing."""

    name: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Keep it beside the type (called by pydantic)."""
        return _noted(handler(source), **{type(self).__name__.lower(): self.name})


class Unit(_Note):
    """The unit of a field's values, such as `Unit("ms")`."""


class Semantics(_Note):
    """What a field's values mean: a word such as `probability`, or an address."""


def _noted(schema: Any, **values: Any) -> CoreSchema:
    """Return a type of pydantic's with further values in its metadata."""
    metadata = schema.get("metadata", {})
    noted = {**metadata.get(MORE, {}), **values}
    return cast("CoreSchema", {**schema, "metadata": {**metadata, MORE: noted}})


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
