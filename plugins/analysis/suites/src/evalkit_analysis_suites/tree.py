"""Computes the means of a suite, from its datasets to the whole."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evalkit import Score
from evalkit.errors import EvalkitError, MetricError
from evalkit.statistics.clusters import Floats
from evalkit.statistics.intervals import Interval, mean_of_intervals, without_interval
from evalkit_analysis_ratings.draws import (
    Drawn,
    draw_leaf,
    joint_interval,
    sample_name,
    sample_units,
)
from evalkit_analysis_ratings.pooling import pool_cells
from evalkit_analysis_ratings.ranks import rank_ranges
from evalkit_analysis_ratings.records import Cell, Ranks, make_score
from evalkit_analysis_suites.members import Branch
from evalkit_analysis_suites.records import Member
from evalkit_analysis_suites.schema import Leaf, Normalisation, Rules, Weights

NOT_RANKED = "ranks were not computed"
"""Why there are no replicates."""
_SHARED = ("metric", "split", "tag", "unit", "scale", "higher_is_better")
"""Fields of a score that a mean has if all its parts agree."""
_NORMALIZED = "normalized "


class Value(NamedTuple):
    """What one model has on a member, while means are computed."""

    cell: Cell
    leaves: Mapping[tuple[str, ...], Cell]
    """The scores of datasets that it is computed from, by path."""
    raw: Score
    """The score without floors."""
    drawn: Drawn | str
    """Joint replicates of it, or why there are none."""
    size: float
    """Number of distinct examples that the data have for the score."""
    is_floored: bool = False
    """Whether it cannot be below 0."""

    @property
    def score(self) -> Score:
        """The score."""
        return self.cell.score

    @property
    def number(self) -> float:
        """The value of the score; nan if it is null."""
        return math.nan if self.score.value is None else self.score.value

    @property
    def draws(self) -> Floats | str:
        """Replicates that floors move as they move the value, and do not cut."""
        if isinstance(self.drawn, str) or self.raw.value is None:
            return str(self.drawn)
        return self.drawn.values + (self.number - self.raw.value)


Values = Mapping[str, Value]
"""Values by model."""


class Evaluated(NamedTuple):
    """A member, with what the means above it are computed from."""

    member: Member
    values: Values
    below: Sequence[Evaluated] = ()
    """Its members, without those of the weight 0."""
    parts: Sequence[Evaluated] = ()
    """The datasets below it; empty for a dataset, and for a pooled score."""


class Context(NamedTuple):
    """What the members of a leaderboard are computed from."""

    values: Mapping[Leaf, Values]
    apart: Mapping[Leaf, Sequence[Mapping[str, Cell]]]
    """Groups of scores that are not comparable with the values."""
    confidence: float
    has_ranks: bool


def sample_names(cells: Mapping[Any, Cell]) -> frozenset[str]:
    """Name the samples that scores are computed from."""
    runs = (run for cell in cells.values() for run in cell.runs)
    return frozenset(sample_name(run.record) for run in runs)


def draw_values(cells: Mapping[str, Cell], is_drawn: bool) -> Values:
    """Draw replicates of the scores of a leaf, if they are needed."""
    drawn = draw_leaf(cells) if is_drawn else {}
    sizes = {m: x.score.n / (x.score.coverage or 1) for m, x in cells.items()}
    return {
        model: Value(cell, {}, cell.score, drawn.get(model, NOT_RANKED), sizes[model])
        for model, cell in cells.items()
    }


def min_degrees(values: Iterable[Value]) -> float:
    """Return the fewest degrees of freedom of some values."""
    units = (x.drawn.units for x in values if not isinstance(x.drawn, str))
    return min(units, default=math.inf) - 1


def evaluate(branch: Branch, context: Context, path: tuple[str, ...] = ()) -> Evaluated:
    """Compute a member of a suite, and all members below it."""
    if branch.leaf is not None:
        own = context.values[branch.leaf].items()
        leaf = {m: value._replace(leaves={path: value.cell}) for m, value in own}
        return _evaluated(branch, leaf, context, path)
    below: list[Evaluated] = []
    members: list[Member] = []
    times = Counter[str]()
    for child in branch.children:
        times[child.name] += 1
        if times[child.name] > 1:
            child = child._replace(name=f"{child.name} ({times[child.name]})")
        below.append(evaluate(child, context, (*path, child.name)))
        members.append(below[-1].member)
        groups = context.apart[child.leaf] if child.leaf is not None else ()
        for number, cells in enumerate(groups, start=2):
            name = f"{child.name} [{number}]"
            members.append(Member(name, (*path, name), cells))
    mean = branch.rules.mean
    if isinstance(mean, Weights):
        below = [each for each in below if mean.weights[each.member.name]]
    atoms = [part for each in below for part in each.parts or (each,)]
    is_pooled = mean == "pooled"
    used = atoms if is_pooled or branch.rules.flatten else below
    values = _means(branch.rules, used, context)
    member, values, *_ = _evaluated(branch, values, context, path)
    datasets = sum(each.member.datasets for each in below)
    member = member._replace(datasets=datasets, children=tuple(members))
    return Evaluated(member, values, below, () if is_pooled else atoms)


def _evaluated(
    branch: Branch, values: Values, context: Context, path: tuple[str, ...]
) -> Evaluated:
    """Normalise the values of a member, and rank the models."""
    for scale in branch.scales:
        values = {model: _scaled(value, scale) for model, value in values.items()}
    ranks, reason = _ranks(values, context)
    cells = {model: value.cell for model, value in values.items()}
    return Evaluated(Member(branch.name, path, cells, 1, ranks, reason), values)


def _ranks(values: Values, context: Context) -> tuple[Mapping[str, Ranks], str | None]:
    """Compute the ranks that models may have, or say why there are none."""
    if not context.has_ranks:
        return {}, None
    known = {model: x for model, x in values.items() if x.score.value is not None}
    draws = {m: x.draws for m, x in known.items() if not isinstance(x.draws, str)}
    directions = {value.score.higher_is_better for value in known.values()}
    if None in directions:
        return {}, "it is unknown whether higher is better"
    if len({frozenset(value.leaves) for value in known.values()}) > 1:
        return {}, "means of models are over different datasets"
    for model, value in known.items():
        if isinstance(value.draws, str):
            return {}, f"{model}: {value.draws}"
    numbers = {model: value.number for model, value in known.items()}
    degrees, up = min_degrees(known.values()), directions == {True}
    return rank_ranges(numbers, draws, context.confidence, up, degrees)


def _scaled(value: Value, scale: Normalisation) -> Value:
    """Normalise a value; a floor leaves what the means above are computed from."""
    if value.score.value is None:
        return value
    drawn, least = value.drawn, 0.0 if scale.floor else -math.inf
    if not isinstance(drawn, str):
        moved = (drawn.values - scale.low) / (scale.high - scale.low)
        drawn = drawn._replace(values=moved)
    cell = value.cell._replace(score=_moved(value.score, scale, least))
    raw = _moved(value.raw, scale, -math.inf)
    return value._replace(cell=cell, raw=raw, drawn=drawn, is_floored=scale.floor)


def _moved(score: Score, scale: Normalisation, least: float) -> Score:
    numbers, width = [score.value or 0.0, *(score.ci or ())], scale.high - scale.low
    number, *ends = [max(least, (x - scale.low) / width) for x in numbers]
    low, high = sorted(ends) or (None, None)
    error = None if score.se is None else abs(score.se / width)
    interval = Interval(low, high, error, score.ci_method, score.reason)
    kept = {name: getattr(score, name) for name in (*_SHARED, "n", "coverage", "flag")}
    name, up = score.metric.removeprefix(_NORMALIZED), score.higher_is_better
    kept |= {"metric": _NORMALIZED + name, "unit": "%", "scale": 100.0}
    if up is not None and width < 0:
        kept["higher_is_better"] = not up
    return make_score(interval, **kept, value=number)


def _means(rules: Rules, parts: Sequence[Evaluated], context: Context) -> Values:
    """Compute the mean of members for each model."""
    kinds: dict[tuple[object, ...], str] = {}
    for part in parts:
        for score in (value.score for value in part.values.values()):
            if score.value is not None:
                kind = score.unit, score.scale, score.higher_is_better
                kinds.setdefault(kind, f"{score.metric} on {part.member.name}")
    why = f"scores differ in unit or direction: {', '.join(kinds.values())}"
    why = why if len(kinds) > 1 else ""
    models = dict.fromkeys(model for part in parts for model in part.values)
    return {model: _mean(rules, parts, model, why, context) for model in models}


def _mean(
    rules: Rules, parts: Sequence[Evaluated], model: str, why: str, context: Context
) -> Value:
    """Compute the mean of the parts of one model, or say why there is none."""
    found = [(part.member.name, part.values.get(model)) for part in parts]
    known = [(name, x) for name, x in found if x and x.score.value is not None]
    lacking = ", ".join(
        f"{name} ({value.score.reason if value else 'no run'})"
        for name, value in found
        if not value or value.score.value is None
    )
    if lacking and (rules.missing == "refuse" or not known):
        why = why or f"no score for {lacking}"
    used, cells = [x for _, x in known], [value.cell for _, value in found if value]
    runs = tuple({id(run): run for cell in cells for run in cell.runs}.values())
    scored = sum(cell.scored for cell in cells)
    leaves = {path: cell for value in used for path, cell in value.leaves.items()}
    try:
        if why:
            raise MetricError(why)
        if rules.mean == "pooled" and not all(map(_is_mean, used)):
            is_drawn = any(value.drawn is not NOT_RANKED for value in used)
            [pooled] = draw_values({"": pool_cells(cells)}, is_drawn).values()
            cell = pooled.cell._replace(runs=runs, scored=scored)
            return pooled._replace(cell=cell, leaves=leaves)
    except EvalkitError as error:
        null = make_score(metric="mean", reason=str(error))
        return Value(Cell(null, runs, scored), leaves, null, str(error), 0.0)
    weights = [1.0] * len(used)
    if isinstance(rules.mean, Weights):
        weights = [rules.mean.weights[name] for name, _ in known]
    elif rules.mean == "size":
        weights = [value.size for value in used]
    elif rules.mean == "pooled":
        weights = [float(value.score.n) for value in used]
    shares = np.array(weights) / math.fsum(weights)
    is_apart = _are_apart(used)
    drawn = _mean_drawn(used, shares, is_apart)
    interval = _mover(used, shares) if is_apart else _joint(drawn, context.confidence)
    flags = [*interval.flags]
    if lacking:
        flags.append(f"mean of {len(used)} of {len(parts)}, {lacking}")
    n, sizes = sum(x.score.n for x in used), sum(x.size for x in used)
    size = sizes if is_apart else pl.concat(map(_examples, used)).n_unique()
    fields = {name: {getattr(x.score, name) for x in used} for name in _SHARED}
    shared = {name: own.pop() for name, own in fields.items() if len(own) == 1}
    raw = make_score(
        interval,
        **{"metric": "mean", **shared},
        value=math.fsum(shares * [value.raw.value for value in used]),
        n=min(n, round(size)),
        coverage=n / sizes if sizes else None,
        flag="; ".join(flags) or None,
    )
    number = math.fsum(shares * [value.number for value in used])
    is_floored = all(value.is_floored for value in used)
    cell = Cell(_raised(raw, number, is_floored), runs, scored)
    return Value(cell, leaves, raw, drawn, size, is_floored)


def _raised(raw: Score, number: float, is_floored: bool) -> Score:
    """Return a mean with the floors of its parts, which are no evidence to raise it.

    So the lower bound stays that without floors; the upper bound moves with the value.
    """
    low, high, shift = raw.ci_low, raw.ci_high, number - (raw.value or 0.0)
    if low is not None and high is not None:
        low, high = low + min(shift, 0.0), high + max(shift, 0.0)
        low = max(low, 0.0) if is_floored else low
    return raw._replace(value=number, ci_low=low, ci_high=high)


def _is_mean(value: Value) -> bool:
    """Tell whether a score is the mean of the scores of single examples."""
    mean = value.score.mean
    return mean is not None and math.isclose(mean, value.number)


def _examples(value: Value) -> pl.DataFrame:
    """Return the `unit` and `id` of the examples of a value."""
    frames = []
    for cell in value.leaves.values():
        tag, [run] = cell.score.tag, cell.runs
        has_tag = True if tag is None else pl.col("tags").list.contains(tag)
        if run.examples is not None:
            rows = run.examples.with_columns(unit=sample_units(run)).filter(has_tag)
            frames.append(rows.select("unit", "id"))
    return pl.concat(frames).unique()


def _are_apart(parts: Sequence[Value]) -> bool:
    """Tell whether parts share no units, as different samples or disjoint tags do."""
    names = [sample_names(value.leaves) for value in parts]
    if len(frozenset[str]().union(*names)) == sum(map(len, names)):
        return True
    units = [_examples(value)["unit"].unique() for value in parts]
    return pl.concat(units).n_unique() == sum(map(len, units))


def _mean_drawn(parts: Sequence[Value], shares: Floats, is_apart: bool) -> Drawn | str:
    """Return replicates of a mean, with Satterthwaite's number of units."""
    known = [x.drawn for x in parts if not isinstance(x.drawn, str)]
    if len(known) < len(parts):
        return next(x.drawn for x in parts if isinstance(x.drawn, str))
    draws = shares[:, None] * np.array([each.values for each in known])
    units = [each.units for each in known]
    squares = np.nanvar(draws, axis=1)
    least, spread = min(units), squares @ (squares / np.subtract(units, 1))
    if is_apart and spread:
        least = max(least, 1 + squares.sum() ** 2 / spread)
    return Drawn(draws.sum(axis=0), least)


def _joint(drawn: Drawn | str, confidence: float) -> Interval:
    if isinstance(drawn, str):
        return without_interval(f"its datasets share examples: {drawn}")
    return joint_interval(drawn.values, confidence)


def _mover(parts: Sequence[Value], shares: Floats) -> Interval:
    """Compute the interval of a mean whose parts share no examples."""
    runs = [run for value in parts for run in value.cell.runs]
    if len({run.record.confidence for run in runs}) > 1:
        return without_interval("the confidence levels of the runs differ")
    values, intervals = [], []
    for value, weight in zip(parts, (shares * len(parts)).tolist(), strict=True):
        score = value.raw
        values.append(weight * (score.value or 0.0))
        numbers = (score.ci_low, score.ci_high, score.se)
        low, high, error = (None if x is None else weight * x for x in numbers)
        intervals.append(Interval(low, high, error, reason=score.reason))
    return mean_of_intervals(values, intervals)
