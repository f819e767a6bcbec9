"""Numbers of a declared size, as annotations of fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema


@dataclass(frozen=True)
class Sized:
    """Says, as metadata of a field, which numbers of a size there are."""

    arrow: str
    """Name of the Arrow type, such as `int64`."""
    least: float | None = None
    greatest: float | None = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Add the range to the rules of the field; the narrower bound counts."""
        schema: Any = handler(source)
        if self.least is not None and self.greatest is not None:
            schema["ge"] = max(schema.get("ge", self.least), self.least)
            schema["le"] = min(schema.get("le", self.greatest), self.greatest)
        return cast("CoreSchema", schema)


def _of_bits(arrow: str, bits: int) -> Sized:
    is_signed = arrow.startswith("int")
    least, power = (-(2 ** (bits - 1)), bits - 1) if is_signed else (0, bits)
    return Sized(arrow, least, 2**power - 1)


Int8 = Annotated[int, _of_bits("int8", 8)]
Int16 = Annotated[int, _of_bits("int16", 16)]
Int32 = Annotated[int, _of_bits("int32", 32)]
Int64 = Annotated[int, _of_bits("int64", 64)]
UInt8 = Annotated[int, _of_bits("uint8", 8)]
UInt16 = Annotated[int, _of_bits("uint16", 16)]
UInt32 = Annotated[int, _of_bits("uint32", 32)]
UInt64 = Annotated[int, _of_bits("uint64", 64)]

Float16 = Annotated[float, Sized("halffloat", -65504.0, 65504.0)]
Float32 = Annotated[
    float, Sized("float", -3.4028234663852886e38, 3.4028234663852886e38)
]
Float64 = Annotated[float, Sized("double")]
