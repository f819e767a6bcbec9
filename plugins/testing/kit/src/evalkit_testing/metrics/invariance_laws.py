"""Laws of what changes no score, which raise `LawBroken` where they do not hold."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import polars as pl
import polars.selectors as cs

from evalkit.scoring import (
    GroupScore,
    Outcomes,
    ScoringTable,
    merge_statistics,
    metric_outcomes,
    metric_statistics,
)
from evalkit_testing.laws import LawBroken, refuse
from evalkit_testing.metrics.comparisons import (
    difference_of_scores,
    difference_of_sums,
    difference_of_values,
    is_close,
    name_part,
)
from evalkit_testing.metrics.samples import whole_set
from evalkit_testing.metrics.subjects import Part, scales_of
from evalkit_testing.metrics.trials import Trial, positions_of


def check_repeatable(trial: Trial) -> None:
    """The same data give the same scores again."""
    metric = trial.subject.bind(interval="none")
    for _ in range(2):
        again = trial.subject.score(metric, trial.table, trial.groups)
        found = difference_of_scores(trial.scored.scores, again.scores)
        refuse(found, "when it is computed again")


def check_stateless(trial: Trial) -> None:
    """Scoring other data in between changes nothing."""
    metric = trial.subject.bind(interval="none")
    trial.subject.score_rows(metric, trial.sample.others)
    second = trial.subject.score(metric, trial.table, trial.groups)
    found = difference_of_scores(trial.scored.scores, second.scores)
    others = ", ".join(map(repr, trial.sample.others))
    refuse(found, f"after these examples were scored: {others}")


def check_order(trial: Trial) -> None:
    """The order of the examples changes no value, statistic, n or interval."""
    subject, order = trial.subject, trial.sample.order
    rows = tuple(trial.rows[number] for number in order)
    moved = Trial(subject, trial.sample._replace(rows=rows))
    where = f"in the order {list(order)}"
    # first without intervals, which take longer
    for first, second in (
        (trial.scored, moved.scored),
        (trial.with_intervals, moved.with_intervals),
    ):
        refuse(difference_of_scores(first.scores, second.scores), where)
    if first.per_example is not None and second.per_example is not None:
        back = {order[new]: score for new, score in second.per_example.items()}
        refuse(_difference_of_examples(first.per_example, back), where)
    if trial.adds_up:
        scales = scales_of(subject.bind(), trial.statistics)
        found = difference_of_sums(trial.sums, moved.sums, subject.keys, scales)
        refuse(found, where)
        _check_kept_values(trial)


def _check_kept_values(trial: Trial) -> None:
    """Kept values come in any order, in which those of one example stay together."""
    metric = trial.subject.bind()
    kept = [
        name
        for name in trial.sums.columns
        if metric.merges.get(name) == "values" and name not in trial.subject.keys
    ]
    if not kept or trial.sums.is_empty():
        return
    turned = trial.sums.with_columns(cs.by_name(*kept).list.reverse())
    found = trial.subject.finalize(metric, turned, trial.groups)
    refuse(
        difference_of_values(trial.values, found),
        "where finalize is given the same kept values in reverse order",
    )


def _difference_of_examples(
    first: Mapping[int, float], second: Mapping[int, float]
) -> str | None:
    for number in sorted(first.keys() | second.keys()):
        one, other = first.get(number), second.get(number)
        if not is_close(one, other):
            return f"the score of the example {number} is {one}, and {other}"
    return None


def check_answers(trial: Trial) -> None:
    """The order of acceptable answers, or of a set, changes no example's score."""
    subject = trial.subject
    kind = subject.context.answer_kind
    if trial.scored.failed or kind not in ("any-of", "all-of", "spans"):
        return
    metric = subject.bind(interval="none")
    for number, row in enumerate(trial.rows):
        if not isinstance(row.target, list | tuple) or len(row.target) < 2:
            continue
        turned = row._replace(target=[*reversed(row.target)])
        # alone, as the best of two equally good answers may count for more of others
        first, second = (subject.score_rows(metric, (r,)) for r in (row, turned))
        for part, one in first.scores.items():
            value, other = one.value, getattr(second.scores.get(part), "value", None)
            # of two that are equally bad either may be the one that has no value
            if None not in (value, other) and not is_close(value, other):
                raise LawBroken(
                    f"the value of {name_part(part)} is {value} for the example "
                    f"{number} alone, and {other} with its answers in reverse order"
                )


