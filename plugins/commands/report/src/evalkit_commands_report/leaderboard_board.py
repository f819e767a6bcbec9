"""Puts a leaderboard together: scores, means, win rates and ranks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from evalkit.runs import find_differences
from evalkit_cli.commanding import NO_VALUE, show_coverage
from evalkit_commands_report.leaderboard_ranks import (
    Estimate,
    Progress,
    Ranked,
    Ranks,
    error_of_mean,
    mean_of,
    mean_win_rates,
    rank_column,
    rank_means,
    win_rates,
)
from evalkit_commands_report.numbers import range_words

if TYPE_CHECKING:
    from evalkit import Score
    from evalkit.runs import Result
    from evalkit_commands_report.leaderboard_runs import Column

MEAN, WIN_RATE, MODEL = "mean", "win-rate", "model"
"""What a leaderboard can be sorted by, beside its data sets."""


@dataclasses.dataclass
class Board:
    """A leaderboard."""

    columns: Sequence[Column]
    tag: str | None
    confidence: float
    models: list[str]
    """Sorted."""
    means: dict[str, Score]
    """By model; without an interval with the `reason`."""
    win_rates: dict[str, tuple[float, int]]
    """The mean win rate by model, and over how many data sets it is."""
    ranked: Sequence[Ranked]
    """For each column."""
    mean_ranks: dict[str, Ranks]
    sorted_by: str
    notices: list[str]


def make_board(
    columns: Sequence[Column], tag: str | None, *, ranks: bool, progress: Progress
) -> Board:
    """Compute means, win rates and ranks."""
    models = list(dict.fromkeys(name for each in columns for name in each.entries))
    confidence, notices = _confidence(columns)
    notices += [*_partly_scored(columns), *_counted_as_wrong(columns)]
    ranked = [
        rank_column(column, tag, confidence, progress)
        if ranks
        else Ranked({}, [], "they were not asked for")
        for column in columns
    ]
    if ranks:
        notices += [
            f"{column.data.name}: no ranks: {each.reason}"
            for column, each in zip(columns, ranked, strict=True)
            if each.reason is not None
        ]
    comparable, why = _can_be_averaged(columns)
    if not comparable:
        notices.append(f"no means over data sets: {why}")
    means = _means(columns, models) if comparable else {}
    missing = [model for model in models if comparable and model not in means]
    if missing:
        notices.append(
            f"no mean of {', '.join(missing)}: there is no score on every data set"
        )
    notices += [
        f"mean of {model}: no interval: {score.reason}"
        for model, score in means.items()
        if score.ci is None
    ]
    mean_ranks = _mean_ranks(columns, means, ranked, notices if ranks else [])
    rates = mean_win_rates([*map(_win_rates, _each_once(columns))], models)
    board = Board(
        *(columns, tag, confidence, models, means, rates, ranked, mean_ranks),
        sorted_by=MODEL,
        notices=notices,
    )
    sort_board(board, _default_order(board))
    return board


def _confidence(columns: Sequence[Column]) -> tuple[float, list[str]]:
    levels = levels_of(columns)
    if len(levels) == 1:
        return levels[0], []
    shown = show_levels(levels)
    return 0.95, [f"intervals of runs are of {shown}; models are compared at 95 %"]


def levels_of(columns: Sequence[Column]) -> list[float]:
    """Return the probabilities of the intervals of all runs of a board, sorted."""
    entries = (entry for column in columns for entry in column.entries.values())
    return sorted({entry.run.record.confidence for entry in entries})


def show_levels(levels: Sequence[float]) -> str:
    """Return probabilities of intervals in percent."""
    return " and ".join(f"{100 * level:g} %" for level in levels)


def _partly_scored(columns: Sequence[Column]) -> list[str]:
    """Name scores that do not count all examples, which others may count."""
    notices = []
    for column in columns:
        for model, entry in column.entries.items():
            share, between = show_coverage(entry.score)
            if share:
                rest = f"; with the rest {range_words(entry.score)}: {between}"
                notices.append(
                    f"{model} on {column.data.name}: {share} of the examples scored"
                    f"{'' if between in ('', NO_VALUE) else rest}"
                )
    return notices


def _counted_as_wrong(columns: Sequence[Column]) -> list[str]:
    """Name runs of which predictions that are missing or invalid count as wrong."""
    return [
        f"{model} on {column.data.name}: missing or invalid predictions count as "
        f"wrong: {counted} of {entry.run.counts['examples']}"
        for column in columns
        for model, entry in column.entries.items()
        if (counted := _as_wrong(entry.run))
    ]


def _as_wrong(run: Result) -> int:
    statuses = {"missing", "invalid"}.intersection(run.record.policies.counted)
    return sum(run.counts[status] for status in statuses)


def _scores(column: Column) -> list[Score]:
    return [entry.score for entry in column.entries.values()]


def _can_be_averaged(columns: Sequence[Column]) -> tuple[bool, str]:
    """Tell whether a mean over the data sets means anything, or why not."""
    if len(columns) < 2:
        return False, "there is one data set"
    for pair in combinations(columns, 2):
        if _are_same(*pair):
            names = (f"{each.data.name} ({each.data.split})" for each in pair)
            return False, f"{' and '.join(names)} are of one data set"
    kinds = {
        (score.unit, score.scale, score.higher_is_better)
        for column in columns
        for score in _scores(column)
    }
    if len(kinds) > 1:
        units = ", ".join(
            f"{column.metric} on {column.data.name}" for column in columns
        )
        return False, f"their scores differ in unit or direction ({units})"
    return True, ""


def _are_same(one: Column, other: Column) -> bool:
    """Tell whether two columns are of the same examples, or of one data set."""
    first, second = (next(iter(c.entries.values())).run for c in (one, other))
    fields = {d.field for d in find_differences(first.record, second.record)}
    return "data" not in fields or fields.isdisjoint(("dataset", "split"))


def _each_once(columns: Sequence[Column]) -> list[Column]:
    """Leave out columns that show models on examples of another column again."""
    kept: list[Column] = []
    for column in columns:
        again = (each for each in kept if each.entries.keys() & column.entries.keys())
        if not any(_are_same(each, column) for each in again):
            kept.append(column)
    return kept


def _means(columns: Sequence[Column], models: Sequence[str]) -> dict[str, Score]:
    found = {}
    for model in models:
        if all(model in column.entries for column in columns):
            entries = [column.entries[model] for column in columns]
            scores = [entry.score for entry in entries]
            levels = {entry.run.record.confidence for entry in entries}
            if all(score.value is not None for score in scores):
                found[model] = _mean(scores, one_level=len(levels) == 1)
    return found


def _mean(scores: Sequence[Score], *, one_level: bool) -> Score:
    """Return the mean of a model's scores over data sets, as a score."""
    values = [score.value for score in scores if score.value is not None]
    errors = [score.se for score in scores if score.se is not None]
    whole = len(errors) == len(scores)
    reason = next(
        (score.reason or score.ci_method for score in scores if score.ci is None), None
    )
    if reason is not None:
        reason = f"that of a data set is missing ({reason})"
    elif not one_level:
        reason = "those of its runs are of different probabilities"
    parts = [
        Estimate(score.value, *score.ci)
        for score in scores
        if score.value is not None and score.ci is not None
    ]
    interval = mean_of(parts) if reason is None else None
    return scores[0]._replace(
        tag=scores[0].tag,
        value=sum(values) / len(values),
        se=error_of_mean(errors) if whole else None,
        ci_low=None if interval is None else interval.low,
        ci_high=None if interval is None else interval.high,
        ci_method="none" if interval is None else "mover",
        n=sum(score.n for score in scores),
        n_clusters=None,
        coverage=None,
        reason=reason,
        flag=None,
        aggregate=None,
    )


