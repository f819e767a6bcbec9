"""Makes leaderboards: the runs of folders, scored by a suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from textwrap import shorten
from typing import Literal

import numpy as np

from evalkit import Registry, Score
from evalkit.errors import DataError, EvalkitError
from evalkit.statistics.clusters import Floats
from evalkit_analysis_ratings.draws import REPLICATES
from evalkit_analysis_ratings.dynascore import rate_dynascore
from evalkit_analysis_ratings.ranks import Columns, rate
from evalkit_analysis_ratings.records import Cell, Rating, make_score
from evalkit_analysis_suites.members import Members
from evalkit_analysis_suites.records import Board
from evalkit_analysis_suites.runs import RunPool, choose_cells, find_pool
from evalkit_analysis_suites.schema import Group, Leaf, Rank, Suite, Weights
from evalkit_analysis_suites.tree import (
    Context,
    Evaluated,
    Values,
    draw_values,
    evaluate,
    min_degrees,
    sample_names,
)

Progress = Callable[[str, float], None]


def make_board(
    suite: Suite | None,
    folders: Sequence[Path],
    *,
    since: datetime | None = None,
    metric: str | None = None,
    tag: str | None = None,
    rounds: Collection[int] = (),
    languages: Collection[str] = (),
    ranks: bool = True,
    progress: Progress = lambda _text, _share: None,
) -> Board:
    """Make the leaderboard of the newest complete run of each model and dataset.

    Args:
        suite: The tree of datasets. None for the mean over all datasets with runs.
        folders: Folders of runs, or run folders.
        since: Leave out runs that were evaluated before this moment.
        metric: Score of the datasets for which the suite names none.
        tag: Score of the examples with this tag, or `macro:FACET`, likewise.
        rounds: Keep only datasets of these rounds.
        languages: Keep only datasets in these languages; `en` keeps `en-GB` too.
        ranks: Whether to compute the ranks that models may have (slow).
        progress: Progress callback.

    Returns:
        The leaderboard.

    Raises:
        DataError: No run of the folders has a score.
        StorageError: A folder does not exist.
    """
    pool = find_pool(folders, since)
    name = suite.suite if suite else ""
    suite = suite or _plain(pool)
    members = Members(pool, Registry(), rounds, languages)
    tree = members.resolve(suite, name)
    leaves = [branch.leaf for branch in tree.leaves() if branch.leaf is not None]
    unknown = [leaf.data for leaf in leaves if not members.knows(leaf.data)]
    if unknown:
        pool.notices.append(f"neither installed nor with runs: {_shown(unknown)}")
    cells: dict[Leaf, list[dict[str, Cell]]] = {}
    for leaf in leaves:
        progress(f"reading {leaf.label}", len(cells) / len(leaves))
        asked = {"metric": leaf.metric or metric, "tag": leaf.tag or tag}
        cells[leaf] = choose_cells(leaf.model_copy(update=asked), pool)
    counted = [cell for groups in cells.values() for cell in groups[0].values()]
    if not any(cell.scored for cell in counted):
        reasons = dict.fromkeys(str(cell.score.reason) for cell in counted)
        notes = [*pool.notices, *reasons][:5]
        shown = _shown([leaf.label for leaf in leaves]) or "this selection"
        why = f"no score: no complete run with this metric of {shown}"
        raise DataError("; ".join([why, *notes]))
    levels = sorted({run.record.confidence for run in pool.results.values() if run})
    confidence = levels[0] if len(levels) == 1 else 0.95
    if len(levels) > 1:
        shown = " and ".join(f"{100 * level:g} %" for level in levels)
        pool.notices.append(f"intervals of runs are of {shown}; ranks are of 95 %")
    samples = {leaf: sample_names(groups[0]) for leaf, groups in cells.items()}
    times = Counter(name for leaf in leaves for name in samples[leaf])
    values: dict[Leaf, Values] = {}
    for leaf, groups in cells.items():
        progress(f"resampling {leaf.label}", len(values) / len(leaves))
        is_shared = any(times[name] > 1 for name in samples[leaf])
        values[leaf] = draw_values(groups[0], ranks or is_shared)
    apart = {leaf: groups[1:] for leaf, groups in cells.items()}
    context = Context(values, apart, confidence, ranks)
    found = evaluate(tree, context)
    models = sorted({model for own in values.values() for model in own})
    rating = _rating(suite, found, models, context)
    totals = {model: value.score for model, value in found.values.items()}
    by, scores = "mean", {model: totals.get(model) for model in models}
    if rating and (name or any(x is None or x.value is None for x in scores.values())):
        by, scores = rating.method, {**rating.scores}
    best = tuple(sorted(models, key=lambda model: sort_key(model, scores.get(model))))
    texts = tuple(dict.fromkeys(pool.notices))
    return Board(name, found.member, best, rating, confidence, texts, by)


def _shown(names: Iterable[str]) -> str:
    return shorten(", ".join(dict.fromkeys(names)), 200, placeholder=" …")


def _plain(pool: RunPool) -> Suite:
    """Make the suite of all datasets; one split of each is part of the mean."""
    weights: dict[str, float] = {}
    leaves: list[str | Leaf | Group] = []
    for dataset in pool.datasets:
        splits = Counter(run.record.split for run in pool.runs_of(dataset))
        for place, (split, _) in enumerate(splits.most_common()):
            name = f"{dataset} ({split})" if len(splits) > 1 else dataset
            weights[name] = 0.0 if place else 1.0
            leaves.append(Leaf(name=name, data=dataset, split=split))
    if not leaves:
        raise DataError("; ".join(["there are no runs", *pool.notices[:5]]))
    mean, rank = Weights(weights=weights), Rank(method="win-rate")
    return Suite(suite="plain", mean=mean, of=leaves, rank=rank)


def _rating(
    suite: Suite, found: Evaluated, models: Sequence[str], context: Context
) -> Rating | None:
    """Rate the models by the members of the suite."""
    rank = suite.rank
    if rank is None:
        return None
    if rank.method == "elo" or rank.method == "bradley-terry":
        return _pairwise(rank.method, models, context)
    parts = found.below
    cells = [[part.values.get(model) for model in models] for part in parts]
    values = np.array([[x.number if x else np.nan for x in row] for row in cells])
    directions: list[bool | None] = []
    lacking = [] if context.has_ranks else [""]  # a choice, not a finding
    drawn = np.full((REPLICATES, *values.shape), np.nan)
    for column, row in enumerate(cells):
        known = {n: x for n, x in enumerate(row) if x and x.score.value is not None}
        ways = {(x.score.higher_is_better, frozenset(x.leaves)) for x in known.values()}
        directions.append(ways.pop()[0] if len(ways) == 1 else None)
        for place, value in known.items():
            if isinstance(value.draws, str):
                name = parts[column].member.name
                lacking.append(f"{models[place]} on {name}: {value.draws}")
            else:
                drawn[:, column, place] = value.draws
    draws: Floats | str = lacking[0] if lacking else drawn
    names = tuple(part.member.name for part in parts)
    degrees = [min_degrees(part.values.values()) for part in parts]
    columns = Columns(tuple(models), names, values, tuple(directions), draws, degrees)
    if rank.method != "dynascore":
        return rate(columns, rank.method, context.confidence)
    rating = rate_dynascore(columns, str(rank.perf), rank.weights, rank.offset)
    perf = dict(zip(names, parts, strict=True))[str(rank.perf)].values.values()
    kinds = {(value.score.unit, value.score.scale) for value in perf}
    unit, scale = kinds.pop() if len(kinds) == 1 else ("", 1.0)
    shown = {m: s._replace(unit=unit, scale=scale) for m, s in rating.scores.items()}
    return rating._replace(scores=shown)


def _pairwise(
    method: Literal["elo", "bradley-terry"], models: Sequence[str], context: Context
) -> Rating:
    """Rate the models by their scores of single examples."""
    from evalkit_analysis_ratings import pairwise

    cells = [
        {model: value.cell for model, value in values.items() if value.cell.scored}
        for values in context.values.values()
    ]
    try:
        verdicts = pairwise.run_verdicts(cells)
    except EvalkitError as error:
        null = make_score(metric=method, reason=str(error))
        return Rating(method, dict.fromkeys(models, null))
    return pairwise.rate_verdicts(verdicts, method, context.confidence)


def sort_key(model: str, score: Score | None) -> tuple[bool, float, str]:
    """Return what sorts models: best first, those without a score last."""
    if score is None or score.value is None:
        return True, 0.0, model
    return False, score.value * (1 - 2 * (score.higher_is_better is not False)), model
