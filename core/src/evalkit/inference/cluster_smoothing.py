"""Smoothing of counts of label pairs that are drawn by cluster, or by original.

Drawing clusters again never gives an error that was not seen, as drawing examples does
not. So each replicate gets some *added examples*, as many as in the smoothed
multinomial of `evalkit.inference.multinomial`: with K labels, Poisson(1/K²) of each
pair. An added example counts as much as the design effect says, since errors come in
clusters, too: one that was not seen would have been several. Where every unit has one
row, this effect is 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import all_named, named
from evalkit.inference.cluster_sizes import effective_number
from evalkit.inference.intervals import (
    Floats,
    Integers,
    clustered_share_interval,
    drawn_design_effect,
)
from evalkit.inference.multinomial import (
    DrawnCounts,
    Pair,
    PairCounts,
    pair_place,
)
from evalkit.inference.student_t import normal_quantile, t_quantile


class UnitRows(NamedTuple):
    """Rows of label pairs, and the units that they are drawn with."""

    units: Integers
    """The unit of each row, of shape (rows,)."""
    pairs: Integers
    """The pair of labels of each row, of shape (rows,)."""
    is_right: NDArray[np.bool_]
    """Whether the two labels of each row are the same, of shape (rows,)."""


def numbered_pairs(
    rows: pl.DataFrame, gold: str, predicted: str
) -> tuple[Integers, NDArray[np.bool_]]:
    """Number the pairs of labels of rows, and tell which are right.

    Args:
        rows: The rows.
        gold: Name of the column of gold labels.
        predicted: Name of the column of predicted labels.

    Returns:
        The number of each row's pair, and whether its two labels are the same, both of
        shape (rows,).
    """
    found = rows.select(
        number=pl.struct(all_named([gold, predicted])).rank("dense"),
        is_right=named(gold).eq_missing(named(predicted)),
    )
    return found["number"].to_numpy().astype(np.int64), found["is_right"].to_numpy()


def design_effect(rows: UnitRows) -> float:
    """Return the factor by which units shrink the sample, at least 1.

    It is the larger of two: the mean over pairs of labels of how much units raise the
    variance of the pair's share (Rao and Scott 1981), and the same of the share of
    right answers. The latter says little where few units hold an error. So it is drawn
    towards the effect of units whose rows are correlated by one half, with the weight
    of one unit, and the less the more units hold both right and wrong answers. (Chosen
    by simulation: with the former alone, macro-F1 at .97 in 30 clusters of 1 to 19
    rows covers .86.)

    Args:
        rows: The rows; at least one.

    Returns:
        The factor.
    """
    _, unit = np.unique(rows.units, return_inverse=True)
    sizes = np.bincount(unit).astype(np.float64)
    return max(1.0, _effect_on_pairs(rows, unit, sizes), _effect_on(rows, unit, sizes))


def _effect_on_pairs(rows: UnitRows, unit: Integers, sizes: Floats) -> float:
    """Return the mean effect on the shares of pairs, each weighed by its variance."""
    _, pair = np.unique(rows.pairs, return_inverse=True)
    counts = np.bincount(pair)
    cells, times = np.unique(unit * np.int64(len(counts)) + pair, return_counts=True)
    unit_of_cell, pair_of_cell = np.divmod(cells, len(counts))
    squares = np.bincount(pair_of_cell, weights=times.astype(np.float64) ** 2)
    products = np.bincount(pair_of_cell, weights=times * sizes[unit_of_cell])
    shares = counts / sizes.sum()
    clustered = squares - 2 * shares * products + shares**2 * (sizes**2).sum()
    return _ratio(float(clustered.sum()), float((shares * (1 - shares)).sum()), sizes)


def _effect_on(rows: UnitRows, unit: Integers, sizes: Floats) -> float:
    """Return the effect on the share of right answers, drawn towards a high one."""
    right = np.bincount(unit, weights=rows.is_right)
    share = float(right.sum() / sizes.sum())
    rarer = sizes - right if share > 0.5 else right
    seen = int(np.count_nonzero(rarer))
    alike = float(np.mean((rarer == 0) | (rarer == sizes)))
    high = (1 + float((sizes**2).sum() / sizes.sum())) / 2
    clustered = float(((right - share * sizes) ** 2).sum())
    estimate = _ratio(clustered, share * (1 - share), sizes) if seen else 0.0
    return drawn_design_effect(estimate, high, seen, alike)


def _ratio(clustered: float, spread: float, sizes: Floats) -> float:
    """Divide the variance of a share over units by that over independent rows."""
    units = len(sizes)
    if units < 2 or spread <= 0:
        return 1.0
    return units / (units - 1) * clustered / (spread * float(sizes.sum()))


def widening(units: Integers, confidence: float) -> float:
    """Return the factor by which percentiles over few units are too narrow.

    Replicates have the variance of a sample divided by the number of units and not by
    one less, and the normal's tails, not Student's. The number is the effective one, as
    one large unit among small ones tells little, and for Student's degrees of freedom
    it is rounded down: of few unequal units even that is more than they are worth.

    Args:
        units: The unit of each row, of shape (rows,).
        confidence: Probability of the interval.

    Returns:
        The factor, at least 1.
    """
    _, counts = np.unique(units, return_counts=True)
    sizes = counts.astype(np.float64)
    effective = max(2.0, effective_number(sizes))
    quantile = t_quantile(confidence, int(effective + 1e-9) - 1)
    spread = math.sqrt(effective / (effective - 1))
    return quantile / normal_quantile(confidence) * spread


def widened(
    bounds: tuple[float, float], centre: float, factor: float
) -> tuple[float, float]:
    """Move two bounds away from a centre."""
    low, high = bounds
    return centre - (centre - low) * factor, centre + (high - centre) * factor


def shortfall(
    rows: UnitRows, drawn: tuple[float, float], confidence: float
) -> tuple[float, float]:
    """Say how many times as far Wilson's interval of the right answers reaches.

    Where few units hold an error, replicates show too little of how unequally they do,
    and least where the sample was lucky. Wilson's interval of the share of right
    answers heeds that, so it says by how much the replicates' is too narrow.

    Args:
        rows: The rows; at least two units.
        drawn: Bounds of the same share that were made of replicates, as those of the
            score are.
        confidence: Probability of the interval.

    Returns:
        Factors for below and for above the share, at least 1.
    """
    _, unit = np.unique(rows.units, return_inverse=True)
    right = np.bincount(unit, weights=rows.is_right).astype(np.float64)
    share = float(right.sum() / len(unit))
    sizes = np.bincount(unit).astype(np.float64)
    wilson = clustered_share_interval(right, sizes, confidence)
    if wilson.low is None or wilson.high is None:
        return 1.0, 1.0
    sides = (
        (share - wilson.low, share - drawn[0]),
        (wilson.high - share, drawn[1] - share),
    )
    below, above = (
        max(1.0, wanted / found) if found > 1e-9 else 1.0 for wanted, found in sides
    )
    return below, above


def smoothed_units(
    drawn: DrawnCounts,
    totals: Floats,
    pairs: PairCounts,
    mass: float,
    random: np.random.Generator,
) -> tuple[DrawnCounts, DrawnCounts]:
    """Add examples to replicates of the counts of one group.

    Args:
        drawn: The replicates; keys are gold and predicted label, and perhaps a third
            one where replications are counted apart.
        totals: The count of each of their cells in the group.
        pairs: The gold labels of the group, and all labels that an answer may be of.
        mass: What each example that is added counts.
        random: Where the numbers come from.

    Returns:
        The replicates, and the counts that are to be expected in them; both with the
        cells sorted.
    """
    golds, labels = pairs.golds, pairs.labels
    replicates = len(drawn.counts)
    number, gold, label = _added(len(golds), len(labels), replicates, random)
    found, place = np.unique(gold * max(1, len(labels)) + label, return_inverse=True)
    chosen = [divmod(code, max(1, len(labels))) for code in found.tolist()]
    added_pairs = [(golds[one], labels[other]) for one, other in chosen]
    rests = sorted({tuple(cell[2:]) for cell in drawn.cells})
    places = _places(drawn.cells, added_pairs, rests)
    counts = np.zeros((replicates, len(places)))
    counts[:, [places[tuple(cell)] for cell in drawn.cells]] = drawn.counts
    for rest in rests:
        columns = np.array([places[*pair, *rest] for pair in added_pairs], dtype=int)
        # equal numbers, so that rounding depends on no order
        np.add.at(counts, (number, columns[place]), mass)
    every = [(one, other) for one in golds for other in labels]
    expected_places = _places(drawn.cells, every, rests)
    expected = np.zeros((1, len(expected_places)))
    expected[0, [expected_places[tuple(cell)] for cell in drawn.cells]] = totals
    spread = [expected_places[*pair, *rest] for pair in every for rest in rests]
    expected[0, spread] += mass / max(1, len(labels)) ** 2
    return (
        drawn._replace(cells=list(places), counts=counts),
        drawn._replace(cells=list(expected_places), counts=expected),
    )


def _places(
    cells: Sequence[Sequence[Any]],
    pairs: Sequence[Pair],
    rests: Sequence[tuple[Any, ...]],
) -> dict[tuple[Any, ...], int]:
    """Number cells, and those of pairs and what may stand beside them, sorted."""
    more = ((*pair, *rest) for pair in pairs for rest in rests)
    everything = {*map(tuple, cells), *more}
    ordered = sorted(everything, key=lambda cell: (pair_place(cell[:2]), cell[2:]))
    return {cell: number for number, cell in enumerate(ordered)}


def _added(
    golds: int, labels: int, replicates: int, random: np.random.Generator
) -> tuple[Integers, Integers, Integers]:
    """Draw the replicate of each added example, and numbers of its labels."""
    each = random.poisson(golds / max(1, labels), size=replicates)
    if not labels:
        each[:] = 0
    total = int(each.sum())
    chosen = random.integers(0, max(1, labels), total)
    gold = random.integers(0, golds, total)
    return np.repeat(np.arange(replicates), each), gold, chosen


def right_shares(counts: DrawnCounts) -> Floats:
    """Return the share of right answers in each replicate.

    Args:
        counts: Counts by gold and predicted label, and perhaps another key.

    Returns:
        The shares, of shape (replicates,); nan where nothing was drawn.
    """
    is_right = [gold == predicted for gold, predicted, *_ in counts.cells]
    right = counts.counts[:, is_right].sum(axis=1)
    with np.errstate(invalid="ignore"):
        shares: Floats = right / counts.counts.sum(axis=1)
    return shares