def _mean_ranks(
    columns: Sequence[Column],
    means: dict[str, Score],
    ranked: Sequence[Ranked],
    notices: list[str],
) -> dict[str, Ranks]:
    if len(means) < 2:
        return {}
    higher = _scores(columns[0])[0].higher_is_better
    if higher is None:
        return {}
    found = rank_means(list(means), ranked, higher)
    if found.reason is not None:
        notices.append(f"no ranks of means: {found.reason}")
    return found.ranks


def _win_rates(column: Column) -> dict[str, float]:
    scores = _scores(column)
    higher = scores[0].higher_is_better
    values = {
        model: entry.score.value
        for model, entry in column.entries.items()
        if entry.score.value is not None
    }
    return {} if higher is None else win_rates(values, higher)


def _default_order(board: Board) -> str:
    if len(board.columns) == 1:
        return board.columns[0].data.name
    if len(board.means) == len(board.models):
        return MEAN
    return WIN_RATE if board.win_rates else MODEL


def sort_board(board: Board, by: str) -> None:
    """Sort the models of a board, the best first; those without a number come last."""
    keys: dict[str, float | None] = {}
    if by == MEAN:
        keys = {model: _oriented(score) for model, score in board.means.items()}
    elif by == WIN_RATE:
        keys = {model: rate for model, (rate, _) in board.win_rates.items()}
    elif by != MODEL:
        entries = next(
            column.entries for column in board.columns if by in column.data.names
        )
        keys = {model: _oriented(entry.score) for model, entry in entries.items()}

    def order(model: str) -> tuple[bool, float, str]:
        key = keys.get(model)
        return key is None, -(key or 0.0), model

    board.models.sort(key=order)
    board.sorted_by = by


def _oriented(score: Score) -> float | None:
    if score.value is None:
        return None
    return -score.value if score.higher_is_better is False else score.value
