"""Groups of examples: the whole set, tags, and crossings of facets and columns.

An example has a set of tags, and sets are numbered: what belongs to a group follows
from the numbers of its sets.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.base.columns import encode, native, unnamed
from evalkit.base.names import facet_of, unused_name
from evalkit.base.wording import count_of, did_you_mean
from evalkit.errors import EvalkitError
from evalkit.scoring.numbering import (
    Codes,
    Ragged,
    expanded,
    merge_sequences,
    number_rows,
    number_sequences,
)
from evalkit.statistics.clusters import Floats

WHOLE = 0
"""Number of the group that holds every example."""

UNTAGGED = "(untagged)"
"""Tag of the group of examples without a tag, where others have one."""

Positions = NDArray[np.uint32]


TAGS = ""
"""What tags are grouped by, as `--by` names crossings."""

_SCHEMA = {"by": pl.String, "tag": pl.String}


class Group(NamedTuple):
    """Name of a group."""

    by: str | None = None
    """`TAGS` or the name of a crossing; None for the whole set."""
    tag: str | None = None
    """The tag; None for the whole set, and for the examples without a tag."""


class Whole(NamedTuple):
    """What is known of all examples where some of them are crossed."""

    facets: Sequence[str]
    edges: Mapping[str, Floats]
    """What `bin_edges` returns, by column of numbers."""


_WHOLE = Group()
_UNTAGGED = Group(TAGS)


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
        return self.position[np.argsort(numbers, kind="stable")], np.cumsum(self.sizes)

    def positions_of(self, group: int) -> Positions:
        """Return the positions of a group's examples, in their order."""
        positions, ends = self._sorted
        return positions[(ends[group - 1] if group else 0) : ends[group]]


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
        untagged = [_UNTAGGED] if tags and not self._has_tag.all() else []
        return [_WHOLE, *tags, *untagged, *groups[len(tags) :]]

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
        is_untagged = ~self._has_tag & (_UNTAGGED in self.names)
        # tags come before crossings, and the group of the untagged stands between them
        before = 1 + is_untagged.astype(np.int64)
        starts = np.cumsum(lengths + before) - (lengths + before)
        groups = np.zeros(len(items) + int(before.sum()), dtype=np.int64)
        groups[starts[is_untagged] + 1] = tags + 1
        shift = (items >= tags) & (_UNTAGGED in self.names)
        groups[expanded(starts + before, lengths)] = items + 1 + shift
        return Ragged(groups, lengths + before)

    @cached_property
    def whole(self) -> TagSets:
        """The same sets without tags, so that the whole set is the only group."""
        nothing = np.zeros(len(self), dtype=np.int64)
        return TagSets(pl.DataFrame(schema=_SCHEMA), Ragged(nothing[:0], nothing))

    @cached_property
    def texts(self) -> tuple[str | None, ...]:
        """The groups as they are shown, each by another text."""
        texts: dict[str | None, None] = {}
        for group in self.names:
            text = UNTAGGED if group == _UNTAGGED else group.tag
            texts[unused_name(text, texts) if text else text] = None
        return tuple(texts)

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
    """Number the sets of tags of examples."""
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


def group_by_tag(
    tags: pl.Series, crossings: Mapping[str, pl.Series] | None = None
) -> Groups:
    """Make the groups of a set of examples.

    Args:
        tags: One list of texts for each example.
        crossings: Further lists of texts, by the name of what they cross.

    Returns:
        The whole set as group 0, then one group for each tag, sorted by text, then
        that of the examples without a tag, then the groups of each crossing.
    """
    sets, numbers = number_tag_sets(tags, crossings)
    group, lengths = sets.groups.take(numbers)
    position = np.repeat(np.arange(len(tags), dtype=np.uint32), lengths)
    return Groups(sets.texts, position, group.astype(np.uint32), sets.facets)


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
    """Number the sets of groups of examples."""
    position, group = groups.position, groups.group
    if repeats > 1:
        is_first = position % repeats == 0
        position, group = position[is_first] // repeats, group[is_first]
    count = len(groups.tags), answers // repeats
    sequences, numbers = _number_sets(position, group, *count)
    return GroupSets(pl.DataFrame(schema=_SCHEMA), sequences, groups), numbers


def merge_tag_sets(parts: Sequence[TagSets]) -> tuple[TagSets, list[Codes]]:
    """Number the sets of several parts together."""
    codes, items = number_rows(pl.concat([part.items for part in parts]))
    sizes = [part.items.height for part in parts]
    sets = [part.sequences for part in parts]
    sequences, numbers = merge_sequences(sets, sizes, codes)
    return TagSets(items, sequences), numbers


BINS = 4
"""Parts of about equal size that a column of many numbers is cut into."""

MOST_GROUPS = 5_000
"""Groups of a crossing beyond which it is refused."""

NONE = "(none)"
"""Value of an example that has none."""

_FEWEST_DIGITS = 6

_FEW_NUMBERS = 10
"""Distinct numbers up to which each is a group of its own."""


def read_crossings(given: Sequence[str]) -> dict[str, list[str]]:
    """Read the facets and columns that a user wants crossed, joined by commas.

    The names of each crossing are returned by the text that names it.
    """
    crossings = {}
    for text in given:
        names = [name.strip() for name in text.split(",")]
        if "" in names or len(set(names)) < len(names):
            raise EvalkitError(
                f"--by {text!r}: must name different facets or columns, with commas "
                "between them"
            )
        crossings[",".join(names)] = names
    return crossings


