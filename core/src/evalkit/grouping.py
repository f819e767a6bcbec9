"""Groups of examples: the whole set and every tag are groups alike."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

WHOLE = 0
"""Number of the group that holds every example."""


class Groups(NamedTuple):
    """Which examples belong to which group."""

    tags: tuple[str | None, ...]
    """The tag of each group by number; None for the whole set, which is number 0."""
    members: pl.DataFrame
    """Columns `position` (of the example) and `group`, one row a membership."""
    sizes: tuple[int, ...]
    """How many examples each group has, by number."""


def group_by_tag(tags: pl.Series) -> Groups:
    """Make the groups of a set of examples.

    Args:
        tags: One list of texts for each example, each text once.

    Returns:
        The whole set as group 0, then one group for each tag, sorted by text.
    """
    positions = pl.DataFrame(
        {"position": pl.Series(range(len(tags)), dtype=pl.UInt32), "tag": tags}
    )
    exploded = positions.explode("tag").drop_nulls("tag")
    names = sorted(exploded["tag"].unique())
    numbers = pl.DataFrame(
        {
            "tag": pl.Series(names, dtype=pl.String),
            "group": pl.Series(range(1, len(names) + 1), dtype=pl.UInt32),
        }
    )
    tagged = exploded.join(numbers, on="tag", maintain_order="left")
    whole = positions.select("position", pl.lit(WHOLE, dtype=pl.UInt32).alias("group"))
    members = pl.concat([whole, tagged.select("position", "group")])
    counts = dict(members["group"].value_counts().iter_rows())
    sizes = tuple(counts.get(number, 0) for number in range(len(names) + 1))
    return Groups((None, *names), members, sizes)
