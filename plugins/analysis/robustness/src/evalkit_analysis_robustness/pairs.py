"""Pairs of an original and a perturbed example, in groups.

The group of a tag holds the perturbed examples that have the tag, and an original takes
part in it through them. All perturbed examples of an original that are in a group
become one value, so that every original counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.scoring import group_by_tag
from evalkit.scoring.table import Units
from evalkit.statistics.clusters import Floats, Integers
from evalkit_analysis_robustness.examples import Perturbed

Reduction = Literal["mean", "least", "greatest"]
"""What several copies of an original become."""

Mask = NDArray[np.bool_]


class Sample(NamedTuple):
    """The examples that originals are."""

    ids: pl.Series
    tags: pl.Series
    clusters: pl.Series | None
    """The data set's clusters; None where it has none."""
    counted: Mask
    """Whether an example's prediction counts."""

    def units(self, seed: int) -> Units:
        """Say what is drawn, and what changes sides: examples, or clusters of them."""
        clusters = None if self.clusters is None else self.clusters.to_numpy()
        return Units(self.ids.to_list(), clusters, seed)


class Pairs:
    """The perturbed examples of all perturbations, one after the other.

    Args:
        parts: The perturbed examples of each perturbation.
        counted: The statuses of examples that scores are about.
        sample: The examples that are evaluated.

    Attributes:
        sample: The same.
        originals: Position of the original of each pair.
        tags: The tags of the perturbed example of each pair.
        counted: Whether the prediction for the perturbed example counts.
        starts: The number of the first pair of each perturbation.
    """

    def __init__(
        self, parts: Sequence[Perturbed], counted: Sequence[str], sample: Sample
    ) -> None:
        self.sample = sample
        self.originals: Integers = np.concatenate([each.originals for each in parts])
        self.tags = pl.concat([each.examples.frame["tags"] for each in parts])
        statuses = pl.concat([each.alignment.statuses for each in parts])
        self.counted: Mask = statuses.is_in(list(counted)).to_numpy()
        self._names = np.repeat(
            np.arange(len(parts)), [len(each.originals) for each in parts]
        )
        self._parts = [each.name for each in parts]
        sizes = [len(each.originals) for each in parts]
        self.starts: list[int] = [0, *np.cumsum(sizes)[:-1].tolist()]

    @property
    def size(self) -> int:
        """How many pairs there are."""
        return len(self.originals)

    def made_by(self, perturbations: Sequence[str]) -> Mask:
        """Tell which examples some perturbations made."""
        numbers = [self._parts.index(name) for name in perturbations]
        made: Mask = np.isin(self._names, numbers)
        return made


class Rows(NamedTuple):
    """What a mean is over: one row for each original in each group."""

    group: Integers
    original: Integers
    value: Floats
    offered: Integers
    """How many pairs, or originals, each group has, by number; of which some may have
    no value."""
    used: Integers
    """How many of them took part."""

    @property
    def by_group(self) -> list[Integers]:
        """The numbers of the rows of each group."""
        order = np.argsort(self.group, kind="stable")
        ends = np.searchsorted(self.group[order], np.arange(1, len(self.offered)))
        return np.split(order, ends)


class PairGroups:
    """The groups of some of the pairs.

    Args:
        pairs: All pairs.
        chosen: Which of them are in the groups.

    Attributes:
        pairs: The same.
        tags: The tag of each group by number; None for all of the pairs.
        pair: The pair of each membership.
        group: The group of each membership.
        original: The original of each membership.
    """

    def __init__(self, pairs: Pairs, chosen: Mask) -> None:
        self.pairs = pairs
        numbers = np.flatnonzero(chosen)
        groups = group_by_tag(pairs.tags.gather(numbers))
        self.tags = groups.tags
        self.pair: Integers = numbers[groups.position]
        self.group: Integers = groups.group.astype(np.int64)
        self.original: Integers = pairs.originals[self.pair]

    @cached_property
    def once(self) -> Integers:
        """One membership of each original in each group."""
        code = self.group * np.int64(len(self.pairs.sample.ids)) + self.original
        first: Integers = np.unique(code, return_index=True)[1]
        return first

    def rows(
        self, values: Floats, chosen: Mask | None = None, reduction: Reduction = "mean"
    ) -> Rows:
        """Make one row of the values of each original's perturbed examples."""
        offered = None if chosen is None else chosen[self.pair]
        found = self.group, self.original, values[self.pair]
        return self._rows(*found, offered, reduction)

    def rows_of_originals(self, values: Floats) -> Rows:
        """Make rows of the values of the originals that have a pair."""
        original = self.original[self.once]
        return self._rows(self.group[self.once], original, values[original])

    def _rows(
        self,
        group: Integers,
        original: Integers,
        value: Floats,
        offered: Mask | None = None,
        reduction: Reduction = "mean",
    ) -> Rows:
        used = np.isfinite(value)
        if offered is not None:
            used &= offered
        sizes = np.bincount(
            group if offered is None else group[offered], minlength=len(self.tags)
        )
        taken = np.bincount(group[used], minlength=len(self.tags))
        found = group[used], original[used], value[used]
        reduced = reduce_values(*found, len(self.pairs.sample.ids), reduction)
        return Rows(*reduced, sizes, taken)


def reduce_values(
    group: Integers,
    original: Integers,
    value: Floats,
    examples: int,
    reduction: Reduction,
) -> tuple[Integers, Integers, Floats]:
    """Make one value of those of each original in each group."""
    code = group * np.int64(max(examples, 1)) + original
    # sorted by value, so that rounding does not depend on the order of copies
    order = np.lexsort((value, code))
    code, value = code[order], value[order]
    if not len(code):
        return group, original, value
    first = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]]))
    if reduction == "least":
        value = value[first]
    elif reduction == "greatest":
        value = value[np.append(first[1:], len(value)) - 1]
    else:
        counts = np.diff(np.append(first, len(value)))
        value = np.add.reduceat(value, first) / counts
    chosen = order[first]
    return group[chosen], original[chosen], value
