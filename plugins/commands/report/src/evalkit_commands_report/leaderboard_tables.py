"""The cells of a leaderboard, as people read them and as programs do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalkit_cli.commanding import score_label, show_interval, show_value
from evalkit_commands_report.leaderboard_board import (
    MEAN,
    WIN_RATE,
    Board,
    levels_of,
    show_levels,
)
from evalkit_commands_report.leaderboard_ranks import Ranks
from evalkit_commands_report.leaderboard_runs import DataSet

if TYPE_CHECKING:
    from evalkit import Score
    from evalkit_commands_report.leaderboard_runs import Column

NO_VALUE = "–"

CSV_HEADER = (
    *("model", "kind", "dataset", "split", "metric", "tag", "value", "se", "ci_low"),
    *("ci_high", "ci_method", "n", "coverage", "rank_best", "rank_worst"),
    *("datasets", "reason", "run_id", "path"),
)


def table_of(board: Board) -> list[list[str]]:
    """Return a header, and a row for each model."""
    show_means, show_rates = bool(board.means), bool(board.win_rates)
    show_mean_ranks = bool(board.mean_ranks)
    header = ["model"]
    header += ["mean"] * show_means + ["rank"] * show_mean_ranks
    header += ["win rate"] * show_rates
    for column, ranked in zip(board.columns, board.ranked, strict=True):
        header += [column_name(board, column)] + ["rank"] * bool(ranked.ranks)
    rows = [header]
    for model in board.models:
        row = [model]
        if show_means:
            row.append(cell(board.means.get(model), {}))
        if show_mean_ranks:
            row.append(show_ranks(board.mean_ranks.get(model)))
        if show_rates:
            row.append(_show_rate(board, model))
        for column, ranked in zip(board.columns, board.ranked, strict=True):
            entry = column.entries.get(model)
            bounds = {} if entry is None else entry.run.record.bounds
            row.append(cell(None if entry is None else entry.score, bounds))
            if ranked.ranks:
                row.append(show_ranks(ranked.ranks.get(model)))
        rows.append(row)
    return rows


def column_name(board: Board, column: Column) -> str:
    """Name a data set, with its split and metric where these tell columns apart."""
    names = [each.data.name for each in board.columns]
    name = column.data.name
    if names.count(name) > 1:
        name += f" ({column.data.split})"
    metrics = {(each.metric, each.aggregate) for each in board.columns}
    return name if len(metrics) == 1 else f"{name}: {metric_name(column)}"


def metric_name(column: Column) -> str:
    """Name the score of a column, and over which facet it is a mean."""
    entry = next(iter(column.entries.values()))
    return score_label(entry.score)


def cell(score: Score | None, bounds: Mapping[str, Any]) -> str:
    """Return a value with its interval; a dash where there is no score."""
    if score is None or score.value is None:
        return NO_VALUE
    shown = show_value(score, with_unit=False)
    return shown if score.ci is None else f"{shown} {show_interval(score, bounds)}"


def show_ranks(ranks: Ranks | None) -> str:
    """Return the ranks that a model may have: `1`, or `1–3`."""
    if ranks is None:
        return NO_VALUE
    if ranks.best == ranks.worst:
        return str(ranks.best)
    return f"{ranks.best}–{ranks.worst}"


def _show_rate(board: Board, model: str) -> str:
    rate, count = board.win_rates.get(model, (None, 0))
    if rate is None:
        return NO_VALUE
    every = len(board.columns)
    return f"{rate:.2f}" + (f" ({count} of {every} sets)" if count < every else "")


def explanations(board: Board) -> list[str]:
    """Say what the numbers are, a sentence for each kind that is shown."""
    level = f"{100 * board.confidence:g} %"
    levels = show_levels(levels_of(board.columns))
    of_tag = f" on the examples with the tag {board.tag}" if board.tag else ""
    lines = [
        f"{_metrics_by_unit(board.columns)}{of_tag}, with {levels} intervals; "
        f"sorted by {board.sorted_by}"
    ]
    if board.means:
        lines.append(
            f"mean: over {len(board.columns)} data sets, each counted once; its "
            "interval adds up theirs, as of independent data sets (MOVER)"
        )
    if board.win_rates:
        lines.append(
            "win rate: share of the other models that it scores higher than (lower "
            "where that is better), a tie as a half, on average over data sets; chance "
            "is not considered"
        )
    if any(each.ranks for each in board.ranked):
        lines.append(
            f"rank: where a model may be by comparisons of all pairs at {level}, "
            "adjusted for their number on each data set"
        )
    return lines


def _metrics_by_unit(columns: Sequence[Column]) -> str:
    """Name the metrics of all columns, each after those of the same unit."""
    metrics: dict[str, dict[str, None]] = {}
    for column in columns:
        score = next(iter(column.entries.values())).score
        lower = " (lower is better)" if score.higher_is_better is False else ""
        metrics.setdefault(score.unit, {})[f"{metric_name(column)}{lower}"] = None
    return ", ".join(
        f"{', '.join(names)}{f' in {unit}' if unit else ''}"
        for unit, names in metrics.items()
    )


def as_json(board: Board) -> dict[str, Any]:
    """Return all of a leaderboard as JSON values, as stored."""
    return {
        "confidence": board.confidence,
        "tag": board.tag,
        "sorted_by": board.sorted_by,
        "datasets": [
            {
                "name": column.data.name,
                "split": column.data.split,
                "metric": column.metric,
                "aggregate": column.aggregate,
                "no_ranks": ranked.reason,
                "comparisons": [row._asdict() for row in ranked.rows],
            }
            for column, ranked in zip(board.columns, board.ranked, strict=True)
        ],
        "models": [_model_as_json(board, model) for model in board.models],
        "notices": list(board.notices),
    }


def _model_as_json(board: Board, model: str) -> dict[str, Any]:
    rate, count = board.win_rates.get(model, (None, 0))
    mean = board.means.get(model)
    scores = []
    for column, ranked in zip(board.columns, board.ranked, strict=True):
        entry = column.entries.get(model)
        if entry is not None:
            scores.append(
                {
                    "dataset": column.data.name,
                    "split": column.data.split,
                    **_numbers(entry.score, ranked.ranks.get(model)),
                    "run_id": entry.run.run_id,
                    "path": str(entry.run.path),
                }
            )
    return {
        "model": model,
        "mean": mean and _numbers(mean, board.mean_ranks.get(model)),
        "win_rate": rate,
        "win_rate_datasets": count,
        "scores": scores,
    }


def _numbers(score: Score, ranks: Ranks | None) -> dict[str, Any]:
    return {
        "value": score.value,
        "se": score.se,
        "ci_low": score.ci_low,
        "ci_high": score.ci_high,
        "ci_method": score.ci_method,
        "n": score.n,
        "coverage": score.coverage,
        "rank_best": ranks and ranks.best,
        "rank_worst": ranks and ranks.worst,
        "reason": score.reason,
    }


def csv_rows(board: Board) -> list[list[object]]:
    """Return a header, and a row for each score, mean and win rate."""
    rows: list[list[object]] = [list(CSV_HEADER)]
    for model in _model_rows(board):
        mean, count = model["mean"], len(board.columns)
        if mean is not None:
            rows.append(_csv_row(model, MEAN, {**mean, "datasets": count}))
        if model["win_rate"] is not None:
            found = {"value": model["win_rate"], "datasets": model["win_rate_datasets"]}
            rows.append(_csv_row(model, WIN_RATE, found))
        rows += [_csv_row(model, "score", score) for score in model["scores"]]
    return rows


def _model_rows(board: Board) -> list[dict[str, Any]]:
    """Return the models with what a row of CSV says of each score beside numbers."""
    by_data = {column.data: column for column in board.columns}
    models = [_model_as_json(board, model) for model in board.models]
    for score in (score for model in models for score in model["scores"]):
        column = by_data[DataSet(score["dataset"], score["split"])]
        score.update(metric=metric_name(column), tag=board.tag)
    return models


def _csv_row(model: dict[str, Any], kind: str, found: dict[str, Any]) -> list[object]:
    values = {"model": model["model"], "kind": kind, **found}
    return [values.get(name) for name in CSV_HEADER]
