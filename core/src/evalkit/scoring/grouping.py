"""Groups of examples: the whole set, every tag and every crossing are groups alike."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.names import facet_of

WHOLE = 0
"""Number of the group that holds every example."""

UNTAGGED = "(untagged)"
"""Tag of the group of examples without a tag, where others have one."""

Positions = NDArray[np.uint32]


@dataclass(frozen=True)
class Groups:
    """Which examples belong to which group."""

    tags: tuple[str | None, ...]
    """The tag of each group by number; None for the whole set, which is number 0."""
    position: Positions
    """Position of the example of each membership."""
    group: Positions
    """Number of the group of each membership."""
    facets: Mapping[str, tuple[int, ...]]
    """The groups of each facet and crossing, by its name."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many examples each group has, by number."""
        return tuple(np.bincount(self.group, minlength=len(self.tags)).tolist())

    def of(self, whole_only: bool) -> Groups:
        """Return these groups, or the whole set alone."""
        if not whole_only:
            return self
        everyone = self.group == WHOLE
        return Groups((None,), self.position[everyone], self.group[everyone], {})

    @cached_property
    def members(self) -> pl.DataFrame:
        """Columns `position` and `group`, one row a membership."""
        return pl.DataFrame({"position": self.position, "group": self.group})

    @cached_property
    def _sorted(self) -> tuple[Positions, NDArray[np.int64]]:
        # small integers are sorted by their digits, which is many times as fast
        small = len(self.tags) <= np.iinfo(np.uint16).max
        numbers = self.group.astype(np.uint16) if small else self.group
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(self.sizes)
        return self.position[order], ends

    def positions_of(self, group: int) -> Positions:
        """Return the positions of a group's examples, in their order."""
        positions, ends = self._sorted
        start = ends[group - 1] if group else 0
        return positions[start : ends[group]]


def group_by_tag(
    tags: pl.Series, crossings: Mapping[str, pl.Series] | None = None
) -> Groups:
    """Make the groups of a set of examples.

    Args:
        tags: One list of texts for each example, each text once.
        crossings: Further lists of texts, by the name of what they cross.

    Returns:
        The whole set as group 0, then one group for each tag, sorted by text, then
        that of the examples without a tag, then the groups of each crossing.
    """
    count = len(tags)
    everyone = np.arange(count, dtype=np.uint32)
    names: list[str | None] = [None]
    position = [everyone]
    group = [np.full(count, WHOLE, dtype=np.uint32)]
    facets: dict[str, list[int]] = {}
    tag_names, tag_position, tag_code = _exploded(tags)
    for number, tag in enumerate(tag_names, start=1):
        faceted = facet_of(tag)
        if faceted is not None:
            facets.setdefault(faceted[0], []).append(number)
    names += tag_names
    position.append(tag_position)
    group.append(tag_code + np.uint32(1))
    is_tagged = np.zeros(count, dtype=bool)
    is_tagged[tag_position] = True
    untagged = everyone[~is_tagged]
    if tag_names and len(untagged):
        position.append(untagged)
        group.append(np.full(len(untagged), len(names), dtype=np.uint32))
        names.append(unused_name(UNTAGGED, tag_names))
    for crossing, lists in (crossings or {}).items():
        crossed, crossed_position, code = _exploded(lists)
        facets[crossing] = list(range(len(names), len(names) + len(crossed)))
        position.append(crossed_position)
        group.append(code + np.uint32(len(names)))
        taken = {*names}
        names += [unused_name(name, taken) for name in crossed]
    return Groups(
        tuple(names),
        np.concatenate(position),
        np.concatenate(group),
        {facet: tuple(numbers) for facet, numbers in facets.items()},
    )


def unused_name(name: str, taken: Container[str | None]) -> str:
    """Put a name in as many parentheses as it takes to differ from all others."""
    while name in taken:
        name = f"({name})"
    return name


def _exploded(lists: pl.Series) -> tuple[Sequence[str], Positions, Positions]:
    """Return the texts, sorted, and position and number of the text of each item."""
    lengths = lists.list.len().fill_null(0).to_numpy()
    position = np.repeat(np.arange(len(lists), dtype=np.uint32), lengths)
    items = lists.explode(empty_as_null=False, keep_nulls=False).cast(pl.String)
    if items.null_count():
        position = position[items.is_not_null().to_numpy()]
        items = items.drop_nulls()
    codes = items.cast(pl.Categorical).to_physical().to_numpy()
    used, first = _used(codes)
    texts = items.gather(first).to_list()
    order = sorted(range(len(texts)), key=texts.__getitem__)
    numbers = np.zeros(int(used.max()) + 1 if len(used) else 1, dtype=np.uint32)
    numbers[used[order]] = np.arange(len(order), dtype=np.uint32)
    return [texts[index] for index in order], position, numbers[codes]


def _used(codes: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the codes that occur, and where; without sorting them all."""
    first = np.full(int(codes.max(initial=0)) + 1, -1, dtype=np.int64)
    first[codes] = np.arange(len(codes))
    used = np.flatnonzero(first >= 0)
    return used, first[used]
