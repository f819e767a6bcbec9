"""Patterns: what a metric makes of an example, told apart by content alone.

The rows of keys and numbers that `statistics` gives an example are its pattern. An
example without such rows has a row that says why. Where an example has several answers,
the replication is a key of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import all_named, unnamed
from evalkit.scoring.numbering import (
    Codes,
    Ragged,
    dense,
    joined,
    number_rows,
    number_sequences,
)
from evalkit.scoring.outcomes import OUTCOME, OUTCOMES, REASON, SCORED, SILENT

Floats = NDArray[np.float64]

REPLICATION = "__replication"
"""Column of the number of the answer."""

_HEAD = (REPLICATION, OUTCOME, REASON)


@dataclass(frozen=True)
class Patterns:
    """The distinct patterns of a metric, sorted by content."""

    rows: pl.DataFrame
    """The distinct rows, sorted: replication, outcome, reason, keys and numbers."""
    keys: tuple[str, ...]
    sequences: Ragged
    """The numbers of the rows of each pattern, sorted."""

    def __len__(self) -> int:
        """Return the number of patterns."""
        return len(self.sequences.lengths)

    @property
    def columns(self) -> list[str]:
        """Names of the number columns."""
        return [name for name in self.rows.columns if name not in (*_HEAD, *self.keys)]

    @cached_property
    def has_numbers(self) -> NDArray[np.bool_]:
        """Whether each row is one of statistics."""
        return self._has_outcome([SCORED])

    @cached_property
    def _outcomes(self) -> NDArray[np.uint8]:
        return self.rows[OUTCOME].to_physical().to_numpy()

    def _has_outcome(self, outcomes: Sequence[str]) -> NDArray[np.bool_]:
        numbers = pl.Series(outcomes, dtype=OUTCOMES).to_physical().to_numpy()
        return np.isin(self._outcomes, numbers)

    @cached_property
    def replications(self) -> Codes:
        """The replication of each row."""
        return self.rows[REPLICATION].to_numpy().astype(np.int64)

    @cached_property
    def is_scored(self) -> NDArray[np.bool_]:
        """Whether each pattern has a row of statistics."""
        return self.answers([SCORED]) > 0

    def answers(self, outcomes: Sequence[str] | None = None) -> Codes:
        """Count the answers of each pattern that have one of some outcomes."""
        items = self.sequences.items
        is_chosen = np.ones(self.rows.height, dtype=bool)
        if outcomes is not None:
            is_chosen = self._has_outcome(outcomes)
        if not is_chosen.any():
            return np.zeros(len(self), dtype=np.int64)
        if len(items) == len(self):  # patterns of one row
            return is_chosen[items].astype(np.int64)
        chosen = is_chosen[items]
        replications = self.replications[items][chosen]
        size = int(replications.max(initial=0)) + 1
        owners = self.sequences.owners()[chosen]
        _, distinct = dense(owners * size + replications, len(self) * size)
        return np.bincount(distinct // size, minlength=len(self)).astype(np.int64)

    def values(self, column: str) -> Floats:
        """Return a number of every row; nan where it has none."""
        numbers = unnamed(self.rows[column]).cast(pl.Float64)
        values: Floats = numbers.fill_null(np.nan).to_numpy()
        return values

    def sums(self, by_row: Floats) -> Floats:
        """Sum a number of every row over the rows of each pattern."""
        items = self.sequences.items
        chosen = np.where(self.has_numbers[items], by_row[items], 0.0)
        return np.bincount(
            self.sequences.owners(), weights=chosen, minlength=len(self)
        ).astype(np.float64)


def number_patterns(
    rows: pl.DataFrame, examples: Codes, count: int, keys: Sequence[str]
) -> tuple[Patterns, Codes]:
    """Number the patterns of examples."""
    codes, distinct = number_rows(_ordered(rows, keys))
    lengths = np.bincount(examples, minlength=count).astype(np.int64)
    if (examples[1:] <= examples[:-1]).any():
        codes = codes[np.lexsort((codes, examples))]
    sequences = Ragged(codes, lengths)
    numbers, first = number_sequences(sequences)
    return Patterns(distinct, tuple(keys), sequences.take(first)), numbers


def merge_patterns(parts: Sequence[Patterns]) -> tuple[Patterns, list[Codes]]:
    """Number the patterns of several parts together."""
    frames = [part.rows for part in parts]
    keys = parts[0].keys
    rows = _ordered(pl.concat(frames, how="diagonal_relaxed"), keys)
    codes, distinct = number_rows(rows)
    # rows are sorted in each part as in the whole, so their order in a pattern stays
    shifts = np.cumsum([0, *(frame.height for frame in frames)])
    sequences = joined(
        [
            part.sequences._replace(items=codes[part.sequences.items + shift])
            for part, shift in zip(parts, shifts.tolist(), strict=False)
        ]
    )
    numbers, first = number_sequences(sequences)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    merged = Patterns(distinct, keys, sequences.take(first))
    return merged, list(np.split(numbers, ends))


def average_patterns(patterns: Patterns) -> Patterns:
    """Return patterns with one row of statistics each, the mean of the answers'."""
    counts = np.maximum(patterns.sums(np.ones(patterns.rows.height)), 1)
    numbers = {
        name: patterns.sums(patterns.values(name)) / counts for name in patterns.columns
    }
    is_scored = pl.lit(pl.Series(patterns.is_scored))
    outcome = pl.when(is_scored).then(pl.lit(SCORED)).otherwise(pl.lit(SILENT))
    rows = pl.DataFrame(numbers).with_columns(
        pl.lit(0, dtype=pl.Int64).alias(REPLICATION),
        outcome.cast(OUTCOMES).alias(OUTCOME),
        pl.lit(None, dtype=pl.String).alias(REASON),
    )
    one_each = np.ones(len(patterns), dtype=np.int64)
    sequences = Ragged(np.arange(len(patterns)), one_each)
    return Patterns(_ordered(rows, ()), (), sequences)


def _ordered(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Put columns into the order that all parts have; -0 becomes 0."""
    head = [*_HEAD, *keys]
    # a part of which nothing is scored has no keys
    absent = [name for name in keys if name not in rows.columns]
    rows = rows.with_columns(pl.lit(None).alias(name) for name in absent)
    numbers = sorted(name for name in rows.columns if name not in head)
    plain = [(rows[name].cast(pl.Float64) + 0.0).alias(name) for name in numbers]
    return rows.select(all_named([*head, *numbers])).with_columns(plain)
