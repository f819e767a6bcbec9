"""Brings two runs together, example by example, and refuses what does not match."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalkit import Result
from evalkit.base.columns import all_named, encode, native, unnamed
from evalkit.base.violations import shorten
from evalkit.errors import AlignmentError
from evalkit.plugins.contract import RESERVED_FIELDS
from evalkit.reporting import count_of
from evalkit.runs import DATA_FIELDS, Difference, find_differences
from evalkit.scoring import Groups, group_by_tag
from evalkit.scoring.grouping import WHOLE
from evalkit.scoring.table import Units
from evalkit.statistics.clusters import Floats, Integers

_SHOWN = 3
"""Examples that a refusal names."""


class PairedRuns:
    """Two runs on the same examples.

    `shared` holds the examples of both runs, sorted by id: `id`, its number `example`,
    and `tags` and `cluster` of the first run. `left_out` counts the examples that only
    one run has; `groups` are the whole set and every tag, over numbers of examples.
    """

    def __init__(
        self,
        first: Result,
        second: Result,
        shared: pl.DataFrame,
        left_out: int,
        seed: int,
        differences: Sequence[Difference],
        allow: Sequence[str],
    ) -> None:
        self.first = first
        self.second = second
        self.left_out = left_out
        self.refused_metrics = [
            each
            for each in differences
            if each.field == "metric" and not (each.is_minor or "metric" in allow)
        ]
        self.differences = [d for d in differences if d not in self.refused_metrics]
        self.seed = seed
        self.groups: Groups = group_by_tag(shared["tags"])
        self._shared = shared
        self.clusters: Integers | None = None
        if shared["cluster"].null_count() < shared.height:
            ranks = shared["cluster"].rank("dense").cast(pl.Int64) - 1
            self.clusters = ranks.to_numpy()

    def keep_tags(self, fewest: int | None, only: Container[str] | None = None) -> None:
        """Keep tags with enough examples; None leaves out all tags."""
        sizes = np.array(self.groups.sizes)
        kept = np.zeros(len(sizes), np.bool_) if fewest is None else sizes >= fewest
        if only is not None:
            kept &= [tag is not None and tag in only for tag in self.groups.tags]
        kept[WHOLE] = True
        chosen = kept[self.groups.group]
        numbers = (np.cumsum(kept) - 1).astype(np.uint32)
        self.groups = Groups(
            tags=tuple(
                tag for tag, keep in zip(self.groups.tags, kept, strict=True) if keep
            ),
            position=self.groups.position[chosen],
            group=numbers[self.groups.group[chosen]],
            facets={},
        )

    @property
    def n(self) -> int:
        """Number of examples."""
        return self._shared.height

    @cached_property
    def units(self) -> Units:
        """The units that are drawn and swapped: clusters, or else examples."""
        clusters = self._shared["cluster"].to_numpy()
        is_clustered = self.clusters is not None
        ids = self._shared["id"].to_list()
        return Units(ids, clusters if is_clustered else None, self.seed)

    def _number_replications(self) -> pl.Expr:
        """Number replications by their names in both runs, so that like meets like."""
        runs = (self.first, self.second)
        names = pl.concat([_examples(run)["replication"] for run in runs]).unique()
        known = names.drop_nulls().sort().to_list()
        numbers = dict(zip(known, range(len(known)), strict=True))
        column = pl.col("replication")
        return column.replace_strict(
            numbers, default=0, return_dtype=pl.Int64
        ).fill_null(0)

    @cached_property
    def as_wrong(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether a missing or invalid answer of each run to an example is wrong.

        Two masks of shape (n,): all False where a run skipped such examples.
        """
        return self._as_wrong(self.first), self._as_wrong(self.second)

    def _as_wrong(self, result: Result) -> NDArray[np.bool_]:
        mask = np.zeros(self.n, np.bool_)
        statuses = [each for each in result.record.policies.counted if each != "scored"]
        frame = _examples(result)
        if statuses and "status" in frame.columns:
            wrong = frame.filter(pl.col("status").is_in(statuses)).select("id")
            found = self._shared.join(wrong, on="id", how="semi")
            mask[found["example"].to_numpy()] = True
        return mask

    def rows(self, result: Result) -> pl.DataFrame:
        """Return `position`, `example` and `replication` of rows of shared examples."""
        frame = _examples(result).select(
            "id",
            position=pl.int_range(pl.len(), dtype=pl.UInt32),
            replication=self._number_replications(),
        )
        found = frame.join(self._shared.select("id", "example"), on="id", how="inner")
        return found.select("position", "example", "replication").sort("position")

    def example_scores(self, result: Result, column: str) -> Floats:
        """Return the scores of examples, means over replications; NaN for none."""
        rows = self.rows(result)
        scores = unnamed(_examples(result)[column]).gather(rows["position"])
        means = (
            rows.select("example", score=scores)
            .drop_nulls("score")
            .sort("example", "score")
            .group_by("example", maintain_order=True)
            .agg(pl.col("score").mean())
        )
        values: Floats = np.full(self.n, np.nan)
        values[means["example"].to_numpy()] = means["score"].to_numpy()
        return values


