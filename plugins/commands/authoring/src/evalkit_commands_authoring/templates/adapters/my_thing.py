"""The adapter `my-thing`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import evalkit
from evalkit_adapters_rows import AdapterSettings


class MyThing:
    """Makes small letters of the texts in some fields."""

    version = "1"

    class Parameters(AdapterSettings):
        """What a user may set.

        Attributes:
            fields: The fields.
        """

        fields: list[str] = ["label"]

    def __init__(self, parameters: Parameters) -> None:
        self.fields = parameters.fields

    def adapt_row(self, row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the row with these fields changed; the row itself stays as it is."""
        if not isinstance(row, Mapping):
            raise evalkit.AdapterError("the row must be an object")
        changed = dict(row)
        for name in self.fields:
            if not isinstance(row.get(name), str):
                raise evalkit.AdapterError(f"{name!r} must be a text", field=name)
            changed[name] = row[name].casefold()
        yield changed
