"""The scores of tags as a table that shows value and interval first."""

from __future__ import annotations

from typing import Any

import polars as pl

from evalkit.base.columns import all_named

FIRST = ("metric", "tag", "value", "ci_low", "ci_high", "n")
"""The columns that are shown, and that come first."""


class TagScores(pl.DataFrame):
    """A polars table of the scores of tags; it shows value and interval.

    It has all columns of `Score`, and is used as any table. What polars makes of it,
    such as a selection of its rows, is a plain table.

    Args:
        scores: A table with the columns of `Score`.
    """

    def __init__(self, scores: pl.DataFrame | None = None) -> None:
        if scores is not None:
            others = [name for name in scores.columns if name not in FIRST]
            scores = scores.select(all_named([*FIRST, *others]))
        super().__init__(scores)

    @property
    def details(self) -> pl.DataFrame:
        """All columns, as a table that shows them as polars does."""
        return self.select(pl.all())

    @property
    def _shown(self) -> pl.DataFrame:
        known = [name for name in FIRST if name in self.columns]
        return self.select(known) if len(known) == len(FIRST) else self.details

    def __str__(self) -> str:
        return f"{self._shown}\n{self._others}".rstrip()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self, **options: Any) -> str:
        html = self._shown._repr_html_(**options)
        return f"{html}<p>{self._others}</p>" if self._others else html

    @property
    def _others(self) -> str:
        others = self.width - self._shown.width
        return f"{others} more columns: .details" if others else ""
