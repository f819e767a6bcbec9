"""What each row of statistics adds to the error of a score: influences (Hampel 1974).

A score that is a smooth function of sums changes by the gradient of that function times
what an example adds to the sums. The gradient is taken by central differences of the
metric's own `finalize`. The sum of the squared influences of independent units is the
variance of the score by the delta method (Jaeckel 1972).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from evalkit.base.columns import all_named
from evalkit.base.terms import MergeKind
from evalkit.errors import MetricError
from evalkit.tallies.numbering import Codes, number_rows
from evalkit.tallies.patterns import Floats
from evalkit.tallies.samples import GroupSample, UnitSums
from evalkit.tallies.sums import moment_pairs

MOST_SUMS = 500
"""Sums of a group above which it gets no gradient."""

_STEP = 1e-4
"""Step of the differences, as a fraction of the sum that is changed."""

_ROUNDING = 1e-7
"""Fraction of what an influence is summed of up to which it is rounding."""


def unit_influences(sample: GroupSample) -> dict[str, UnitSums]:
    """Return what each unit of a group adds to the error of each score.

    Args:
        sample: The group.

    Returns:
        By score, influences as totals, which add up to zero; without the scores that
        are no smooth function of the sums.
    """
    influences = {}
    for score, by_row in row_influences(sample).items():
        sums = sample.unit_sums(by_row)
        sizes = sums.sizes * sums.times
        mean = float((sums.totals * sums.times).sum() / sizes.sum())
        influences[score] = sums._replace(totals=sums.totals - mean * sums.sizes)
    return influences


def row_influences(sample: GroupSample) -> dict[str, Floats]:
    """Return what each row of the patterns adds to each score of a group.

    Args:
        sample: The group.

    Returns:
        By score a number for each row, 0 for a row that the group does not have.
    """
    patterns, merges = sample.patterns, sample.metric.merges
    kinds = {merges.get(name, "sum") for name in patterns.columns}
    if not kinds <= {"sum", "moments"} or not sample.sums.height:
        return {}
    keys = sample.keys
    columns = [name for name in sample.sums.columns if name not in ("group", *keys)]
    base = sample.sums.select(all_named(columns)).to_numpy()
    if base.size > MOST_SUMS:
        return {}
    gradients = _gradients(sample, base, columns)
    cell = cells_of_rows(sample)
    present = np.flatnonzero((cell >= 0) & patterns.has_numbers)
    values = {name: patterns.values(name)[present] for name in patterns.columns}
    added = _added(values, merges, sample.sums, cell[present])
    influences = {}
    for score, gradient in gradients.items():
        terms = added * gradient[cell[present]]
        by_row = np.zeros(len(cell))
        by_row[present] = terms.sum(axis=1)
        # what rows add to numerator and denominator may cancel
        is_rounding = np.abs(by_row[present]) <= _ROUNDING * np.abs(terms).sum(axis=1)
        by_row[present[is_rounding]] = 0.0
        influences[score] = by_row
    return influences


def cells_of_rows(sample: GroupSample) -> Codes:
    """Return for each row of the patterns the row of the group's sums; -1 for none."""
    rows = sample.patterns.rows.select(all_named(sample.keys))
    cells = sample.sums.select(all_named(sample.keys))
    if not sample.keys:
        return np.zeros(sample.patterns.rows.height, dtype=np.int64)
    together = pl.concat([cells, rows], how="vertical_relaxed")
    codes, distinct = number_rows(together)
    cell = np.full(distinct.height, -1, dtype=np.int64)
    cell[codes[: cells.height]] = np.arange(cells.height)
    return cell[codes[cells.height :]]


def _gradients(
    sample: GroupSample, base: Floats, columns: Sequence[str]
) -> Mapping[str, Floats]:
    """Return the change of each score by each sum, of the shape of the sums."""
    size = base.size
    step = _STEP * np.where(base == 0, 1.0, np.abs(base))
    changed = np.tile(base, (2 * size, 1, 1))
    entry = np.arange(size)
    flat = changed.reshape(2 * size, -1)
    with np.errstate(over="ignore", invalid="ignore"):
        flat[entry, entry] += step.ravel()
        flat[size + entry, entry] -= step.ravel()
    numbers = {name: changed[:, :, n].ravel() for n, name in enumerate(columns)}
    try:
        scores = sample.finalize(replicated(sample, numbers, 2 * size))
    except MetricError:
        return {}
    gradients = {}
    for (score,), frame in scores.partition_by("score", as_dict=True).items():
        values = np.full(2 * size, np.nan)
        values[frame["group"].to_numpy()] = frame["value"].fill_null(np.nan).to_numpy()
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            change = (values[:size] - values[size:]) / (2 * step.ravel())
        if np.isfinite(change).all():
            gradients[str(score)] = change.reshape(base.shape)
    return gradients


def replicated(
    sample: GroupSample, numbers: Mapping[str, Floats], count: int
) -> pl.DataFrame:
    """Return several versions of the sums of a group, each as a group of its own.

    Args:
        sample: The group.
        numbers: The sums of each column, version by version.
        count: How many versions there are.
    """
    cells = sample.sums.height
    keys = sample.sums.select(all_named(sample.keys))
    frames = [pl.DataFrame({"group": np.repeat(np.arange(count), cells)})]
    if sample.keys:
        frames.append(keys[np.tile(np.arange(cells), count)])
    return pl.concat([*frames, pl.DataFrame(dict(numbers))], how="horizontal")


def _added(
    values: Mapping[str, Floats],
    merges: Mapping[str, MergeKind],
    sums: pl.DataFrame,
    cell: Codes,
) -> Floats:
    """Return what each row adds to the merged columns of its cell.

    A sum changes by the row's number, a mean by its distance from it, shared by all
    rows, and a moment by the product of distances.
    """
    columns: list[Floats] = []
    distances: dict[str, Floats] = {}
    for name, numbers in values.items():
        if merges.get(name) != "moments":
            columns.append(numbers)
            continue
        mean, count = (
            sums[f"{name}_{part}"].to_numpy()[cell] for part in ("mean", "count")
        )
        distances[name] = numbers - mean
        columns += [
            np.ones(len(numbers)),
            distances[name] / count,
            distances[name] ** 2,
        ]
    pairs = moment_pairs([*values], merges)
    columns += [distances[one] * distances[other] for one, other in pairs]
    return np.column_stack(columns)
