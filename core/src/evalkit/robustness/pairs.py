"""The table of pairs of a copy and its original, in groups.

A tag's group holds the copies that have the tag, and an original takes part in it
through these copies. With weights per original, the copies of an original that are in a
group become one value, so that an original with many copies counts no more than one
with a single copy, and the rows of a mean are originals. With weights per copy its rows
are pairs, and the originals are their clusters where some have several copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.terms import Weight
from evalkit.inference.intervals import Floats, Integers
from evalkit.inference.resampling import Units, unit_keys
from evalkit.robustness.copies import Copies
from evalkit.scoring.grouping import group_by_tag

Reduction = Literal["mean", "least", "greatest"]
"""What several copies of an original become."""

Mask = NDArray[np.bool_]


class PerturbedSample(NamedTuple):
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
    """The copies of all files, one after the other, with their originals.

    Args:
        copies: The files.
        counted: The statuses of copies that scores are about.
        sample: The examples that are evaluated.

    Attributes:
        sample: The same.
        originals: Position of the original of each pair.
        perturbations: What made the copy of each pair.
        tags: The tags of the copy of each pair.
        counted: Whether the prediction for the copy counts.
        starts: The number of the first pair of each file.
    """

    def __init__(
        self, copies: Sequence[Copies], counted: Sequence[str], sample: PerturbedSample
    ) -> None:
        self.sample = sample
        self.originals: Integers = np.concatenate([each.originals for each in copies])
        self.perturbations = pl.concat([each.perturbations for each in copies])
        self.tags = pl.concat([each.examples.frame["tags"] for each in copies])
        statuses = pl.concat([each.alignment.statuses for each in copies])
        self.counted: Mask = statuses.is_in(list(counted)).to_numpy()
        sizes = [len(each.originals) for each in copies]
        self.starts: list[int] = [0, *np.cumsum(sizes)[:-1].tolist()]

    @property
    def size(self) -> int:
        """How many pairs there are."""
        return len(self.originals)

    def made_by(self, perturbations: Sequence[str]) -> Mask:
        """Tell which copies some perturbations made."""
        made: Mask = self.perturbations.is_in(list(perturbations)).to_numpy()
        return made

    @cached_property
    def original_keys(self) -> NDArray[np.uint64]:
        """A number for each example that depends on its id alone."""
        return unit_keys(self.sample.ids, 0)


class Rows(NamedTuple):
    """What a mean is over: one row for each original, or pair, in each group."""

    group: Integers
    original: Integers
    value: Floats
    offered: Integers
    """How many pairs, or originals, each group has, by number; of which some may have
    no value."""
    used: Integers
    """How many of them took part."""
    are_originals: bool
    """Whether each original has one row in a group."""

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
        weight: What counts the same.

    Attributes:
        pairs: The same.
        tags: The tag of each group by number; None for all of the pairs.
        pair: The pair of each membership.
        group: The group of each membership.
        original: The original of each membership.
        by_original: Whether the rows of a mean are originals.
    """

    def __init__(self, pairs: Pairs, chosen: Mask, weight: Weight) -> None:
        self.pairs = pairs
        numbers = np.flatnonzero(chosen)
        groups = group_by_tag(pairs.tags.gather(numbers))
        self.tags = groups.tags
        self.pair: Integers = numbers[groups.position]
        self.group: Integers = groups.group.astype(np.int64)
        self.original: Integers = pairs.originals[self.pair]
        several = len(np.unique(pairs.originals[numbers])) < len(numbers)
        self.by_original = weight == "original" or not several

    @cached_property
    def once(self) -> Integers:
        """The memberships of originals: where rows are originals, one in each group."""
        if not self.by_original:
            return np.arange(len(self.group))
        code = self.group * np.int64(len(self.pairs.sample.ids)) + self.original
        first: Integers = np.unique(code, return_index=True)[1]
        return first

    def rows(
        self, values: Floats, chosen: Mask | None = None, reduction: Reduction = "mean"
    ) -> Rows:
        """Make rows of the values of pairs; those of one original become one value.

        Args:
            values: The value of each pair, of shape (pairs,); NaN for none.
            chosen: Which pairs could have a value, for the coverage; all by default.
            reduction: What the values of an original become: with weights per original
                their mean; their least or greatest whatever the weight.

        Returns:
            The rows.
        """
        offered = None if chosen is None else chosen[self.pair]
        found = self.group, self.original, values[self.pair]
        return self._rows(*found, offered, reduction)

    def rows_of_originals(self, values: Floats) -> Rows:
        """Make rows of the values of the originals that have a pair.

        Args:
            values: The value of each original, of shape (examples,); NaN for none.

        Returns:
            The rows.
        """
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
        are_originals = self.by_original or reduction != "mean"
        found = group[used], original[used], value[used]
        if are_originals:
            found = reduce_values(*found, len(self.pairs.sample.ids), reduction)
        return Rows(*found, sizes, taken, are_originals)


def reduce_values(
    group: Integers,
    original: Integers,
    value: Floats,
    examples: int,
    reduction: Reduction,
) -> tuple[Integers, Integers, Floats]:
    """Make one value of those of each original in each group.

    Args:
        group: The group of each value.
        original: The original of each value, below `examples`.
        value: The values.
        examples: How many originals there may be.
        reduction: What they become.

    Returns:
        Group, original and value, sorted by the first two.
    """
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
