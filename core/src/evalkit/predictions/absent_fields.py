"""Required fields that no row of predictions has, and what may be meant by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evalkit.base.nearest import guess_columns, how_to_map, shown_columns


class AbsentFields(NamedTuple):
    """Required fields that no row has."""

    fields: Sequence[str]
    columns: Sequence[str]
    """Keys that nobody declares and rows have."""
    mapping: Mapping[str, str]
    """The columns that may be meant, by field, as far as a guess is plausible."""

    @classmethod
    def of(
        cls, fields: Sequence[str], undeclared: Mapping[str, int], rows: int
    ) -> AbsentFields:
        """Find out what may be meant.

        Args:
            fields: The fields that no row has.
            undeclared: How many rows have each key that nobody declares.
            rows: How many rows there are.
        """
        columns = sorted(undeclared)
        whole = [name for name in columns if undeclared[name] == rows]
        return cls(fields, columns, guess_columns(fields, whole))

    def __str__(self) -> str:
        """Say what no row has, and what to do."""
        absent = f"no row has {' or '.join(map(repr, self.fields))}"
        if not self.columns:
            return absent
        has = shown_columns(self.fields, self.columns)
        how = how_to_map("predictions", self.mapping)
        return f"{absent}; rows have {has}, which the task does not declare; {how}"
