"""Chooses the runs of a leaderboard: the newest complete one of each model and data."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evalkit.catalog import metric_of
from evalkit.errors import StorageError
from evalkit.runs import find_differences

if TYPE_CHECKING:
    import polars as pl

    from evalkit import Score
    from evalkit.runs import Result, RunRecord, RunSummary


class DataSet(NamedTuple):
    """A column of a leaderboard."""

    name: str
    """Name of the data set; with ` [2]` and so on where only some of its runs are
    comparable."""
    split: str

    @property
    def names(self) -> tuple[str, str]:
        """What it may be called: also with its split, where there are several."""
        return self.name, f"{self.name} ({self.split})"


class Chosen(NamedTuple):
    """The runs of a leaderboard."""

    runs: dict[DataSet, dict[str, Result]]
    """By data set and model, both by name."""
    notices: list[str]
    """What was left out, and why."""


class Entry(NamedTuple):
    """The score of a model on a data set."""

    run: Result
    score: Score


class Column(NamedTuple):
    """The scores of all models on a data set."""

    data: DataSet
    metric: str
    aggregate: str | None
    entries: dict[str, Entry]
    """By model; those without a value have a `reason`."""


def choose_runs(folders: Sequence[Path], since: datetime | None) -> Chosen:
    """Choose the newest complete run of each model on each data set."""
    from evalkit import read_run
    from evalkit.places import is_offline, is_remote, missing, uri_of
    from evalkit.runs import list_runs

    listed: list[RunSummary] = []
    notices: list[str] = []
    for folder in folders:
        if not is_remote(str(folder)) and not folder.is_dir():
            raise StorageError(f"there is no folder {folder}")
        found = list_runs(folder)
        if is_remote(str(folder)) and not found:
            uri = uri_of(folder)
            why = missing(uri) if is_offline() else f"there are no runs in {uri}"
            raise StorageError(why)
        notices += [run.problem for run in found if run.problem is not None]
        whole = (run for run in found if run.problem is None)
        listed += [run for run in whole if run.record.perturbation is None]
    recent = [run for run in listed if since is None or _moment(run) >= since]
    complete = [run for run in recent if run.is_named and run.record.model]
    parents = {run.record.parent for run in complete}
    complete = [run for run in complete if run.record.fingerprint not in parents]
    complete.sort(key=_moment, reverse=True)
    newest: dict[DataSet, dict[str, RunSummary]] = {}
    for run in complete:
        newest.setdefault(_data_of(run), {}).setdefault(str(run.record.model), run)
    notices += _replaced(complete, newest)
    notices += _only_incomplete(recent, newest)
    notices += _partly_scored(newest)
    runs = {
        data: {model: read_run(newest[data][model].path) for model in newest[data]}
        for data in sorted(newest)
    }
    return Chosen(runs, notices)


def _moment(run: RunSummary) -> datetime:
    """Return when a run was evaluated; long ago where it is not known."""
    return run.started or datetime.min.replace(tzinfo=UTC)


def _data_of(run: RunSummary) -> DataSet:
    return DataSet(str(run.record.dataset), run.record.split)


def _named(run: RunSummary) -> str:
    return f"{run.record.model} on {run.record.dataset} ({run.record.split})"


def _replaced(
    runs: Sequence[RunSummary], newest: dict[DataSet, dict[str, RunSummary]]
) -> list[str]:
    """Name older runs of a model that are not comparable with its newest one."""
    notices: dict[str, str] = {}
    for run in runs:
        last = newest[_data_of(run)][str(run.record.model)]
        found = _decisive(last.record, run.record)
        if found and last.run_id not in notices:
            notices[last.run_id] = (
                f"{_named(run)}: the newest run "
                f"{last.run_id} counts, the run {run.run_id} does not. They differ in "
                f"{found}"
            )
    return [*notices.values()]


def _decisive(first: RunRecord, second: RunRecord, metric: str = "") -> str:
    """Say why the scores of two runs cannot stand side by side; "" if they can."""
    return "; ".join(
        str(each)
        for each in find_differences(first, second)
        if not each.is_minor
        and (each.field != "metric" or metric_of(metric, [each.name]))
    )


def _only_incomplete(
    runs: Sequence[RunSummary], newest: dict[DataSet, dict[str, RunSummary]]
) -> list[str]:
    """Name models that have runs on a data set, of which none is complete."""
    left = dict.fromkeys(
        f"{_named(run)}: only a {run.record.status} run, which does not count"
        for run in runs
        if str(run.record.model) not in newest.get(_data_of(run), ())
    )
    return [*left]


def _partly_scored(newest: dict[DataSet, dict[str, RunSummary]]) -> list[str]:
    """Name the runs of which a metric, such as a judge's, did not score all."""
    return [
        f"{_named(run)}: partial, as a metric did not score all responses (run "
        f"{run.run_id})"
        for runs in newest.values()
        for run in runs.values()
        if run.record.status == "partial"
    ]


