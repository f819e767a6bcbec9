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


Int64 = Annotated[int, Sized("int64", -(2**63), 2**63 - 1)]
"""An integer of 64 bits."""

Float32 = Annotated[
    float, Sized("float", -3.4028234663852886e38, 3.4028234663852886e38)
]
"""A number of 32 bits."""

Float64 = Annotated[float, Sized("double")]
"""A number of 64 bits."""
