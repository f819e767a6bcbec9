"""What each unit adds to the error of a score: influences (Hampel 1974).

A score that is a smooth function of sums changes by the gradient of that function times
what an example adds to the sums. The gradient is taken by central differences of the
metric's own `finalize`, for many groups in one call. The sum of squared influences is
the variance of the score by the delta method, the infinitesimal jackknife of Jaeckel
(1972).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.terms import MergeKind
from evalkit.errors import MetricError
from evalkit.scoring.finalization import MOST_ROWS, Finalizer
from evalkit.scoring.statistics_rows import Codes, StatisticsRows, pairs_of_moments
from evalkit.statistics.clusters import Floats, Integers

_STEP = 1e-4
"""Step of the differences, as a share of the sum that is changed."""

_ROUNDING = 1e-7
"""Share of what an influence is summed of up to which it is the differences' error."""

MOST_ENTRIES = 500
"""Sums of a group beyond which it gets no gradient."""


class RowInfluences:
    """What rows of statistics add to one score of one group, computed when needed."""

    def __init__(
        self,
        rows: StatisticsRows,
        merges: Mapping[str, MergeKind],
        cells: pl.DataFrame,
        cell_of_key: Codes,
        gradient: Floats,
    ) -> None:
        self._rows, self._merges, self._cells = rows, merges, cells
        self._cell_of_key = cell_of_key
        self._gradient = gradient

    def __getitem__(self, codes: Codes) -> Floats:
        """Return the gradient times what some distinct rows add to the sums.

        It is nan for rows that the group does not have.
        """
        _, key_of_code = self._rows.numbered_keys
        cells = self._cell_of_key[key_of_code[codes]]
        terms: Floats = self._added(codes, cells) * self._gradient[cells]
        influences = terms.sum(axis=1)
        # what rows add to numerator and denominator may cancel, as where all are right
        cancel = np.abs(influences) <= _ROUNDING * np.abs(terms).sum(axis=1)
        return np.where(cells < 0, np.nan, np.where(cancel, 0.0, influences))

    def _added(self, codes: Codes, cells: Codes) -> Floats:
        values = self._rows.values[codes]
        if "moments" not in self._merges.values():
            return values
        by_name = dict(zip(self._rows.columns, values.T, strict=True))
        return added_by_rows(by_name, self._merges, self._cells, cells)