def columns_of(
    chosen: Chosen, metric: str | None, group: str | None
) -> tuple[list[Column], list[str]]:
    """Take the score of each run that the leaderboard shows."""
    columns: list[Column] = []
    notices: list[str] = []
    for data, runs in chosen.runs.items():
        name, aggregate = metric, group if is_mean(group) else None
        headlines = [run.headline for run in runs.values() if run.headline is not None]
        if name is None and headlines:
            name = headlines[0].metric
            aggregate = headlines[0].aggregate if group is None else aggregate
        tag = None if is_mean(group) else group
        entries = {}
        for model, run in runs.items():
            score = None if name is None else _score(run, name, aggregate, tag)
            if score is not None:
                entries[model] = Entry(run, score)
        lacking = [model for model in runs if model not in entries]
        what = f"{name or 'main score'}{f' on {group}' if group else ''}"
        if lacking:
            notices.append(
                f"{data.name}: no score {what} in the runs of {', '.join(lacking)}"
            )
        shown = str(name)  # without a metric there are no entries
        for number, beside in enumerate(_comparable(entries, shown), start=1):
            label = data.name if number == 1 else f"{data.name} [{number}]"
            columns.append(Column(data._replace(name=label), shown, aggregate, beside))
            notices += _apart(columns[-number], columns[-1])
    return columns, notices


def is_mean(group: str | None) -> bool:
    """Tell whether a group is the mean over a facet, and not a tag."""
    return group is not None and group.startswith("macro:")


def _comparable(entries: dict[str, Entry], metric: str) -> list[dict[str, Entry]]:
    """Put entries whose scores can stand side by side together, the newest first."""
    groups: list[dict[str, Entry]] = []
    for model, entry in entries.items():
        record = entry.run.record
        for group in groups:
            others = [each.run.record for each in group.values()]
            if not any(_decisive(other, record, metric) for other in others):
                group[model] = entry
                break
        else:
            groups.append({model: entry})
    return groups


def _apart(first: Column, column: Column) -> list[str]:
    """Say why a column is beside the first one, and what else a reader should know."""
    name, runs = column.data.name, [each.run for each in column.entries.values()]
    notices = []
    if column is not first:
        found = (
            _decisive(each.run.record, runs[0].record, column.metric)
            for each in first.entries.values()
        )
        why = next(filter(None, found), "")
        notices.append(f"{name}: not comparable with {first.data.name}: {why}")
    minor = dict.fromkeys(
        str(each)
        for run in runs[1:]
        for each in find_differences(runs[0].record, run.record)
        if each.is_minor
    )
    notices += [f"{name}: runs differ in {each}" for each in minor]
    copies = []
    for run in runs:
        try:
            if _is_perturbed(run.examples):
                copies.append(str(run.model))
        except StorageError as error:
            notices.append(f"{name}: {error}")
    if copies:
        notices.append(
            f"{name}: perturbed examples, in the runs of {', '.join(copies)}"
        )
    return notices


def _is_perturbed(rows: pl.DataFrame | None) -> bool:
    return (
        rows is not None
        and "input_id" in rows
        and rows["input_id"].null_count() < rows.height
    )


def _score(
    run: Result, metric: str, aggregate: str | None, tag: str | None
) -> Score | None:
    for score in run.scores:
        if (score.metric, score.aggregate, score.tag) == (metric, aggregate, tag):
            return score
    return None
