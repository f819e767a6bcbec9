"""Columns of responses that a column stage computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import polars as pl

from evalkit.plugins.bound import Bound


class ComputedColumns(Protocol):
    """Columns that one component computed."""

    @property
    def component(self) -> Bound:
        """The component, which the run records."""

    @property
    def columns(self) -> Mapping[str, pl.Series]:
        """The columns by name, null where there is no value."""

    @property
    def details(self) -> pl.DataFrame:
        """`position`, `reason` (null where there is a value), `failed`, and more."""

    @property
    def warnings(self) -> Sequence[str]:
        """What went wrong without changing a score."""

    def record(self, details: pl.DataFrame) -> Mapping[str, Any]:
        """Return a JSON object for `run.json`.

        Args:
            details: The details that the run keeps.
        """
