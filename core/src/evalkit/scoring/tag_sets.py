"""Groups of examples: the whole set, tags, and crossings of facets and columns.

An example has a set of tags, and sets are numbered: what belongs to a group follows
from the numbers of its sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit.base.names import facet_of
from evalkit.scoring.grouping import UNTAGGED as SHOWN_UNTAGGED
from evalkit.scoring.grouping import Groups, Positions
from evalkit.scoring.numbering import (
    Codes,
    Ragged,
    expanded,
    joined,
    number_rows,
    number_sequences,
)

TAGS = ""
"""What tags are grouped by, as `--by` names crossings."""

_SCHEMA = {"by": pl.String, "tag": pl.String}


class Group(NamedTuple):
    """Name of a group."""

    by: str | None = None
    """`TAGS` or the name of a crossing; None for the whole set."""
    tag: str | None = None
    """The tag; None for the whole set, and for the examples without a tag."""


WHOLE = Group()
UNTAGGED = Group(TAGS)


@dataclass(frozen=True)
class TagSets:
    """The distinct sets of tags of examples, sorted by content."""

    items: pl.DataFrame
    """The distinct tags, sorted: `by` and `tag`."""
    sequences: Ragged
    """The numbers of the tags of each set, sorted."""

    def __len__(self) -> int:
        """Return the number of sets."""
        return len(self.sequences.lengths)

    @cached_property
    def names(self) -> list[Group]:
        """The groups: the whole set, tags, examples without a tag, crossings."""
        groups = [Group(*row) for row in self.items.iter_rows()]
        tags = [group for group in groups if group.by == TAGS]
        untagged = [UNTAGGED] if tags and not self._has_tag.all() else []
        return [WHOLE, *tags, *untagged, *groups[len(tags) :]]

    @cached_property
    def _has_tag(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        is_tag = (self.items["by"] == TAGS).to_numpy()
        owners = self.sequences.owners()[is_tag[self.sequences.items]]
        has_tag = np.zeros(len(self), dtype=bool)
        has_tag[owners] = True
        return has_tag

    @cached_property
    def groups(self) -> Ragged:
        """The numbers of the groups of each set."""
        tags = int((self.items["by"] == TAGS).sum())
        items, lengths = self.sequences
        is_untagged = ~self._has_tag & (UNTAGGED in self.names)
        # tags come before crossings, and the group of the untagged stands between them
        before = 1 + is_untagged.astype(np.int64)
        starts = np.cumsum(lengths + before) - (lengths + before)
        groups = np.zeros(len(items) + int(before.sum()), dtype=np.int64)
        groups[starts[is_untagged] + 1] = tags + 1
        shift = (items >= tags) & (UNTAGGED in self.names)
        groups[expanded(starts + before, lengths)] = items + 1 + shift
        return Ragged(groups, lengths + before)

    @cached_property
    def whole(self) -> TagSets:
        """The same sets without tags, so that the whole set is the only group."""
        nothing = np.zeros(len(self), dtype=np.int64)
        return TagSets(pl.DataFrame(schema=_SCHEMA), Ragged(nothing[:0], nothing))

    @cached_property
    def texts(self) -> tuple[str | None, ...]:
        """The groups as they are shown."""
        untagged = {UNTAGGED: SHOWN_UNTAGGED}
        return tuple(untagged.get(group, group.tag) for group in self.names)

    @cached_property
    def facets(self) -> dict[str, tuple[int, ...]]:
        """The numbers of the groups of each facet and crossing."""
        facets: dict[str, list[int]] = {}
        for number, group in enumerate(self.names):
            name = group.by
            if group.by == TAGS and group.tag is not None:
                name = (facet_of(group.tag) or (None,))[0]
            if name:
                facets.setdefault(name, []).append(number)
        return {name: tuple(numbers) for name, numbers in facets.items()}


def number_tag_sets(
    tags: pl.Series, crossings: Mapping[str, pl.Series] | None = None
) -> tuple[TagSets, Codes]:
    """Number the sets of tags of examples.

    Args:
        tags: One list of texts for each example.
        crossings: Further lists of texts, by the name of what they cross.

    Returns:
        The sets, and the number of each example's own.
    """
    owners, codes, frames = [], [], [pl.DataFrame(schema=_SCHEMA)]
    count = 0
    for by, lists in sorted({TAGS: tags, **(crossings or {})}.items()):
        lengths = lists.list.len().fill_null(0).to_numpy()
        texts = lists.explode(empty_as_null=False, keep_nulls=False).cast(pl.String)
        owner = np.repeat(np.arange(len(lists)), lengths)
        if texts.null_count():
            owner = owner[texts.is_not_null().to_numpy()]
        own, distinct = number_rows(texts.drop_nulls().alias("tag").to_frame())
        owners.append(owner)
        codes.append(own + count)
        count += distinct.height
        frames.append(distinct.select(pl.lit(by).alias("by"), "tag"))
    items = pl.concat(frames)
    sequences, numbers = _number_sets(
        np.concatenate(owners), np.concatenate(codes), len(items), len(tags)
    )
    return TagSets(items, sequences), numbers


def _number_sets(
    owner: Codes | Positions, code: Codes | Positions, count: int, examples: int
) -> tuple[Ragged, Codes]:
    """Number the sets that some numbers below `count` make of each example."""
    keys = owner.astype(np.int64)
    keys *= max(1, count)
    keys += code
    # sorted but for the order within a row, which takes a stable sort no time
    keys.sort(kind="stable")
    if (keys[1:] == keys[:-1]).any():
        keys = np.unique(keys)
        owner = keys // max(1, count)
    lengths = np.bincount(owner, minlength=examples).astype(np.int64)
    keys %= max(1, count)  # in place, as large arrays take time to make
    sequences = Ragged(keys, lengths)
    numbers, places = number_sequences(sequences)
    return sequences.take(places), numbers


@dataclass(frozen=True)
class GroupSets(TagSets):
    """The distinct sets of groups of examples."""

    known: Groups

    @cached_property
    def groups(self) -> Ragged:
        """The numbers of the groups of each set."""
        return self.sequences

    @cached_property
    def texts(self) -> tuple[str | None, ...]:
        """The groups as they are shown."""
        return self.known.tags

    @cached_property
    def facets(self) -> dict[str, tuple[int, ...]]:
        """The numbers of the groups of each facet and crossing."""
        return dict(self.known.facets)


def number_groups(
    groups: Groups, answers: int, repeats: int
) -> tuple[GroupSets, Codes]:
    """Number the sets of groups of examples.

    Args:
        groups: The groups of all answers.
        answers: How many answers there are.
        repeats: How many of them each example has.

    Returns:
        The sets, and the number of each example's own.
    """
    position, group = groups.position, groups.group
    if repeats > 1:
        is_first = position % repeats == 0
        position, group = position[is_first] // repeats, group[is_first]
    count = len(groups.tags), answers // repeats
    sequences, numbers = _number_sets(position, group, *count)
    return GroupSets(pl.DataFrame(schema=_SCHEMA), sequences, groups), numbers


def merge_tag_sets(parts: Sequence[TagSets]) -> tuple[TagSets, list[Codes]]:
    """Number the sets of several parts together.

    Args:
        parts: The sets of each part; at least one.

    Returns:
        The sets, and for each part the new numbers of its own.
    """
    codes, items = number_rows(pl.concat([part.items for part in parts]))
    shifts = np.cumsum([0, *(part.items.height for part in parts)])
    sequences = joined(
        [
            part.sequences._replace(items=codes[part.sequences.items + shift])
            for part, shift in zip(parts, shifts.tolist(), strict=False)
        ]
    )
    numbers, first = number_sequences(sequences)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    return TagSets(items, sequences.take(first)), list(np.split(numbers, ends))
