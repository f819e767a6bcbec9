"""The laws that every metric keeps."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

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
from evalkit_testing.laws import Law, LawBroken, refuse
from evalkit_testing.metrics.subjects import Part, Row, Scored, scales_of, whole_set
from evalkit_testing.metrics.trials import (
    Trial,
    difference_of_scores,
    difference_of_sums,
    difference_of_values,
    is_close,
    name_part,
    positions_of,
)
from evalkit_testing.metrics.value_laws import (
    check_counts,
    check_missing,
    check_nan,
    check_nothing,
    check_perfect,
    check_reasons,
    check_single,
    check_values,
    check_width,
)


def _check_repeatable(trial: Trial) -> None:
    metric = trial.subject.bind(interval="none")
    for _ in range(2):
        again = trial.subject.score(metric, trial.table, trial.groups)
        found = difference_of_scores(trial.scored.scores, again.scores)
        refuse(found, "when it is computed again")


def _check_stateless(trial: Trial) -> None:
    metric = trial.subject.bind(interval="none")
    trial.subject.score_rows(metric, trial.sample.others)
    second = trial.subject.score(metric, trial.table, trial.groups)
    found = difference_of_scores(trial.scored.scores, second.scores)
    others = ", ".join(map(repr, trial.sample.others))
    refuse(found, f"after these examples were scored: {others}")


def _check_order(trial: Trial) -> None:
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


def _check_answers(trial: Trial) -> None:
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


def _check_tags(trial: Trial) -> None:
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


def _check_batches(trial: Trial) -> None:
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


def _check_split(trial: Trial) -> None:
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


_ANSWERS = ("red car", "blue boat now")
_NONE = str(None)
_OTHERS = ("", "Zq", "zq zq zq")
"""Texts that are as little like an answer as `_NONE`, and of other lengths."""


def _check_each_answer(trial: Trial) -> None:
    if not _takes_texts(trial) or trial.subject.context.answer_kind != "any-of":
        return
    first, second = (_scored(trial, text, [*_ANSWERS]).scores for text in _ANSWERS)
    for part, one in first.items():
        value, other = one.value, getattr(second.get(part), "value", None)
        if None not in (value, other) and not is_close(value, other):
            raise LawBroken(
                f"the value of {name_part(part)} is {value} for the prediction "
                f"{_ANSWERS[0]!r}, and {other} for {_ANSWERS[1]!r}, where the "
                f"acceptable answers are {[*_ANSWERS]!r}"
            )


def _check_left_out(trial: Trial) -> None:
    if not _takes_texts(trial) or not trial.subject.adds_up:
        return
    text = _ANSWERS[0]
    if _is_answered_for(trial, text) and not _is_answered_for(trial, ""):
        raise LawBroken(
            f"an example with the answer {text!r} is left out where the prediction is "
            f"'', and counts where it is {text!r}: give a score, or evalkit.NotScored "
            "with the reason"
        )


def _check_null(trial: Trial) -> None:
    accepts = trial.subject.attributes["accepts_no_prediction"]
    if not accepts or not _takes_texts(trial, also_undirected=True):
        return
    target = _target(trial)
    missing, as_text, *others = (
        _scored(trial, given, target).scores for given in (None, _NONE, *_OTHERS)
    )
    for part, one in missing.items():
        found = [each[part].value for each in (as_text, *others) if part in each]
        if one.value is None or len(found) != len(others) + 1:
            continue
        is_text = is_close(one.value, found[0])
        # what is wrong in any case is no sign
        if is_text and not any(is_close(one.value, value) for value in found[1:]):
            raise LawBroken(
                f"the value of {name_part(part)} is {one.value} without a prediction, "
                f"as for the text {_NONE!r}, and another for other texts"
            )


def _takes_texts(trial: Trial, also_undirected: bool = False) -> bool:
    """Tell whether any text may be predicted, and says something of the score."""
    subject = trial.subject
    targets = [row.target for row in trial.rows]
    is_choice = subject.context.answer_kind == "any-of"
    has_texts = all(isinstance(each, list if is_choice else str) for each in targets)
    directed = subject.attributes["higher_is_better"] is not None
    if trial.scored.failed or subject.context.labels or trial.reads_more:
        return False
    is_kind = subject.context.answer_kind in ("one", "any-of")
    return has_texts and is_kind and (directed or also_undirected)


def _target(trial: Trial) -> Any:
    is_choice = trial.subject.context.answer_kind == "any-of"
    return [_ANSWERS[0]] if is_choice else _ANSWERS[0]


def _scored(trial: Trial, prediction: Any, target: Any) -> Scored:
    metric = trial.subject.bind(interval="none")
    return trial.subject.score_rows(metric, [Row("0", prediction, target, {}, (), 0)])


def _is_answered_for(trial: Trial, prediction: str) -> bool:
    """Tell whether an example has statistics, or a reason why it has none."""
    table = trial.subject.table([Row("0", prediction, _target(trial), {}, (), 0)])
    outcomes = metric_outcomes(trial.subject.bind(), table)
    return bool(outcomes.statistics.height or outcomes.unscored.height)


LAWS: tuple[Law[Trial], ...] = (
    Law(
        "values",
        "a value is null or finite, and within the bounds",
        check_values,
        mend="correct the formula, or `bounds`.",
    ),
    Law("counts", "an array of counts gives what finalize gives", check_counts),
    Law(
        "repeatable",
        "the same data give the same scores",
        _check_repeatable,
        mend="keep nothing between calls, and seed what is random.",
    ),
    Law(
        "stateless",
        "other data scored before change nothing",
        _check_stateless,
        ("others",),
        mend="keep nothing between calls.",
    ),
    Law(
        "nothing",
        "where nothing is scored there is no value",
        check_nothing,
        ("tags", "parts"),
    ),
    Law("single", "one example has a value or a reason, no interval", check_single),
    Law(
        "width",
        "an interval is wider than zero, or has a reason",
        check_width,
        ("clusters",),
    ),
    Law(
        "order",
        "the order of the examples changes nothing",
        _check_order,
        ("order", "clusters"),
        mend="score each example by itself, or use `compute`.",
    ),
    Law(
        "answers",
        "the order of an example's answers changes nothing",
        _check_answers,
        mend="compare with each, and take the best.",
    ),
    Law(
        "each-answer",
        "which of the acceptable answers is given changes nothing",
        _check_each_answer,
        mend="compare with each, and take the best.",
    ),
    Law("batches", "the size of batches changes nothing", _check_batches, ("cuts",)),
    Law(
        "split",
        "parts that are computed apart merge to the whole",
        _check_split,
        ("parts",),
    ),
    Law("tags", "a tag scores as its examples alone", _check_tags, ("tags",)),
    Law(
        "missing",
        "an example without a prediction counts as worst",
        check_missing,
        ("silent",),
    ),
    Law(
        "null",
        "a missing prediction is not taken for the text 'None'",
        _check_null,
        mend="look for None before str(prediction), or drop `accepts_no_prediction`.",
    ),
    Law(
        "left-out",
        "an empty prediction is scored, or has a reason",
        _check_left_out,
        mend="return a score for any text, also an empty one.",
    ),
    Law(
        "nan",
        "a prediction that is NaN is not taken for a number",
        check_nan,
        mend="return NotScored, or no row.",
    ),
    Law(
        "reasons",
        "why there is no score quotes no data",
        check_reasons,
        mend="say what is wrong without its text.",
    ),
    Law("perfect", "predictions that equal the answers score best", check_perfect),
)
"""All laws, in the order in which they are told when several are broken.

What they draw beside the examples is of `evalkit_testing.metrics.trials.DRAWS`.
"""
