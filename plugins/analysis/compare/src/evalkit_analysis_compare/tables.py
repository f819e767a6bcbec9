"""Lines up what a metric scores in two runs, for metrics of whole sets."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit.runs.tables import stored_scoring_table
from evalkit.scoring import Groups, ScoringTable
from evalkit.scoring.table import joined_replications
from evalkit.statistics.clusters import ClusterSizes, Integers, describe_sizes
from evalkit_analysis_compare.differences import count_clusters, members_of
from evalkit_analysis_compare.pairing import PairedRuns


class Side:
    """One of two runs: what a metric scores, and which example each row is about.

    `rows` has `position`, `example` and `replication` of each row of `table`.
    """

    def __init__(self, table: ScoringTable, rows: pl.DataFrame) -> None:
        frame = table.frame.join(rows.select("position"), on="position", how="semi")
        self.table = table._replace(frame=frame)
        self.rows = rows
        self.repeats = max(1, rows["replication"].n_unique())
        greatest = rows["replication"].max()
        self.replications = 1 + int(greatest) if isinstance(greatest, int) else 1

    @property
    def answers(self) -> set[tuple[int, int]]:
        """Which replications of which examples there are."""
        return set(self.rows.select("example", "replication").iter_rows())

    def groups(self, examples: list[Integers]) -> Groups:
        """Return the rows of each group of examples, by replication."""
        sizes = [len(part) for part in examples]
        members = pl.DataFrame(
            {
                "example": np.concatenate(examples),
                "group": np.repeat(np.arange(len(sizes)), sizes) * self.replications,
            }
        ).join(self.rows, on="example", maintain_order="left")
        position = members["position"].to_numpy().astype(np.uint32)
        group = (members["group"] + members["replication"]).to_numpy()
        tags = (None,) * (len(examples) * self.replications)
        return Groups(tags, position, group.astype(np.uint32), {})

    def joined(self) -> Side:
        """Return the side with all answers to an example in one row."""
        repeats = self.table.repeats
        table = joined_replications(self.table)._replace(replications=())
        rows = self.rows.with_columns(
            pl.col("position") // repeats * repeats,
            replication=pl.col("replication") * 0,
        )
        return Side(table, rows.unique(maintain_order=True))


class PairedTables:
    """What a metric scores in two runs, of the examples that count in both.

    By group: `examples` are the numbers of these, `left_out` counts those that count in
    one run only, and `lacking` those that count in the other run but not in this one.
    """

    def __init__(self, pair: PairedRuns) -> None:
        self.pair = pair
        tables = [stored_scoring_table(result) for result in (pair.first, pair.second)]
        rows = [
            pair.rows(result).join(table.frame.select("position"), on="position")
            for result, table in zip((pair.first, pair.second), tables, strict=True)
        ]
        counted = [_mask(frame["example"], pair.n) for frame in rows]
        both = counted[0] & counted[1]
        one, other = counted[0], counted[1]
        kept = pl.DataFrame({"example": np.flatnonzero(both)})
        self.sides = tuple(
            Side(table, frame.join(kept, on="example", how="semi"))
            for table, frame in zip(tables, rows, strict=True)
        )
        self.swappable = self.sides[0].replications == self.sides[1].replications and (
            self.sides[0].replications == 1
            or self.sides[0].answers == self.sides[1].answers
        )
        members = members_of(pair)
        self.examples: list[Integers] = [part[both[part]] for part in members]
        self.lacking = [
            (int((other & ~one)[part].sum()), int((one & ~other)[part].sum()))
            for part in members
        ]
        self.left_out = [sum(counts) for counts in self.lacking]

    def joined(self) -> PairedTables:
        """Return the same with all answers to an example in one row."""
        found = copy.copy(self)
        found.sides = tuple(side.joined() for side in self.sides)
        found.swappable = True
        return found

    def n_clusters(self, group: int) -> int | None:
        """Count the clusters of a group; None where there are none."""
        return count_clusters(self.pair, self.examples[group])

    def effective_units(self, group: int) -> float:
        """Count the units of a group: clusters as those of one size, else examples."""
        sizes = self.cluster_sizes(group)
        return float(len(self.examples[group])) if sizes is None else sizes.effective

    def cluster_sizes(self, group: int) -> ClusterSizes | None:
        """Say how unequal the clusters of a group are; None where there are none."""
        examples, clusters = self.examples[group], self.pair.clusters
        if clusters is None or not len(examples):
            return None
        _, sizes = np.unique(clusters[examples], return_counts=True)
        return describe_sizes(sizes.astype(np.float64))

    def is_uneven(self, group: int) -> bool:
        """Tell whether a few clusters decide more than formulas of a mean suppose."""
        sizes = self.cluster_sizes(group)
        return sizes is not None and sizes.warning is not None


def _mask(examples: pl.Series, n: int) -> NDArray[np.bool_]:
    mask = np.zeros(n, dtype=np.bool_)
    mask[examples.to_numpy()] = True
    return mask
