"""Chooses the runs of a leaf: the newest complete one of each model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from evalkit import Registry, Result, read_run
from evalkit.base.copies import FAMILY, INPUT_ID
from evalkit.catalog import metric_of
from evalkit.errors import EvalkitError, PluginError, StorageError
from evalkit.places import is_offline, is_remote, missing, uri_of
from evalkit.reporting import count_of
from evalkit.runs import RunRecord, RunSummary, find_differences, list_runs
from evalkit_analysis_ratings.records import Cell, make_score
from evalkit_analysis_robustness import find_effects
from evalkit_analysis_suites.schema import Leaf

MACRO = "macro:"
"""Prefix of a tag that stands for the mean over a facet."""


class RunPool(NamedTuple):
    """The runs that a leaderboard may use, by dataset, the newest first."""

    complete: dict[str, list[RunSummary]]
    incomplete: dict[str, list[RunSummary]]
    """Runs that were refused, or that have only some of the examples."""
    notices: list[str]
    results: dict[Path, Result | None]
    """What was read of them; None for damaged runs."""

    @property
    def datasets(self) -> list[str]:
        """The datasets with runs, by name."""
        return sorted({*self.complete, *self.incomplete})

    def runs_of(self, dataset: str) -> list[RunSummary]:
        """Return the runs of a dataset, complete ones first."""
        return self.complete.get(dataset, []) + self.incomplete.get(dataset, [])

    def read(self, run: RunSummary) -> Result | None:
        """Read a run, once; a damaged one is None, and a notice names it."""
        if run.path not in self.results:
            self.results[run.path] = None
            try:
                result = read_run(run.path)
                _ = result.scores  # which are read when they are first used
                self.results[run.path] = result
            except EvalkitError as error:
                self.notices.append(f"run {run.run_id} is left out: {error}")
        return self.results[run.path]


def find_pool(folders: Sequence[Path], since: datetime | None) -> RunPool:
    """Find the runs of folders, or of run folders, of this moment and later."""
    listed = [run for folder in folders for run in list_folder(folder)]
    pool = RunPool({}, {}, [run.problem for run in listed if run.problem], {})
    listed = [run for run in listed if not (run.problem or run.record.perturbation)]
    parents = {run.record.parent for run in listed if _counts(run)}
    for run in sorted(listed, key=_moment, reverse=True):
        if since is None or _moment(run) >= since:
            found = pool.complete if _counts(run) else pool.incomplete
            if found is pool.incomplete or run.record.fingerprint not in parents:
                found.setdefault(str(run.record.dataset), []).append(run)
    return pool


def _counts(run: RunSummary) -> bool:
    record, score = run.record, run.record.headline_score
    # all examples without a usable response, which count as wrong
    is_wrong = not record.counts.scored and record.selection.is_whole
    has_score = score is not None and score.value is not None
    return bool(record.model) and (run.is_named or (is_wrong and has_score))


def list_folder(folder: Path) -> list[RunSummary]:
    """List the runs of a folder of runs, or a run by its own folder.

    Raises:
        StorageError: The folder does not exist.
    """
    if is_remote(str(folder)):
        if found := list_runs(folder):
            return found
        uri = uri_of(folder)
        raise StorageError(missing(uri) if is_offline() else f"{uri}: no runs")
    if not folder.is_dir():
        raise StorageError(f"{folder}: folder not found")
    if (folder / "run.json").is_file():
        return [run for run in list_runs(folder.parent) if run.path == folder]
    return list_runs(folder)


def _moment(run: RunSummary) -> datetime:
    """Return when a run was evaluated; long ago if that is not known."""
    return run.started or datetime.min.replace(tzinfo=UTC)


def choose_cells(leaf: Leaf, pool: RunPool) -> list[dict[str, Cell]]:
    """Choose the score of each model on a leaf, which come first.

    A model whose run is not comparable with those of most models has no value there;
    further groups hold the scores of these. Notices say what was kept apart, and why.
    """
    split = leaf.split or _main_split(leaf, pool)
    newest: dict[str, Result] = {}
    replaced: dict[str, str] = {}
    for run in pool.complete.get(leaf.data, ()):
        model = str(run.record.model)
        if run.record.split != split:
            continue
        if (last := newest.get(model) or pool.read(run)) is None:
            continue
        newest[model] = last
        if why := _decisive(last.record, run.record, ""):
            text = f"run {last.run_id} counts, the older run {run.run_id} differs in"
            replaced.setdefault(last.run_id, f"{model} on {leaf.label}: {text} {why}")
    pool.notices.extend(replaced.values())
    metric = _metric(leaf, newest, pool.notices)
    cells = {model: _cell(leaf, metric, run) for model, run in newest.items()}
    groups = sorted(_comparable(cells), key=len, reverse=True)
    for number, group in enumerate(groups[1:], start=2):
        why = _difference(*(next(iter(x.values())) for x in (groups[0], group)))
        reason = f"not comparable: {why}; its score is in {leaf.label} [{number}]"
        null = make_score(metric=metric, split=split, reason=reason)
        cells |= {model: Cell(null, (), 0) for model in group}
    for run in pool.incomplete.get(leaf.data, ()):
        model, record = str(run.record.model), run.record
        if model not in cells and record.split == split:
            null = make_score(metric=metric, split=split, reason=_lack(record))
            cells[model] = Cell(null, (), 0)
    for group in groups:
        pool.notices.extend(_remarks(leaf.label, group))
    return [cells, *groups[1:]]


def _lack(record: RunRecord) -> str:
    """Say why a run does not count."""
    run = f"run {record.run_id}"
    if not record.model:
        return f"{run} names no model"
    if record.status == "refused":
        return f"{run} was refused"
    count = count_of(record.counts.examples, "example")
    selected = "" if record.selection.is_whole else f"only {count} selected"
    reasons = filter(None, [selected, *record.errors])
    return ": ".join([f"{run} is incomplete", *reasons])


def _main_split(leaf: Leaf, pool: RunPool) -> str:
    """Return the split with most models, and name the others."""
    models: dict[str, set[str]] = {}
    complete = pool.complete.get(leaf.data, [])
    for run in complete or pool.incomplete.get(leaf.data, []):
        models.setdefault(run.record.split, set()).add(str(run.record.model))
    main, *others = sorted(models, key=lambda x: (-len(models[x]), x)) or [""]
    pool.notices.extend(f"{leaf.label}: the split {x} does not count" for x in others)
    return main


def _decisive(first: RunRecord, second: RunRecord, metric: str) -> str:
    """Say why the scores of two runs cannot stand side by side; "" if they can."""
    return "; ".join(
        str(each)
        for each in find_differences(first, second)
        if not each.is_minor
        and (each.field != "metric" or metric_of(metric, [each.name]))
    )


def _metric(leaf: Leaf, runs: Mapping[str, Result], notices: list[str]) -> str:
    """Name the score of a leaf, with its parameters as runs spell them."""
    if leaf.metric is not None:
        own = (run[leaf.metric].metric for run in runs.values() if leaf.metric in run)
        return next(own, leaf.metric)
    found = {model: run.headline.metric for model, run in runs.items() if run.headline}
    # of most models, else of the newest run
    metric = next((name for name, _ in Counter(found.values()).most_common(1)), "")
    for model, name in found.items():
        if name != metric:
            text = f"the main score of run {runs[model].run_id} is {name}, not {metric}"
            notices.append(f"{model} on {leaf.label}: {text}")
    return metric


def _cell(leaf: Leaf, metric: str, run: Result) -> Cell:
    tag, aggregate, scores, under, view = leaf.tag, None, run.scores, None, "all"
    if leaf.metric is None and tag is None and run.headline is not None:
        is_main = run.headline.metric == metric
        aggregate = run.headline.aggregate if is_main else None
    if tag is not None and tag.startswith(MACRO):
        tag, aggregate = None, tag
    if leaf.perturbation is not None:
        effects, name = find_effects(run), leaf.perturbation.family
        family = f"{FAMILY}{name}"
        under = family if family in effects.names else name
        scores, view = tuple(effects.scores), leaf.perturbation.computed_on
    wanted = metric, tag, aggregate, under, view
    for score in scores:
        kind = score.metric, score.tag, score.aggregate
        if (*kind, score.perturbation, score.computed_on) == wanted:
            return Cell(score, (run,), int(score.value is not None))
    what = " of ".join(filter(None, (metric or "main score", leaf.tag, under)))
    reason = f"the run {run.run_id} has no score {what}"
    if leaf.perturbation is not None:
        reason += f". Add it: evalkit eval {leaf.data} --perturbed FILE|RUN"
    elif metric not in run:
        try:
            Registry().select("metrics", metric.partition("#")[0])
            reason += f". Score it: evalkit rescore {run.run_id} -m {metric}"
        except PluginError as error:
            reason += f": {error}"
    null = make_score(metric=metric, split=run.record.split, reason=reason)
    return Cell(null, (run,), 0)


def _comparable(cells: Mapping[str, Cell]) -> list[dict[str, Cell]]:
    """Group cells whose scores can stand side by side, the newest first."""
    groups: list[dict[str, Cell]] = []
    for model, cell in cells.items():
        for group in groups:
            if not any(_difference(other, cell) for other in group.values()):
                group[model] = cell
                break
        else:
            groups.append({model: cell})
    return groups


def _difference(one: Cell, other: Cell) -> str:
    """Say why two scores cannot stand side by side; "" if they can."""
    first, second = _records(one), _records(other)
    if first.keys() != second.keys():
        return f"perturbations {', '.join(first)} and {', '.join(second)}"
    metric = one.score.metric
    found = (_decisive(first[name], second[name], metric) for name in first)
    return next(filter(None, found), "")


def _records(cell: Cell) -> dict[str, RunRecord]:
    """Return the records that a score depends on, by perturbation."""
    [run] = cell.runs
    if cell.score.perturbation is None:
        return {"none": run.record}
    effects = find_effects(run)
    members = effects.members(cell.score.perturbation)
    named = zip(effects.perturbations, effects.runs, strict=True)
    records = {made.name: each.record for made, each in named if made.name in members}
    return {"none": run.record, **records}


def _remarks(name: str, cells: Mapping[str, Cell]) -> Iterator[str]:
    """Say what a reader of the scores of a leaf should know."""
    runs = {model: cell.runs[0] for model, cell in cells.items()}
    first, *others = [run.record for run in runs.values()]
    found = [x for record in others for x in find_differences(first, record)]
    minor = dict.fromkeys(str(each) for each in found if each.is_minor)
    yield from (f"{name}: runs differ in {text}" for text in minor)
    for model, run in runs.items():
        where, coverage = f"{model} on {name}", cells[model].score.coverage
        if coverage is not None and coverage < 1:
            yield f"{where}: {coverage:.1%} of the examples scored"
        statuses = {"missing", "invalid"}.intersection(run.record.policies.counted)
        if counted := sum(run.counts[status] for status in statuses):
            share = f"{counted} of {run.counts['examples']}"
            yield f"{where}: missing or invalid predictions count as wrong: {share}"
        if run.status == "partial" and not run.record.errors:
            yield f"{where}: partial, as a metric did not score all responses"
        if INPUT_ID in run.record.cluster:
            yield f"{where}: the run has perturbed examples"
