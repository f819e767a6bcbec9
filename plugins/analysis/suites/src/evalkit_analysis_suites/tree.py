"""Computes the means of a suite, from its datasets to the whole."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit import Result, Score
from evalkit.base.copies import INPUT_ID
from evalkit.catalog import metric_of
from evalkit.errors import EvalkitError, MetricError
from evalkit.statistics.clusters import Floats
from evalkit.statistics.intervals import Interval, mean_of_intervals, without_interval
from evalkit_analysis_ratings.draws import (
    POOLED,
    draw_leaf,
    joint_interval,
    sample_name,
)
from evalkit_analysis_ratings.ranks import rank_ranges
from evalkit_analysis_ratings.records import Cell, Ranks, make_score
from evalkit_analysis_suites.members import Branch
from evalkit_analysis_suites.records import Member
from evalkit_analysis_suites.schema import Leaf, Normalisation, Rules, Weights
from evalkit_analysis_upkeep import merge

NOT_RANKED = "ranks were not computed"
"""Why there are no replicates."""
_SHARED = ("metric", "split", "tag", "unit", "scale", "higher_is_better")
"""Fields of a score that a mean has if all its parts agree."""


class Value(NamedTuple):
    """What one model has on a member, while means are computed."""

    cell: Cell
    samples: frozenset[str]
    """What its examples are samples of."""
    draws: Floats | str
    """Joint replicates of the value, or why there are none."""

    @property
    def score(self) -> Score:
        """The score."""
        return self.cell.score

    @property
    def number(self) -> float:
        """The value of the score; nan if it is null."""
        return math.nan if self.score.value is None else self.score.value

    @property
    def size(self) -> float:
        """Number of examples that the data have for the score."""
        return self.score.n / (self.score.coverage or 1)


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


def sample_names(cells: Mapping[str, Cell]) -> frozenset[str]:
    """Name the samples that scores are computed from."""
    runs = (run for cell in cells.values() for run in cell.runs)
    return frozenset(sample_name(run.record) for run in runs)


def draw_values(cells: Mapping[str, Cell], is_drawn: bool) -> Values:
    """Draw replicates of the scores of a leaf, if they are needed."""
    drawn = draw_leaf(cells) if is_drawn else {}
    return {
        model: Value(cell, sample_names({model: cell}), drawn.get(model, NOT_RANKED))
        for model, cell in cells.items()
    }


def evaluate(branch: Branch, context: Context, path: tuple[str, ...] = ()) -> Evaluated:
    """Compute a member of a suite, and all members below it."""
    if branch.leaf is not None:
        return _evaluated(branch, context.values[branch.leaf], context, path)
    below: list[Evaluated] = []
    members: list[Member] = []
    for child in branch.children:
        own = (*path, child.name)
        below.append(evaluate(child, context, own))
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
    if len({value.samples for value in known.values()}) > 1:
        return {}, "means of models are over different datasets"
    for model, value in known.items():
        if isinstance(value.draws, str):
            return {}, f"{model}: {value.draws}"
    numbers = {model: value.number for model, value in known.items()}
    return rank_ranges(numbers, draws, context.confidence, directions == {True})


def _scaled(value: Value, scale: Normalisation) -> Value:
    """Normalise a value; its interval and replicates move with it.

    A floor moves them as it moves the value. If it cut them, means of values near it
    would have intervals that are too narrow.
    """
    score, draws, width = value.score, value.draws, scale.high - scale.low
    if score.value is None:
        return value
    plain = (score.value - scale.low) / width
    shift = max(-plain, 0.0) if scale.floor else 0.0

    def move(numbers: Floats) -> Floats:
        return (numbers - scale.low) / width + shift

    number, *ends = move(np.array([score.value, *(score.ci or ())])).tolist()
    low, high = sorted(ends) or (None, None)
    error = None if score.se is None else abs(score.se / width)
    interval = Interval(low, high, error, score.ci_method, score.reason)
    kept = {name: getattr(score, name) for name in (*_SHARED, "n", "coverage", "flag")}
    kept |= {"value": number, "unit": "%", "scale": 100.0, "higher_is_better": True}
    cell = value.cell._replace(score=make_score(interval, **kept))
    return Value(cell, value.samples, draws if isinstance(draws, str) else move(draws))


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
    found = {part.member.path: part.values.get(model) for part in parts}
    known = {p: x for p, x in found.items() if x and x.score.value is not None}
    lacking = ", ".join(
        f"{path[-1]} ({value.score.reason if value else 'no run'})"
        for path, value in found.items()
        if path not in known
    )
    if lacking and (rules.missing == "refuse" or not known):
        why = why or f"no score for {lacking}"
    used, cells = [*known.values()], [value.cell for value in found.values() if value]
    runs = tuple({id(run): run for cell in cells for run in cell.runs}.values())
    scored = sum(cell.scored for cell in cells)
    samples = frozenset[str]().union(*(value.samples for value in used))
    try:
        if why:
            raise MetricError(why)
        if rules.mean == "pooled" and not all(map(_is_mean, used)):
            is_drawn = any(value.draws is not NOT_RANKED for value in used)
            [pooled] = draw_values({"": _pool(used)}, is_drawn).values()
            cell = pooled.cell._replace(runs=runs, scored=scored)
            return Value(cell, samples, pooled.draws)
    except EvalkitError as error:
        null = make_score(metric="mean", reason=str(error))
        return Value(Cell(null, runs, scored), samples, str(error))
    weights = [1.0] * len(used)
    if isinstance(rules.mean, Weights):
        weights = [rules.mean.weights[path[-1]] for path in known]
    elif rules.mean == "size":
        weights = [value.size for value in used]
    elif rules.mean == "pooled":
        weights = [float(value.score.n) for value in used]
    shares = np.array(weights) / math.fsum(weights)
    draws = _mean_draws(used, shares)
    interval = _interval(used, shares, draws, context)
    flags = [*interval.flags]
    if lacking:
        flags.append(f"mean of {len(used)} of {len(parts)}, {lacking}")
    n, size = sum(x.score.n for x in used), sum(x.size for x in used)
    fields = {name: {getattr(x.score, name) for x in used} for name in _SHARED}
    shared = {name: own.pop() for name, own in fields.items() if len(own) == 1}
    score = make_score(
        interval,
        **{"metric": "mean", **shared},
        value=math.fsum(shares * [value.number for value in used]),
        n=n,
        coverage=n / size if size else None,
        flag="; ".join(flags) or None,
    )
    return Value(Cell(score, runs, scored), samples, draws)


def _is_mean(value: Value) -> bool:
    """Tell whether a score is the mean of the scores of single examples."""
    mean = value.score.mean
    return mean is not None and math.isclose(mean, value.number)


def _mean_draws(parts: Sequence[Value], shares: Floats) -> Floats | str:
    draws = [part.draws for part in parts if not isinstance(part.draws, str)]
    lacking = [part.draws for part in parts if isinstance(part.draws, str)]
    return lacking[0] if lacking else shares @ np.array(draws)


def _interval(
    parts: Sequence[Value], shares: Floats, draws: Floats | str, context: Context
) -> Interval:
    """Compute the interval of a mean, by MOVER if its parts share no examples."""
    every = frozenset[str]().union(*(value.samples for value in parts))
    if len(every) < sum(len(value.samples) for value in parts):
        if isinstance(draws, str):
            return without_interval(f"its datasets share examples: {draws}")
        return joint_interval(draws, context.confidence)
    runs = [run for value in parts for run in value.cell.runs]
    if len({run.record.confidence for run in runs}) > 1:
        return without_interval("the confidence levels of the runs differ")
    values, intervals = [], []
    for value, weight in zip(parts, (shares * len(parts)).tolist(), strict=True):
        values.append(weight * value.number)
        score = value.score
        numbers = (score.ci_low, score.ci_high, score.se)
        low, high, error = (None if x is None else weight * x for x in numbers)
        intervals.append(Interval(low, high, error, reason=score.reason))
    return mean_of_intervals(values, intervals)


def _pool(values: Sequence[Value]) -> Cell:
    """Score the examples of several datasets of one model together."""
    scores = [value.score for value in values]
    kinds = {(x.metric, x.tag, x.aggregate, x.perturbation) for x in scores}
    [kind, *others] = kinds
    if others or kind[-1] is not None:
        raise MetricError("only scores of one metric and tag are pooled, unperturbed")
    runs = [run for value in values for run in value.cell.runs]
    merged = runs[0]
    if len(runs) > 1:
        parts = [_renamed(run, kind[0]) for run in runs]
        merged = merge(parts, dataset=POOLED, model=str(runs[0].model))
    for score in merged.scores:
        if (score.metric, score.tag, score.aggregate, score.perturbation) == kind:
            return Cell(score, (merged,), len(values))
    raise MetricError(f"the pooled examples have no score {kind[0]}")


def _renamed(run: Result, metric: str) -> Result:
    """Return a run with one metric, whose ids and clusters name the sample."""
    if run.examples is None:
        raise MetricError(f"the run {run.run_id} has no examples")
    owner = metric_of(metric, run.record.metric_names)
    components = tuple(
        x for x in run.record.components if x.kind != "metrics" or x.full_name == owner
    )
    start = pl.lit(f"{sample_name(run.record)}\x1f")
    names = {"id", "cluster", INPUT_ID}.intersection(run.examples.columns)
    named = ((start + pl.col(n).cast(pl.String)).alias(n) for n in sorted(names))
    examples = run.examples.with_columns(named)
    record = run.record.changed(components=components, headline=owner)
    return Result(record, (), (), examples, run.statistics)