def cross(
    crossings: Mapping[str, Sequence[str]],
    tags: pl.Series,
    columns: Mapping[str, pl.Series],
    others: Iterable[str] = (),
    withheld: Container[str] = (),
    whole: Whole | None = None,
) -> dict[str, pl.Series]:
    """Return the groups that each example belongs to, by crossing.

    That is one list of texts for each example, such as `["facet:a & column:b"]`. A name
    means a facet, or else a column. Crossings of a single facet are left out, because
    its tags are groups anyway. `others` are further columns that could have been named;
    `withheld` are those that may not, as groups hold their values. `whole` is known of
    all examples where these are some of them.
    """
    known = facets_of(tags) if whole is None else whole.facets
    edges: Mapping[str, Floats] = {} if whole is None else whole.edges
    found = {}
    for crossing, names in crossings.items():
        if len(names) == 1 and names[0] in known:
            continue
        for name in names:
            if name not in known and name not in columns:
                raise _unknown(crossing, name, [*known, *sorted({*columns, *others})])
            if name not in known and name in withheld:
                raise EvalkitError(
                    f"--by {crossing}: groups by {name!r} would be named after answers "
                    "or responses, which --no-examples leaves out of the run; leave "
                    "out one of the two"
                )
        parts = [_part(name, tags, known, columns, edges) for name in names]
        lists = parts[0]
        for part in parts[1:]:
            lists = _product(lists, part)
        groups = lists.explode().n_unique()
        if groups > MOST_GROUPS:
            raise EvalkitError(
                f"--by {crossing}: makes {count_of(groups, 'group')}, more than "
                f"{MOST_GROUPS}"
            )
        found[crossing] = lists
    return found


def facets_of(tags: pl.Series) -> list[str]:
    """Return the facets of the tags of examples."""
    names = tags.explode().drop_nulls().unique().to_list()
    return sorted({faceted[0] for tag in names if (faceted := facet_of(tag))})


def _unknown(crossing: str, name: str, known: Sequence[str]) -> EvalkitError:
    """Say that a name is no facet and no column, and which one may be meant."""
    names = list(dict.fromkeys(known))
    return EvalkitError(
        f"--by {crossing}: {name!r} is no facet of the tags and no column; there are: "
        f"{', '.join(names) or 'none'}{did_you_mean(name, names)}"
    )


def _part(
    name: str,
    tags: pl.Series,
    facets: Sequence[str],
    columns: Mapping[str, pl.Series],
    edges: Mapping[str, Floats],
) -> pl.Series:
    if name in facets:
        # as in a facet: no blank follows the colon
        lists = tags.list.eval(
            pl.element().filter(pl.element().str.contains(rf"^{name}:\S"))
        )
        none = unused_name(NONE, {*lists.explode().str.slice(len(name) + 1)})
        is_empty = lists.list.len().fill_null(0) == 0
        nothing = pl.Series([[f"{name}:{none}"]], dtype=pl.List(pl.String))
        return lists.zip_with(~is_empty, nothing.new_from_index(0, len(lists)))
    labels = _labels(unnamed(columns[name]), edges.get(name))
    labels = (f"{name}:" + labels).rename("part")
    return labels.to_frame().select(pl.concat_list("part")).to_series()


def _labels(column: pl.Series, edges: Floats | None) -> pl.Series:
    """Return a text for each value; for many numbers that of the bin it is in."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype.is_numeric():
        edges = bin_edges(column.value_counts()) if edges is None else edges
        if len(edges):
            return _binned(column.cast(pl.Float64), edges)
    texts = [None if value is None else encode(native(value)) for value in column]
    labels = pl.Series(texts, dtype=pl.String)
    return labels.fill_null(unused_name(NONE, {*labels}))


def bin_edges(times: pl.DataFrame) -> Floats:
    """Return what cuts numbers into parts of about equal size; nothing for few.

    Args:
        times: The distinct numbers, and how often each is there (`count`).
    """
    if times.height <= _FEW_NUMBERS:
        return np.empty(0)
    values = times.to_series().cast(pl.Float64).fill_null(math.nan).to_numpy()
    is_finite = np.isfinite(values)
    finite = np.repeat(values[is_finite], times["count"].to_numpy()[is_finite])
    edges: Floats = np.unique(np.quantile(finite, np.linspace(0, 1, BINS + 1)[1:-1]))
    return edges


def _binned(numbers: pl.Series, edges: Floats) -> pl.Series:
    """Name the bins that numbers are in."""
    values = numbers.fill_null(math.nan).to_numpy()
    places = np.searchsorted(edges, values, side="right")
    shown = _shown(edges)
    names = [
        f"below {shown[0]}",
        *(f"{low} to below {high}" for low, high in pairwise(shown)),
        f"{shown[-1]} or more",
    ]
    texts = [
        NONE if math.isnan(value) else names[place]
        for place, value in zip(places, values, strict=True)
    ]
    return pl.Series(texts, dtype=pl.String)


def _shown(edges: Floats) -> list[str]:
    """Write numbers with as few digits as tell them apart, six at least."""
    # 17 digits tell any two apart
    attempts = (
        [f"{edge:.{digits}g}" for edge in edges] for digits in range(_FEWEST_DIGITS, 18)
    )
    return next(texts for texts in attempts if len(set(texts)) == len(texts))


def _product(first: pl.Series, second: pl.Series) -> pl.Series:
    frame = pl.DataFrame({"first": first, "second": second}).with_row_index("row")
    joined = (
        frame.explode("first")
        .explode("second")
        .group_by("row", maintain_order=True)
        .agg(pl.concat_str("first", "second", separator=" & ").alias("both"))
    )
    return joined["both"]
