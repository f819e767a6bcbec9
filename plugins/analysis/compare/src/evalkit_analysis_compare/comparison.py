"""Compares runs on the same examples, each with the first of them or all in pairs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from evalkit import Registry, Result
from evalkit.base.progress import Progress
from evalkit.catalog import Resolver
from evalkit.errors import EvalkitError
from evalkit.reporting import check_confidence, count_of
from evalkit.runs import COMPARED_FIELDS, as_result
from evalkit.scoring.grouping import WHOLE
from evalkit_analysis_compare.conclusions import Names
from evalkit_analysis_compare.judging import Member, judge, rows_of_family
from evalkit_analysis_compare.pairing import pair_runs, refuse_repeated
from evalkit_analysis_compare.pairs import ComparedPair
from evalkit_analysis_compare.records import ComparedScore, Comparison

_FEWEST_WITH_BEST = 3
"""Models from which it is said which are not distinguishable from the best."""


class _Choices(NamedTuple):
    """How runs are compared."""

    confidence: float
    seed: int
    tags: bool | frozenset[str]
    common: bool
    allow: tuple[str, ...]
    min_n: int
    margin: float | None
    all_pairs: bool


def compare(
    first: Result | str | Path,
    second: Result | str | Path,
    *more: Result | str | Path,
    metrics: Sequence[Any] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    tags: bool | Sequence[str] = True,
    common: bool = False,
    allow: Sequence[str] = (),
    min_n: int = 10,
    margin: float | None = None,
    all_pairs: bool = False,
    runs: str | Path = "runs",
    registry: Registry | None = None,
    progress: Progress = lambda _text, _share: None,
) -> Comparison:
    """Compare runs on the same examples, each with the first, or all in pairs.

    A difference is the value of the pair's first run less that of its second.

    - Means of scores of single examples: McNemar's mid-p and Tango's interval for right
      and wrong answers, the paired t-test for others (below 30 examples sign flips),
      and CR2 with Satterthwaite's degrees of freedom in clusters.
    - Counts of label pairs, such as macro-F1: answers are swapped between the models,
      and the interval is that of paired draws of a smoothed multinomial.
    - Ratios of sums, such as WER: the delta method on the log scale. AUROC of two
      classes: DeLong's. All else: the paired bootstrap of examples or clusters.

    What is read together is adjusted together (Bonferroni): one metric's comparisons of
    all pairs that are shown, on the whole set, and those on all tags.

    Args:
        first: A result, the path of a run, the start of its id, its model, or `latest`;
            all others are compared with it, unless `all_pairs` is set.
        second: Another.
        *more: Further ones.
        metrics: Metrics to compare, by name or as objects; by default all that the
            runs have in common.
        confidence: Probability of the intervals, between 0 and 1; a difference is
            concluded where the p-value is below 1 less it. Several comparisons
            that are read together are adjusted for their number.
        seed: Seed of all that is drawn.
        tags: Whether tags are compared too; or those that are, which are adjusted for
            each other alone.
        common: Whether to compare the examples that both runs have, although their
            data, its version, split or selection differ.
        allow: Further fields in which the runs may differ, such as `extraction`: those
            of `evalkit.runs.find_differences`. A notice names each difference.
        min_n: Fewest examples of a tag that is compared; a notice says how many tags
            have fewer. Every tag that is compared widens the intervals of all.
        margin: Differences up to this, as stored, count as none: where the interval
            lies within it, the models are called equivalent.
        all_pairs: Whether every pair of runs is compared, not only each with the first.
        runs: Folder that ids and `latest` are looked for in.
        registry: Where metrics are found; all that are installed by default.
        progress: Told what is being done.

    Returns:
        The comparison.

    Raises:
        AlignmentError: The runs are not comparable (says what differs), or one is given
            twice.
        EvalkitError: They have no metric in common, or an argument is out of range.
        StorageError: There is no such run.
    """
    check_confidence(confidence)
    if margin is not None and not 0 < margin < math.inf:
        raise EvalkitError(f"margin must be greater than 0 and finite, is {margin}")
    chosen = tags if isinstance(tags, bool) else frozenset(tags)
    if unknown := {*allow}.difference(COMPARED_FIELDS[1:]):  # not of other tasks
        raise EvalkitError(
            f"allow must be of {', '.join(COMPARED_FIELDS[1:])}, got {min(unknown)!r}"
        )
    choices = _Choices(
        *(confidence, seed, chosen, common, tuple(allow), min_n, margin, all_pairs)
    )
    results = [as_result(given, runs) for given in (first, second, *more)]
    refuse_repeated(results)
    if margin is not None and margin >= 1 and _has_proportion(results[0], metrics):
        raise EvalkitError(
            f"proportions are stored as 0 to 1, so that every difference is within a "
            f"margin of {margin:g}; two points are 0.02"
        )
    names = _distinct_names(results)
    compared = _Compared(results, names, choices, Resolver(registry or Registry()))
    rows, best = compared.compare(metrics, progress)
    record = {
        "runs": [_describe(*each) for each in zip(results, names, strict=True)],
        "confidence": confidence,
        "seed": seed,
        "common": common,
        "allow": [*allow],
        "min_n": min_n,
        "margin": margin,
        "all_pairs": all_pairs,
        "adjustment": "bonferroni",
        "best": best,
        "notices": list(dict.fromkeys(compared.notices)),
    }
    widest = {
        row.metric: results[0].record.widest_difference(row.metric) for row in rows
    }
    known = {metric: width for metric, width in widest.items() if width is not None}
    return Comparison(record, rows, known)


def _has_proportion(run: Result, metrics: Sequence[Any] | None) -> bool:
    """Tell whether a score of metrics, all or those that are named, is a proportion."""
    named = [metrics] if isinstance(metrics, str) else metrics
    return any(
        run[name].scale == 100 for name in run.metrics if named is None or name in named
    )


def _distinct_names(results: Sequence[Result]) -> list[str]:
    """Name each run by its model, and by its id too where several are of one model."""
    count = Counter(result.model for result in results)
    names = []
    for number, result in enumerate(results, start=1):
        name = str(result.model)
        if count[result.model] > 1:
            name = f"{name} ({result.run_id[:8] or number})"
        names.append(name if name not in names else f"{name} #{number}")
    return names


def _describe(result: Result, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "model": result.model,
        "run_id": result.run_id,
        "dataset": result.dataset,
        "task": result.task,
        "status": result.status,
        "path": None if result.path is None else str(result.path),
    }


class _Compared:
    """Runs, compared pair by pair."""

    def __init__(
        self,
        results: Sequence[Result],
        names: Sequence[str],
        choices: _Choices,
        resolver: Resolver,
    ) -> None:
        self._results = results
        self._names = names
        self._choices = choices
        self._resolver = resolver
        every = list(combinations(range(len(results)), 2))
        self._shown = [pair for pair in every if choices.all_pairs or pair[0] == 0]
        self._others = [pair for pair in every if pair not in self._shown]
        self._every = len(every)
        self._has_best = len(results) >= _FEWEST_WITH_BEST
        self._count = len(every if self._has_best else self._shown)
        self.notices: list[str] = []

    def compare(
        self, metrics: Sequence[Any] | None, progress: Progress
    ) -> tuple[list[ComparedScore], dict[str, list[str]]]:
        """Compare by the metrics that were asked for.

        Returns:
            The rows by pair and metric, and the models that may be the best by metric.
        """
        pairs = [self._pair(*pair, tags=True) for pair in self._shown]
        members: list[Member] = []
        for number, pair in enumerate(pairs):
            first, second = pair.names
            progress(f"comparing {first} with {second}", number / self._count)
            for metric in pair.chosen(metrics):
                members += self._members(pair, metric)
            self.notices += pair.notices
        rows = self._rows(members)
        return rows, self._best(rows, metrics, progress)

    def _pair(self, first: int, second: int, *, tags: bool) -> ComparedPair:
        choices = self._choices
        pair = pair_runs(
            self._results[first],
            self._results[second],
            common=choices.common,
            allow=choices.allow,
            seed=choices.seed,
        )
        tags = tags and bool(choices.tags)
        only = None if isinstance(choices.tags, bool) else choices.tags
        if tags:
            sizes = zip(pair.groups.tags[1:], pair.groups.sizes[1:], strict=True)
            self._leave_out(
                sum(
                    size < self._fewest
                    for tag, size in sizes
                    if only is None or tag in only
                )
            )
        pair.keep_tags(self._fewest if tags else None, only)
        names = Names(self._names[first], self._names[second])
        return ComparedPair(pair, names, self._resolver)

    @property
    def _fewest(self) -> int:
        return max(1, self._choices.min_n)

    def _leave_out(self, count: int, of: str = "") -> None:
        """Say that tags are too small to be compared."""
        if count:
            tags = count_of(count, "tag")
            self.notices.append(
                f"{of}{tags} with fewer than {count_of(self._fewest, 'example')} not "
                "compared (--min-n)"
            )

    def _members(self, pair: ComparedPair, metric: str) -> list[Member]:
        tags = pair.pair.groups.of(pair.is_of_whole(metric)).tags
        found = pair.differences(metric)[: len(tags)]
        kept = [
            Member(pair, metric, tag, difference)
            for tag, difference in zip(tags, found, strict=True)
            if tag is None or difference.n >= self._fewest
        ]
        if found[WHOLE].n:
            self._leave_out(len(found) - len(kept), f"{metric}, as scored in both: ")
        return kept

    def _rows(self, members: Sequence[Member]) -> list[ComparedScore]:
        """Make the rows, each adjusted for its family: metric, whole set or tags."""
        families: dict[tuple[str, bool], list[Member]] = {}
        for member in members:
            key = member.metric, member.tag is None
            families.setdefault(key, []).append(member)
        choices = self._choices
        by_member = {
            id(member): row
            for family in families.values()
            for member, row in zip(
                family,
                rows_of_family(family, choices.confidence, choices.margin),
                strict=True,
            )
        }
        places: dict[tuple[int, str], int] = {}
        for member in members:
            places.setdefault((id(member.compared), member.metric), len(places))
        ordered = [
            (places[id(member.compared), member.metric], by_member[id(member)])
            for member in members
        ]
        ordered.sort(key=lambda each: (each[0], *_worst_first(each[1])))
        return [row for _, row in ordered]

    def _best(
        self,
        rows: Sequence[ComparedScore],
        metrics: Sequence[Any] | None,
        progress: Progress,
    ) -> dict[str, list[str]]:
        """Return the models that no other was shown to be better than, by metric.

        All pairs are compared, whether they are shown or not, and adjusted for their
        number, so that the best one is left out only if one of its comparisons is
        wrong (multiple comparisons with the best, Hsu 1984).
        """
        if not self._has_best:
            return {}
        alpha = 1 - self._choices.confidence
        worse: dict[str, set[str]] = {}
        for row in rows:
            if row.tag is None and row.higher_is_better is not None:
                worse.setdefault(row.metric, set())
                if row.different and (row.p_value or 0.0) * self._every < alpha:
                    less = (row.difference or 0.0) < 0
                    loser = row.model_a if less == row.higher_is_better else row.model_b
                    worse[row.metric].add(loser)
        for number, pair in enumerate(self._others, start=len(self._shown)):
            compared = self._pair(*pair, tags=False)
            first, second = compared.names
            progress(f"comparing {first} with {second}", number / self._count)
            for metric in compared.chosen(metrics):
                if metric in worse:
                    worse[metric] |= self._loser(compared, metric)
            self.notices += compared.notices
        untested = {
            row.metric for row in rows if row.tag is None and row.p_value is None
        }
        return {
            metric: [name for name in self._names if name not in losers]
            for metric, losers in worse.items()
            if metric not in untested
        }

    def _loser(self, compared: ComparedPair, metric: str) -> set[str]:
        """Return the worse of two models whose comparison is not shown, if it is."""
        found = compared.differences(metric)[WHOLE]
        judged = judge(found, self._every, self._choices.confidence, None)
        if not judged.different:
            return set()
        higher = compared.pair.first[metric].higher_is_better
        names = compared.names
        return {names.first if ((found.value or 0.0) < 0) == higher else names.second}


def _worst_first(row: ComparedScore) -> tuple[bool, bool, float, str]:
    """Order the rows of a metric: the whole set, then the worst for the first model."""
    difference = row.difference
    if row.tag is None or difference is None:
        return row.tag is not None, True, 0.0, row.tag or ""
    oriented = -difference if row.higher_is_better is False else difference
    return True, False, oriented, row.tag
