"""Chooses the runs of a leaf: the newest complete one of each model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from evalkit import Result, Score, read_run
from evalkit.base.copies import FAMILY
from evalkit.catalog import metric_of
from evalkit.errors import StorageError
from evalkit.places import is_offline, is_remote, missing, uri_of
from evalkit.runs import RunRecord, RunSummary, find_differences, list_runs
from evalkit_analysis_robustness import find_effects
from evalkit_analysis_suites.schema import Leaf

MACRO = "macro:"
"""Prefix of a tag that stands for the mean over a facet."""


class Entry(NamedTuple):
    """The score of one model on one leaf."""

    score: Score
    run: Result | None
    """None if the model has no run that counts."""


class Column(NamedTuple):
    """Scores of models on one leaf that can stand side by side."""

    leaf: Leaf
    split: str
    entries: Mapping[str, Entry]
    """By model."""


@dataclass(frozen=True)
class RunPool:
    """All runs that a leaderboard may use, by dataset, the newest first."""

    complete: Mapping[str, Sequence[RunSummary]]
    incomplete: Mapping[str, Sequence[RunSummary]]
    """Runs that were refused, or that have only some of the examples."""
    notices: tuple[str, ...]
    _results: dict[Path, Result] = field(default_factory=dict)

    @property
    def datasets(self) -> list[str]:
        """The datasets with runs, by name."""
        return sorted({*self.complete, *self.incomplete})

    def record(self, dataset: str) -> RunRecord | None:
        """Return the newest record of a dataset."""
        runs = [*self.complete.get(dataset, ()), *self.incomplete.get(dataset, ())]
        return runs[0].record if runs else None

    def read(self, run: RunSummary) -> Result:
        """Read a run, once."""
        if run.path not in self._results:
            self._results[run.path] = read_run(run.path)
        return self._results[run.path]


def find_pool(folders: Sequence[Path], since: datetime | None) -> RunPool:
    """Find the runs of folders.

    Args:
        folders: Folders of runs, or run folders.
        since: Leave out runs that were evaluated before this moment.

    Raises:
        StorageError: A folder does not exist.
    """
    listed = [run for folder in folders for run in _list(folder)]
    notices = [run.problem for run in listed if run.problem is not None]
    runs = sorted(
        (
            run
            for run in listed
            if run.problem is None and run.record.perturbation is None
            if since is None or _moment(run) >= since
        ),
        key=_moment,
        reverse=True,
    )
    parents = {run.record.parent for run in runs if _counts(run)}
    complete: dict[str, list[RunSummary]] = {}
    incomplete: dict[str, list[RunSummary]] = {}
    for run in runs:
        if not _counts(run):
            incomplete.setdefault(str(run.record.dataset), []).append(run)
        elif run.record.fingerprint not in parents:
            complete.setdefault(str(run.record.dataset), []).append(run)
    return RunPool(complete, incomplete, tuple(notices))


def _list(folder: Path) -> list[RunSummary]:
    if is_remote(str(folder)):
        found = list_runs(folder)
        if not found:
            uri = uri_of(folder)
            raise StorageError(missing(uri) if is_offline() else f"{uri}: no runs")
        return found
    if not folder.is_dir():
        raise StorageError(f"{folder}: folder not found")
    if (folder / "run.json").is_file():
        return [run for run in list_runs(folder.parent) if run.path == folder]
    return list_runs(folder)


def _counts(run: RunSummary) -> bool:
    return run.is_named and bool(run.record.model)


def _moment(run: RunSummary) -> datetime:
    """Return when a run was evaluated; long ago if that is not known."""
    return run.started or datetime.min.replace(tzinfo=UTC)


def make_columns(leaf: Leaf, pool: RunPool, notices: list[str]) -> list[Column]:
    """Make the columns of a leaf.

    Args:
        leaf: The leaf.
        pool: The runs.
        notices: Takes what was left out or kept apart, and why.

    Returns:
        The column that counts, and further ones with scores that are not comparable
        with it.
    """
    runs = [run for run in pool.complete.get(leaf.data, ()) if _fits(run, leaf)]
    split = leaf.split or _main_split(runs, leaf, notices)
    newest: dict[str, RunSummary] = {}
    for run in runs:
        if run.record.split == split:
            newest.setdefault(str(run.record.model), run)
    notices += _replaced([run for run in runs if run.record.split == split], newest)
    metric = _metric(leaf, [pool.read(run) for run in newest.values()])
    entries = {model: _entry(leaf, metric, pool.read(r)) for model, r in newest.items()}
    for run in pool.incomplete.get(leaf.data, ()):
        model = str(run.record.model)
        if model not in entries and _fits(run, leaf) and run.record.split == split:
            entries[model] = Entry(_failed(run, metric), None)
    groups = _comparable(entries)
    main, *others = sorted(groups, key=len, reverse=True) or [{}]
    columns = [Column(leaf, split, entries)]
    for number, group in enumerate(others, start=2):
        why = _difference(next(iter(main.values())), next(iter(group.values())))
        reason = f"its run is not comparable with the others: {why}"
        notices.append(f"{leaf.label} [{number}]: not comparable: {why}")
        columns.append(
            Column(
                leaf.model_copy(update={"name": f"{leaf.label} [{number}]"}),
                split,
                group,
            )
        )
        for model, entry in group.items():
            entries[model] = Entry(null_score(metric, split, reason), entry.run)
    for column in columns:
        notices += _remarks(column)
    return columns


def null_score(metric: str, split: str, reason: str) -> Score:
    """Make a score without a value."""
    empty = dict.fromkeys(Score._fields)
    return Score(**empty)._replace(  # type: ignore[arg-type]
        metric=metric,
        split=split,
        computed_on="all",
        ci_method="none",
        n=0,
        unit="",
        scale=1.0,
        reason=reason,
    )


def _fits(run: RunSummary, leaf: Leaf) -> bool:
    if leaf.extract is None:
        return True
    extraction = run.record.extraction
    return extraction is not None and extraction.text == leaf.extract


def _main_split(runs: Sequence[RunSummary], leaf: Leaf, notices: list[str]) -> str:
    """Return the split with most models, and name the others."""
    models: dict[str, set[str]] = {}
    for run in runs:
        models.setdefault(run.record.split, set()).add(str(run.record.model))
    main, *others = sorted(models, key=lambda name: (-len(models[name]), name)) or [""]
    notices += [f"{leaf.label}: runs of the split {x} do not count" for x in others]
    return main


def _replaced(
    runs: Sequence[RunSummary], newest: Mapping[str, RunSummary]
) -> Iterator[str]:
    """Name older runs of a model that are not comparable with its newest one."""
    seen = set()
    for run in runs:
        last = newest[str(run.record.model)]
        why = _decisive(last.record, run.record, "")
        if why and last.run_id not in seen:
            seen.add(last.run_id)
            yield (
                f"{run.record.model} on {run.record.dataset} ({run.record.split}): the "
                f"newest run {last.run_id} counts, the run {run.run_id} does not. They "
                f"differ in {why}"
            )


def _decisive(first: RunRecord, second: RunRecord, metric: str) -> str:
    """Say why the scores of two runs cannot stand side by side; "" if they can."""
    return "; ".join(
        str(each)
        for each in find_differences(first, second)
        if not each.is_minor
        and (each.field != "metric" or metric_of(metric, [each.name]))
    )


def _metric(leaf: Leaf, runs: Sequence[Result]) -> str:
    """Name the score of a leaf, with its parameters as runs spell them."""
    if leaf.metric is None:
        headlines = (run.headline for run in runs)
        return next((score.metric for score in headlines if score), "")
    for run in runs:
        if leaf.metric in run:
            return run[leaf.metric].metric
    return leaf.metric


def _entry(leaf: Leaf, metric: str, run: Result) -> Entry:
    tag, aggregate, scores = leaf.tag, None, run.scores
    if leaf.metric is None and tag is None and run.headline is not None:
        aggregate = run.headline.aggregate
    if tag is not None and tag.startswith(MACRO):
        tag, aggregate = None, tag
    under, view = None, "all"
    if leaf.perturbation is not None:
        effects = find_effects(run)
        named = leaf.perturbation.family
        under = f"{FAMILY}{named}" if effects.members(f"{FAMILY}{named}") else named
        scores, view = tuple(effects.scores), leaf.perturbation.computed_on
    key = metric, aggregate, tag, under, view
    for score in scores:
        own = score.metric, score.aggregate, score.tag
        if (*own, score.perturbation, score.computed_on) == key:
            return Entry(score, run)
    what = " of ".join(filter(None, (metric or "main score", leaf.tag, under)))
    reason = f"the run {run.run_id} has no score {what}"
    return Entry(null_score(metric, run.record.split, reason), run)


def _failed(run: RunSummary, metric: str) -> Score:
    """Make the score of a model that has no complete run."""
    record = run.record
    why = "; ".join(record.errors) or f"it is {record.status}"
    reason = f"the run {run.run_id} does not count: {why}"
    return null_score(metric, record.split, reason)


def _comparable(entries: Mapping[str, Entry]) -> list[dict[str, Entry]]:
    """Group entries whose scores can stand side by side, the newest first."""
    groups: list[dict[str, Entry]] = []
    for model, entry in entries.items():
        if entry.run is None:
            continue
        for group in groups:
            if not any(_difference(other, entry) for other in group.values()):
                group[model] = entry
                break
        else:
            groups.append({model: entry})
    return groups


def _difference(one: Entry, other: Entry) -> str:
    """Say why two entries cannot stand side by side; "" if they can."""
    first, second = _records(one), _records(other)
    if first.keys() != second.keys():
        return f"perturbations: {', '.join(first)} and {', '.join(second)}"
    found = (_decisive(first[x], second[x], one.score.metric) for x in first)
    return next(filter(None, found), "")


def _records(entry: Entry) -> dict[str, RunRecord]:
    """Return the records that a score depends on, by perturbation."""
    if entry.run is None:
        return {}
    records = {"none": entry.run.record}
    if entry.score.perturbation is not None:
        effects = find_effects(entry.run)
        members = effects.members(entry.score.perturbation)
        for run in effects.runs:
            made = run.record.perturbation
            if made is not None and made.name in members:
                records[made.name] = run.record
    return records


def _remarks(column: Column) -> Iterator[str]:
    """Say what a reader of a column should know."""
    name, entries = column.leaf.label, column.entries
    runs = [entry.run for entry in entries.values() if entry.run is not None]
    for text in dict.fromkeys(
        str(each)
        for run in runs[1:]
        for each in find_differences(runs[0].record, run.record)
        if each.is_minor
    ):
        yield f"{name}: runs differ in {text}"
    for model, (score, run) in entries.items():
        if score.value is None or run is None:
            continue
        if score.coverage is not None and score.coverage < 1:
            yield f"{model} on {name}: {score.coverage:.1%} of the examples scored"
        statuses = {"missing", "invalid"}.intersection(run.record.policies.counted)
        if counted := sum(run.counts[status] for status in statuses):
            yield (
                f"{model} on {name}: missing or invalid predictions count as wrong: "
                f"{counted} of {run.counts['examples']}"
            )
        if run.status == "partial":
            yield f"{model} on {name}: partial, a metric did not score all responses"
        try:
            examples = run.examples
        except StorageError as error:
            yield f"{name}: {error}"
        else:
            if examples is not None and "input_id" in examples.columns:
                if examples["input_id"].null_count() < examples.height:
                    yield f"{model} on {name}: the run has perturbed examples"