def score_column(result: Result, metric: str) -> str | None:
    """Find the column of a run's examples that holds a metric's per-example scores."""
    score = result[metric]
    is_mean = (
        score.value is not None
        and score.mean is not None
        and bool(np.isclose(score.value, score.mean, rtol=1e-9, atol=1e-12))
    )
    if not is_mean:
        return None
    columns = _examples(result).columns
    if f"metrics/{metric}" in columns:
        return f"metrics/{metric}"
    return metric if metric in columns and metric not in RESERVED_FIELDS else None


def pair_runs(
    first: Result,
    second: Result,
    *,
    common: bool = False,
    allow: Sequence[str] = (),
    seed: int = 0,
) -> PairedRuns:
    """Join two runs on the ids of their examples."""
    for result in (first, second):
        _check_usable(result)
    differences = find_differences(first.record, second.record)
    refused = [d for d in differences if not (d.is_minor or d.field in allow)]
    # which examples differ says more than that their data does
    of_data = [each for each in refused if each.field in DATA_FIELDS]
    others = [d for d in refused if d not in of_data and d.field != "metric"]
    if first.task != second.task:
        _refuse(first, second, refused, "MODEL@DATASET names a run of one dataset")
    options = dict.fromkeys(f"--allow {each.field}" for each in others)
    _refuse(first, second, others, f"To compare them, use {' '.join(options)}")
    one, other = _by_id(first), _by_id(second)
    shared = one.join(other.select("id"), on="id", how="semi").sort("id")
    only = [
        (name_run(run), rows.join(shared, on="id", how="anti")["id"])
        for run, rows in ((first, one), (second, other))
    ]
    if shared.is_empty():
        raise AlignmentError(
            f"{name_run(first)} and {name_run(second)} have no example in common: the "
            f"ids of one are such as {_such_as(only[0][1])}, of the other "
            f"{_such_as(only[1][1])}{'. They differ in ' * bool(of_data)}"
            f"{'; '.join(map(str, of_data))}"
        )
    _check_answers(first, second, shared, other, differences)
    left_out = sum(len(ids) for _, ids in only)
    if left_out and not common:
        parts = [
            f"{count_of(len(ids), 'example')} only in {name}, such as {_such_as(ids)}"
            for name, ids in only
            if len(ids)
        ]
        raise AlignmentError(
            f"the runs are not on the same examples: {'; '.join(parts)}; "
            f"{count_of(shared.height, 'example')} in both can be compared with "
            "--common (common=True)"
        )
    if not common:
        _refuse(first, second, of_data, "To compare them, use --common")
    if shared["cluster"].null_count() == shared.height:
        clusters = other.select("id", "cluster")
        shared = shared.drop("cluster").join(clusters, on="id", how="left")
    shared = shared.sort("id").with_columns(example=pl.int_range(pl.len()))
    return PairedRuns(first, second, shared, left_out, seed, differences, allow)


