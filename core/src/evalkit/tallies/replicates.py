"""The bootstrap of units (Efron 1979), which draws patterns or clusters.

A resample of n independent examples has each pattern a multinomial number of times; one
of clusters has each cluster so often (Davison and Hinkley 1997, section 3.8). So no
example is needed, only its pattern.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from evalkit.tallies.influences import cells_of_rows, replicated
from evalkit.tallies.numbering import Codes, expanded
from evalkit.tallies.patterns import Floats
from evalkit.tallies.samples import GroupSample
from evalkit.tallies.sums import moment_pairs

MOST_NUMBERS = 4_000_000
"""Replicates times rows that are held at a time."""


def draw_values(
    sample: GroupSample, count: int, random: np.random.Generator
) -> dict[str, Floats]:
    """Return the scores of replicates of a group.

    Args:
        sample: The group; its statistics merge by `sum` or `moments`.
        count: How many replicates to draw.
        random: Where the numbers come from.

    Returns:
        By score a value for each replicate, nan where it is undefined.

    Raises:
        MetricError: The metric failed for a replicate.
        ValueError: Statistics merge in another way.
    """
    merges = sample.metric.merges
    kinds = {merges.get(name, "sum") for name in sample.patterns.columns}
    if not kinds <= {"sum", "moments"}:
        raise ValueError("only statistics that merge by sum or moments are resampled")
    rows = _Rows(sample)
    size = max(1, MOST_NUMBERS // max(1, len(rows.row)))
    parts: list[dict[str, Floats]] = []
    for first in range(0, count, size):
        replicates = min(size, count - first)
        times = _draw_entries(sample, replicates, random)
        parts.append(_values(sample, rows.sums(times), replicates))
    names = dict.fromkeys(name for part in parts for name in part)
    lengths = [min(size, count - first) for first in range(0, count, size)]
    return {
        name: np.concatenate(
            [
                part.get(name, np.full(length, np.nan))
                for part, length in zip(parts, lengths, strict=True)
            ]
        )
        for name in names
    }


def _draw_entries(
    sample: GroupSample, count: int, random: np.random.Generator
) -> Codes:
    """Draw how many examples of each entry there are in each replicate."""
    if sample.cluster is None:
        n = sample.n
        return random.multinomial(n, sample.times / n, size=count)
    clusters = int(sample.n_clusters or 1)
    even = np.full(clusters, 1 / clusters)
    of_clusters = random.multinomial(clusters, even, size=count)
    return of_clusters[:, sample.cluster] * sample.times


class _Rows:
    """The rows of the entries of a group, sorted by the cell of the sums."""

    def __init__(self, sample: GroupSample) -> None:
        patterns = sample.patterns
        sequences = patterns.sequences
        lengths = sequences.lengths[sample.pattern]
        row = sequences.items[expanded(sequences.starts[sample.pattern], lengths)]
        entry = np.repeat(np.arange(len(sample.pattern)), lengths)
        has_numbers = patterns.has_numbers[row]
        row, entry = row[has_numbers], entry[has_numbers]
        cell = cells_of_rows(sample)[row]
        order = np.argsort(cell, kind="stable")
        self.row, self._entry, cell = row[order], entry[order], cell[order]
        self._starts = np.flatnonzero(np.diff(cell, prepend=-1))
        self._cell = cell
        self._sample = sample
        self._values = {
            name: patterns.values(name)[self.row] for name in patterns.columns
        }

    def sums(self, times: Codes) -> dict[str, Floats]:
        """Return the merged columns of replicates, of shape (replicates, cells).

        Args:
            times: How often each entry is drawn, of shape (replicates, entries).
        """
        weights = times[:, self._entry].astype(np.float64)
        counts = self._add(weights)
        sums, centred = {"": counts}, {}
        merges = self._sample.metric.merges
        for name, values in self._values.items():
            if merges.get(name) != "moments":
                sums[name] = self._add(weights * values)
                continue
            centre = self._sample.sums[f"{name}_mean"].to_numpy()[self._cell]
            centred[name] = values - centre
            shift = self._ratio(self._add(weights * centred[name]), counts)
            squares = self._add(weights * centred[name] ** 2)
            mean = self._sample.sums[f"{name}_mean"].to_numpy()
            sums[f"{name}_count"] = counts
            sums[f"{name}_mean"] = mean + shift
            sums[f"{name}_m2"] = np.maximum(squares - counts * shift**2, 0.0)
        for one, other in moment_pairs([*self._values], merges):
            products = self._add(weights * centred[one] * centred[other])
            shifts = [
                self._ratio(self._add(weights * centred[name]), counts)
                for name in (one, other)
            ]
            comoment = products - counts * shifts[0] * shifts[1]
            sums[f"{one}_{other}_comoment"] = comoment
        return sums

    def _add(self, numbers: Floats) -> Floats:
        added: Floats = np.add.reduceat(numbers, self._starts, axis=1)
        return added

    @staticmethod
    def _ratio(totals: Floats, counts: Floats) -> Floats:
        ratio: Floats = totals / np.maximum(counts, 1)
        return ratio


def _values(
    sample: GroupSample, sums: Mapping[str, Floats], count: int
) -> dict[str, Floats]:
    """Finalize the sums of replicates."""
    numbers = {name: values for name, values in sums.items() if name}
    if sample.finalize_counts is not None and len(numbers) == 1:
        [counts] = numbers.values()
        return dict(sample.finalize_counts(counts))
    frame = replicated(sample, {n: v.ravel() for n, v in numbers.items()}, count)
    # a cell of which a replicate has no row is not part of its sums
    frame = frame.filter(pl.Series(sums[""].ravel() > 0))
    scores = sample.finalize(frame)
    values: dict[str, Floats] = {}
    for (score,), part in scores.partition_by("score", as_dict=True).items():
        numbers_of = np.full(count, np.nan)
        numbers_of[part["group"].to_numpy()] = part["value"].fill_null(np.nan)
        values[str(score)] = numbers_of
    return values