def check_tags(trial: Trial) -> None:
    """A tag scores as its examples alone do: the same value, n and spread."""
    for number, tag in enumerate(trial.groups.tags):
        if tag is None:
            continue
        positions = positions_of(trial, number)
        metric = trial.subject.bind(interval="none")
        part = _part_alone(trial.table, positions)
        alone = trial.subject.score(metric, part, whole_set(len(positions)))
        if trial.scored.failed or alone.failed:
            continue
        scores = trial.scored.scores
        inside = {key: one for key, one in scores.items() if key[0] == tag}
        outside: dict[Part, GroupScore] = {
            (tag, score): one for (_, score), one in alone.scores.items()
        }
        found = difference_of_scores(inside, outside, intervals=False)
        refuse(found, "in a file that holds only its examples")


def _part_alone(table: ScoringTable, positions: list[int]) -> ScoringTable:
    frame = table.frame.filter(pl.col("position").is_in(positions))
    renumbered = pl.Series("position", range(frame.height), dtype=pl.UInt32)
    ids = [table.ids[position] for position in positions]
    return table._replace(frame=frame.with_columns(renumbered), ids=ids)


def check_batches(trial: Trial) -> None:
    """The statistics do not depend on how the examples are cut into batches."""
    if not trial.adds_up:
        return
    subject = trial.subject
    ends = [0, *trial.sample.cuts, len(trial.rows)]
    where = f"in batches of {', '.join(str(b - a) for a, b in pairwise(ends))} examples"
    metric = subject.bind()
    parts = [
        metric_statistics(metric, trial.table._replace(frame=frame))
        for frame in (trial.table.frame[start:end] for start, end in pairwise(ends))
    ]
    statistics = _concatenate(parts, "batches")
    joined = merge_statistics(metric, statistics, trial.table, trial.groups)
    scales = scales_of(metric, trial.statistics)
    refuse(difference_of_sums(trial.sums, joined, subject.keys, scales), where)
    values = subject.finalize(metric, joined, trial.groups)
    refuse(difference_of_values(trial.values, values), where)


def _concatenate(parts: list[pl.DataFrame], what: str) -> pl.DataFrame:
    # where no example was scored, nobody knows the names of a metric's numbers
    known = [part for part in parts if part.height] or parts[:1]
    try:
        return pl.concat(known)
    except pl.exceptions.PolarsError as error:
        raise LawBroken(
            f"the statistics of two {what} differ in columns or types: {error}"
        ) from error


def check_split(trial: Trial) -> None:
    """Statistics of disjoint parts, computed apart, merge to the scores of the whole.

    Each part has a metric of its own, and so have the scores, as where the runs of two
    machines are merged by a third.
    """
    if not trial.adds_up:
        return
    subject, parts = trial.subject, trial.sample.parts
    outcomes = []
    for number in sorted(set(parts)):
        positions = [position for position, part in enumerate(parts) if part == number]
        frame = trial.table.frame.filter(pl.col("position").is_in(positions))
        part = trial.table._replace(frame=frame)
        outcomes.append(metric_outcomes(subject.bind(), part))
    merged = subject.score_statistics(
        subject.bind(interval="none"),
        Outcomes(
            _concatenate([each.statistics for each in outcomes], "parts"),
            pl.concat([each.unscored for each in outcomes]).sort("position"),
        ),
        trial.table,
        trial.groups,
    )
    found = difference_of_scores(trial.scored.scores, merged.scores)
    refuse(found, f"merged from the parts {list(parts)}, computed apart")