def name_run(result: Result) -> str:
    """Name a run by its model and its id."""
    return f"{result.model} ({result.run_id or result.dataset})"


def _refuse(
    first: Result, second: Result, found: Sequence[Difference], advice: str
) -> None:
    if found:
        raise AlignmentError(
            f"{name_run(first)} and {name_run(second)} are not comparable. They differ "
            f"in {'; '.join(map(str, found))}. {advice}"
        )


def refuse_repeated(results: Sequence[Result]) -> None:
    """Refuse to compare a run with itself."""
    for one, other in combinations(results, 2):
        is_stored = one.path is not None or other.path is not None
        if one is other or (is_stored and one.fingerprint == other.fingerprint):
            raise AlignmentError(
                f"the run {name_run(one)} is given twice; name each run once (see "
                "`evalkit runs`)"
            )


def _check_usable(result: Result) -> None:
    if result.status == "refused":
        raise AlignmentError(
            f"{name_run(result)} was refused and has no scores; correct its "
            "predictions and evaluate them again"
        )
    if result.examples is None:
        raise AlignmentError(
            f"{name_run(result)} holds no examples, without which runs cannot be "
            "compared; evaluate its predictions again"
        )


def _examples(result: Result) -> pl.DataFrame:
    assert result.examples is not None  # checked when the runs were paired
    return result.examples


def _by_id(result: Result) -> pl.DataFrame:
    """Return each example once, with its answer where the run holds answers."""
    frame = _examples(result)
    kept = [name for name in ("id", "answer", "tags", "cluster") if name in frame]
    return frame.select(all_named(kept)).unique("id", keep="first", maintain_order=True)


def _check_answers(
    first: Result,
    second: Result,
    shared: pl.DataFrame,
    other: pl.DataFrame,
    differences: Sequence[Difference],
) -> None:
    """Refuse runs whose answers to one example differ."""
    if "answer" not in shared.columns or "answer" not in other.columns:
        of_answers = ("data", "data-adapters")
        found = [str(each) for each in differences if each.field in of_answers]
        if first.record.data.sha256 is None or found:
            why = f"differ in {'; '.join(found)}" if found else "do not name their data"
            raise AlignmentError(
                f"{name_run(first)} or {name_run(second)} was made without answers "
                f"(--no-examples), and the runs {why}, so nothing says that the "
                "answers are the same. Evaluate both with examples"
            )
        return
    both = shared.select("id", "answer").join(
        other.select("id", other="answer"), on="id", how="inner"
    )
    different = both.filter(_differ(both["answer"], both["other"])).sort("id")
    if different.is_empty():
        return
    shown = [
        f"{uid!r} ({shorten(mine)} and {shorten(its)})"
        for uid, mine, its in different.head(_SHOWN).iter_rows()
    ]
    raise AlignmentError(
        f"the runs are not on the same data: {name_run(first)} and {name_run(second)} "
        f"have different answers to {count_of(different.height, 'example')}, such as "
        f"{', '.join(shown)}; evaluate both on one version of the data"
    )


def _differ(one: pl.Series, other: pl.Series) -> pl.Series:
    are_numbers = one.dtype.is_numeric() and other.dtype.is_numeric()
    if one.dtype == other.dtype or are_numbers:
        return one.ne_missing(other)
    pairs = zip(one, other, strict=True)
    return pl.Series([_as_text(a) != _as_text(b) for a, b in pairs], dtype=pl.Boolean)


def _as_text(value: Any) -> str | None:
    return encode(native(value))


def _such_as(ids: pl.Series) -> str:
    return ", ".join(repr(uid) for uid in ids.sort().head(_SHOWN))
