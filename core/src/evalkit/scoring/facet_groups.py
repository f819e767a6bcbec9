"""The groups of a facet or crossing that have a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evalkit.base.wording import count_of
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.records import GroupScore
from evalkit.statistics.clusters import MOST_OF_ONE


class FacetGroups(NamedTuple):
    """Some groups of a facet, and what examples they have together."""

    name: str
    groups: tuple[int, ...]
    left_out: int
    """How many groups of the facet are not among them."""
    n: int
    """How many distinct examples they have."""
    n_clusters: int | None
    is_disjoint: bool
    """Whether each unit (cluster, or else example) is in one of the groups."""
    has_disjoint_examples: bool
    """Whether each example is in one of the groups."""
    large_clusters: int = 0
    """How many of the groups have one cluster that their interval depends much on."""

    def flag(self, text: str | None = None, has_interval: bool = False) -> str | None:
        """Return what a reader should know, and how many groups are left out.

        Args:
            text: What else is to be said, or None.
            has_interval: Whether there is an interval that all groups have a part in,
                of which it is said when one cluster is large.

        Returns:
            The parts, separated by semicolons; None where there are none.
        """
        groups = count_of(self.left_out, "group")
        left_out = f"{groups} left out" if self.left_out else None
        warning = None
        if has_interval and self.large_clusters:
            warning = (
                f"in {self.large_clusters} of the {len(self.groups)} groups one "
                f"cluster has {100 * MOST_OF_ONE:g} % or more of the examples, and the "
                "interval may depend heavily on it"
            )
        return "; ".join(filter(None, [text, warning, left_out])) or None


def facet_groups(
    evidence: Evidence,
    name: str,
    numbers: Sequence[int],
    main: Mapping[int, GroupScore],
    fewest: int = 1,
) -> FacetGroups:
    """Choose the groups of a facet that have a value and enough examples.

    Args:
        evidence: What the scores were computed from.
        name: The facet or crossing.
        numbers: Its groups.
        main: The main score of each group.
        fewest: How many examples a group must have.

    Returns:
        Those groups.
    """
    chosen = tuple(
        number
        for number in numbers
        if number in main
        and main[number].value is not None
        and main[number].n >= fewest
    )
    groups = evidence.groups
    is_inside = np.zeros(len(groups.times), dtype=bool)
    for group in chosen:
        is_inside[groups.entries_of(group)] = True
    n, clusters = int(groups.times[is_inside].sum()), None
    if evidence.clustered:
        positions = np.flatnonzero(np.repeat(is_inside, groups.times))
        clusters = evidence.units.count_of(positions)
    has_disjoint_examples = int(evidence.n[list(chosen)].sum()) == n
    is_disjoint = has_disjoint_examples
    if clusters is not None:
        is_disjoint = sum(evidence.n_clusters(g) or 0 for g in chosen) == clusters
    left_out = len(numbers) - len(chosen)
    sizes = [main[number].cluster_sizes for number in chosen]
    large = sum(bool(found and found.warning) for found in sizes)
    return FacetGroups(
        *(name, chosen, left_out, n, clusters),
        *(is_disjoint, has_disjoint_examples, large),
    )
