"""Numbers of a declared size."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from annotated_types import Ge, Le


class Sized(NamedTuple):
    """Says, as metadata of a field, how many bits a number has."""

    arrow: str
    """Name of the Arrow type, such as `int64`."""


Int64 = Annotated[int, Sized("int64"), Ge(-(2**63)), Le(2**63 - 1)]
"""An integer of 64 bits."""

Float32 = Annotated[
    float, Sized("float"), Ge(-3.4028234663852886e38), Le(3.4028234663852886e38)
]
"""A number of 32 bits."""

Float64 = Annotated[float, Sized("double")]
"""A number of 64 bits."""
