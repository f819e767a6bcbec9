"""Makes leaderboards: the runs of folders, scored by a suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from evalkit import Registry
from evalkit.errors import DataError
from evalkit.statistics.clusters import Floats
from evalkit_analysis_suites.draws import REPLICATES, sample_name
from evalkit_analysis_suites.members import Branch, Members
from evalkit_analysis_suites.ranks import Columns, Dynascore, rate
from evalkit_analysis_suites.records import Board, Cell, Rating
from evalkit_analysis_suites.runs import RunPool, choose_cells, find_pool
from evalkit_analysis_suites.schema import Group, Leaf, Rank, Suite, Weights
from evalkit_analysis_suites.tree import Context, Evaluated, evaluate

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
    members = Members(pool, Registry())
    tree = _filtered(members.resolve(suite, name), members, rounds, languages)
    cells: dict[Leaf, list[dict[str, Cell]]] = {}
    for leaf in filter(None, (branch.leaf for branch in tree.leaves())):
        progress(f"reading {leaf.label}", 0.0)
        asked = {"metric": leaf.metric or metric, "tag": leaf.tag or tag}
        cells[leaf] = choose_cells(leaf.model_copy(update=asked), pool)
    models = [*dict.fromkeys(name for found in cells.values() for name in found[0])]
    records = [x.record for x in pool.results.values()]
    notices = [*pool.notices, *members.notices]
    counted = [cell for found in cells.values() for cell in found[0].values()]
    if not any(cell.scored for cell in counted):
        reasons = dict.fromkeys(str(cell.score.reason) for cell in counted)
        lines = ["no complete run has such a score", *[*notices, *reasons][:5]]
        raise DataError("; ".join(lines))
    levels = sorted({record.confidence for record in records})
    confidence = levels[0] if len(levels) == 1 else 0.95
    if len(levels) > 1:
        shown = " and ".join(f"{100 * level:g} %" for level in levels)
        notices.append(f"intervals of runs are of {shown}; ranks are of 95 %")
    has_ranks = ranks and len(models) > 1
    why = None if has_ranks or _share_examples(cells) else "ranks were not computed"
    context = Context(cells, models, confidence, why, has_ranks, progress)
    found = evaluate(tree, context)
    rating = _rating(suite, found, context)
    by, order = _order(bool(name), found, rating, models)
    best = tuple(sorted(models, key=order))
    texts = tuple(dict.fromkeys(notices))
    return Board(name, found.member, best, rating, confidence, texts, by)


def _plain(pool: RunPool) -> Suite:
    """Make the suite of all datasets; one split of each is part of the mean."""
    weights: dict[str, float] = {}
    leaves: list[str | Leaf | Group] = []
    for dataset in pool.datasets:
        runs = [*pool.complete.get(dataset, ()), *pool.incomplete.get(dataset, ())]
        splits = Counter(run.record.split for run in runs)
        for split, _ in splits.most_common():
            name = f"{dataset} ({split})" if len(splits) > 1 else dataset
            weights[name] = float(split == splits.most_common(1)[0][0])
            leaves.append(Leaf(name=name, data=dataset, split=split))
    if not leaves:
        raise DataError("; ".join(["there are no runs", *pool.notices[:5]]))
    mean, rank = Weights(weights=weights), Rank(method="win-rate")
    return Suite(suite="plain", mean=mean, of=leaves, rank=rank)


def _filtered(
    tree: Branch, members: Members, rounds: Collection[int], languages: Collection[str]
) -> Branch:
    """Leave out datasets of other rounds and languages."""
    left_out = set()
    for leaf in filter(None, (branch.leaf for branch in tree.leaves())):
        about = members.about(leaf.data)
        if about is None and (rounds or languages):
            members.notices.append(f"{leaf.label}: left out, as nothing describes it")
            left_out.add(leaf.data)
        elif about is not None and not (
            (not rounds or about.round_id in rounds)
            and (not languages or _is_in(about.languages, languages))
        ):
            left_out.add(leaf.data)
    found = tree.without(left_out)
    if found is None:
        raise DataError("no dataset is of these rounds and languages")
    return found


def _is_in(codes: Collection[str], languages: Collection[str]) -> bool:
    """Tell whether a code is one of the languages; en-GB is in en."""
    starts = tuple(f"{language}-".lower() for language in languages)
    return any(f"{code}-".lower().startswith(starts) for code in codes)


def _share_examples(cells: Mapping[Leaf, Sequence[Mapping[str, Cell]]]) -> bool:
    """Tell whether leaves of a model are samples of the same examples."""
    samples = Counter(
        (model, sample_name(run.record))
        for found in cells.values()
        for model, cell in found[0].items()
        for run in cell.runs
    )
    return any(count > 1 for count in samples.values())


def _rating(suite: Suite, found: Evaluated, context: Context) -> Rating | None:
    """Rate the models by the members of the suite."""
    rank = suite.rank
    if rank is None or rank.method == "elo" or rank.method == "bradley-terry":
        return None
    weights = suite.mean.weights if isinstance(suite.mean, Weights) else {}
    parts = [x for x in found.below if weights.get(x.member.name, 1)]
    models = context.models
    values = np.full((len(parts), len(models)), np.nan)
    drawn = np.full((REPLICATES, *values.shape), np.nan)
    draws: Floats | str = context.draws or drawn
    directions: list[bool | None] = []
    for column, part in enumerate(parts):
        scores = {m: x for m, x in part.values.items() if x.score.value is not None}
        ways = {value.score.higher_is_better for value in scores.values()}
        directions.append(next(iter(ways)) if len(ways) == 1 else None)
        for model, value in scores.items():
            place = column, models.index(model)
            values[place] = value.score.value
            if isinstance(value.draws, str):
                draws = f"{model} on {part.member.name}: {value.draws}"
            else:
                drawn[(slice(None), *place)] = value.draws
    names = tuple(part.member.name for part in parts)
    columns = Columns(tuple(models), names, values, tuple(directions), draws)
    settings = None
    if rank.perf is not None:
        settings = Dynascore(rank.perf, rank.weights, rank.offset)
    return rate(columns, rank.method, context.confidence, settings)


def _order(
    is_rated: bool, found: Evaluated, rating: Rating | None, models: Sequence[str]
) -> tuple[str, Callable[[str], tuple[bool, float, str]]]:
    """Choose what models are sorted by: best first, those without a number last."""
    scores = {model: value.score for model, value in found.values.items()}
    by = "mean"
    lacks = any(scores[model].value is None for model in models)
    if rating is not None and (is_rated or lacks):
        by, scores = rating.method, {**rating.scores}

    def order(model: str) -> tuple[bool, float, str]:
        score = scores.get(model)
        if score is None or score.value is None:
            return True, 0.0, model
        lower_is_better = score.higher_is_better is False
        return False, score.value if lower_is_better else -score.value, model

    return by, order