class Influences:
    """What a row of statistics adds to each score of each group.

    All columns of the statistics merge by sum or moments. The groups are computed
    together, because calls of `finalize` cost most of the time.
    """

    def __init__(
        self, finalizer: Finalizer, rows: StatisticsRows, sums: pl.DataFrame
    ) -> None:
        self._finalizer, self._rows, self._sums = finalizer, rows, sums

    def of(self, group: int) -> Mapping[str, RowInfluences]:
        """Return the influences on each score of a group that has a gradient."""
        return self._of_groups.get(group, {})

    @cached_property
    def _of_groups(self) -> Mapping[int, Mapping[str, RowInfluences]]:
        rows, merges = self._rows, self._finalizer.metric.merges
        names = self._sums.columns
        merged = [name for name in names if name not in ("group", *rows.keys)]
        return {
            group: {
                score: RowInfluences(
                    rows, merges, batch[group], self._cell_of_key(group), gradient
                )
                for score, gradient in by_score.items()
            }
            for batch in _batches(self._sums, len(merged))
            for group, by_score in _known_gradients(
                self._finalizer, batch, merged
            ).items()
        }

    def _cell_of_key(self, group: int) -> Codes:
        """Return the number of a group's cell of each distinct key; -1 for none."""
        keys, key_of_sum = self._key_of_sum
        start, end = np.searchsorted(self._sums["group"].to_numpy(), [group, group + 1])
        cell_of_key = np.full(max(1, keys), -1, dtype=np.int64)
        cell_of_key[key_of_sum[start:end]] = np.arange(end - start)
        return cell_of_key

    @cached_property
    def _key_of_sum(self) -> tuple[int, Codes]:
        """How many distinct keys there are, and the number of that of each sum."""
        if not self._rows.keys:
            return 1, np.zeros(self._sums.height, dtype=np.int64)
        keys, _ = self._rows.numbered_keys
        found = self._sums.join(
            keys.with_row_index("__key"),
            on=all_named(self._rows.keys),
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        return keys.height, found["__key"].to_numpy().astype(np.int64)


def _known_gradients(
    finalizer: Finalizer, groups: Mapping[int, pl.DataFrame], columns: Sequence[str]
) -> Mapping[int, Mapping[str, Floats]]:
    """Return the gradients of those groups near whose sums the metric is defined."""
    try:
        return _gradients(finalizer, groups, columns)
    except MetricError:
        if len(groups) == 1:
            return {}
        # one by one, so that a group's interval does not depend on the others
        return {
            number: scores
            for group, part in groups.items()
            for number, scores in _known_gradients(
                finalizer, {group: part}, columns
            ).items()
        }


def _batches(sums: pl.DataFrame, columns: int) -> Iterator[Mapping[int, pl.DataFrame]]:
    batch: dict[int, pl.DataFrame] = {}
    rows = 0
    parts = sums.partition_by("group", as_dict=True, maintain_order=True)
    for (group,), part in parts.items():
        entries = part.height * columns
        if entries > MOST_ENTRIES:
            continue
        batch[int(group)] = part
        rows += 2 * entries * part.height
        if rows > MOST_ROWS:
            yield batch
            batch, rows = {}, 0
    if batch:
        yield batch


def _gradients(
    finalizer: Finalizer, groups: Mapping[int, pl.DataFrame], columns: Sequence[str]
) -> Mapping[int, Mapping[str, Floats]]:
    """Return the gradient of each score, of shape (cells, columns), by group."""
    frames, steps = [], {}
    first = 0
    for group, part in groups.items():
        changed, step = _changed(part, columns)
        frames.append(changed.with_columns(group=pl.col("group") + first))
        steps[group] = (first, step)
        first += 2 * step.size
    values = finalizer(pl.concat(frames))
    by_score = values.partition_by("score", as_dict=True)
    found: dict[int, dict[str, Floats]] = {group: {} for group in groups}
    for (score,), frame in by_score.items():
        everything = np.full(first, np.nan)
        numbers = frame["value"].fill_null(np.nan).to_numpy()
        everything[frame["group"].to_numpy()] = numbers
        for group, (start, step) in steps.items():
            up, down = everything[start : start + 2 * step.size].reshape(2, -1)
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                gradient = ((up - down) / (2 * step.ravel())).reshape(step.shape)
            if np.isfinite(gradient).all():
                found[group][str(score)] = gradient
    return found


def _changed(part: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, Floats]:
    """Change each sum up, then each down; give the steps, of shape (cells, columns)."""
    base = part.select(all_named(columns)).to_numpy()
    step = _STEP * np.where(base == 0, 1.0, np.abs(base))
    size = base.size
    copies = np.tile(base, (2 * size, 1, 1))
    entry = np.arange(size)
    with np.errstate(over="ignore", invalid="ignore"):
        copies.reshape(2 * size, -1)[entry, entry] += step.ravel()
        copies.reshape(2 * size, -1)[size + entry, entry] -= step.ravel()
    number = np.repeat(np.arange(2 * size), len(base))
    keys = part.drop(all_named(["group", *columns]))
    cells = [keys[np.tile(np.arange(len(base)), 2 * size)]] if keys.width else []
    sums = pl.DataFrame(
        {name: copies[:, :, place].ravel() for place, name in enumerate(columns)}
    )
    group = pl.DataFrame({"group": number})
    return pl.concat([group, *cells, sums], how="horizontal"), step


def added_by_rows(
    values: Mapping[str, Floats],
    merges: Mapping[str, MergeKind],
    cells: pl.DataFrame,
    cell_of_row: Integers,
) -> Floats:
    """Return what each row adds to the merged columns of its cell.

    That is how these change by a row's weight: a sum by the row's number, a mean by its
    distance from it, shared by all rows, and a moment by the product of distances.
    """
    columns: list[Floats] = []
    distances: dict[str, Floats] = {}
    for name, own in values.items():
        if merges.get(name) != "moments":
            columns.append(own)
            continue
        mean, count = (
            cells[f"{name}_{part}"].to_numpy()[cell_of_row]
            for part in ("mean", "count")
        )
        distances[name] = own - mean
        columns += [
            np.ones(len(own)),
            distances[name] / count,
            distances[name] ** 2,
        ]
    columns += [
        distances[one] * distances[other]
        for one, other in pairs_of_moments([*values], merges)
    ]
    return np.column_stack(columns)
