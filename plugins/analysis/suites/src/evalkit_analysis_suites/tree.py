"""Computes the means of a suite, from its datasets to the whole."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from evalkit import Result, Score
from evalkit.catalog import metric_of
from evalkit.errors import EvalkitError, MetricError
from evalkit.statistics.clusters import Floats
from evalkit.statistics.intervals import Interval, mean_of_intervals, without_interval
from evalkit_analysis_suites.draws import (
    draw_leaf,
    joint_interval,
    sample_name,
    sample_units,
)
from evalkit_analysis_suites.members import Branch, Scales
from evalkit_analysis_suites.ranks import rank_ranges
from evalkit_analysis_suites.records import Cell, Member, Ranks, make_score
from evalkit_analysis_suites.schema import Leaf, Normalisation, Rules, Weights
from evalkit_analysis_upkeep import merge

_SHARED = ("metric", "split", "tag", "perturbation", "computed_on")
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
        """The value of the score, which is not null."""
        return float(self.score.value or 0.0)

    @property
    def size(self) -> float:
        """Number of examples that the data have for the score."""
        return self.score.n / (self.score.coverage or 1)


class Evaluated(NamedTuple):
    """A member, with what the means above it are computed from."""

    member: Member
    values: Mapping[str, Value]
    """By model."""
    below: Sequence[Evaluated] = ()
    """Its members."""
    parts: Sequence[Evaluated] = ()
    """The datasets below it; empty for a dataset, and for a pooled score."""


class Context(NamedTuple):
    """What all members of a leaderboard are computed with."""

    cells: Mapping[Leaf, Sequence[Mapping[str, Cell]]]
    """For each leaf the cells that count, then those that are kept apart."""
    models: Sequence[str]
    confidence: float
    draws: str | None
    """Why no replicates are drawn; None to draw them."""
    has_ranks: bool
    progress: Callable[[str, float], None]


def evaluate(branch: Branch, context: Context, path: tuple[str, ...] = ()) -> Evaluated:
    """Compute a member of a suite, and all members below it."""
    if branch.leaf is not None:
        return _evaluated(branch, context.cells[branch.leaf][0], context, path)
    below: list[Evaluated] = []
    members: list[Member] = []
    for child in branch.children:
        own = (*path, child.name)
        below.append(evaluate(child, context, own))
        members.append(below[-1].member)
        groups = context.cells[child.leaf][1:] if child.leaf is not None else ()
        for number, cells in enumerate(groups, start=2):
            name = f"{child.name} [{number}]"
            members.append(Member(name, (*path, name), cells))
    atoms = [part for each in below for part in each.parts or (each,)]
    if branch.rules.mean == "pooled":
        found = _evaluated(branch, _pooled(branch, context), context, path)
        atoms = []
    else:
        values = _means(branch, atoms if branch.rules.flatten else below, context)
        found = _made(branch, values, context, path)
    datasets = sum(each.member.datasets for each in below)
    member = found.member._replace(datasets=datasets, children=tuple(members))
    return Evaluated(member, found.values, below, atoms)


def _evaluated(
    branch: Branch, cells: Mapping[str, Cell], context: Context, path: tuple[str, ...]
) -> Evaluated:
    """Draw replicates of cells that are computed from runs, and normalise them."""
    values: dict[str, Value] = {}
    drawn = None
    if context.draws is None:
        place = [*context.cells].index(branch.leaf) if branch.leaf else 0
        context.progress(f"resampling {branch.name}", place / len(context.cells))
        drawn = draw_leaf(cells)
    for model, cell in cells.items():
        names = frozenset(sample_name(run.record) for run in cell.runs)
        draws: Floats | str = context.draws or ""
        if drawn is not None:
            draws = drawn.values.get(model, drawn.reasons.get(model, ""))
        values[model] = Value(cell, names, draws)
    return _made(branch, values, context, path)


def _made(
    branch: Branch,
    values: Mapping[str, Value],
    context: Context,
    path: tuple[str, ...],
) -> Evaluated:
    values = {model: _scaled(each, branch.scales) for model, each in values.items()}
    ranks, reason = _ranks(values, context)
    cells = {model: value.cell for model, value in values.items()}
    return Evaluated(Member(branch.name, path, cells, 1, ranks, reason), values)


def _ranks(
    values: Mapping[str, Value], context: Context
) -> tuple[Mapping[str, Ranks], str | None]:
    """Compute the ranks that models may have, or say why there are none."""
    if not context.has_ranks:
        return {}, None
    known = {model: x for model, x in values.items() if x.score.value is not None}
    if any(value.score.higher_is_better is None for value in known.values()):
        return {}, "it is unknown whether higher is better"
    draws = {m: x.draws for m, x in known.items() if not isinstance(x.draws, str)}
    for model, value in known.items():
        if isinstance(value.draws, str):
            return {}, f"{model}: {value.draws}"
    higher = all(value.score.higher_is_better for value in known.values())
    numbers = {model: value.number for model, value in known.items()}
    return rank_ranges(numbers, draws, context.confidence, higher)


def _scaled(value: Value, scales: Scales) -> Value:
    """Normalise a value; its interval and replicates move with it."""
    for scale in scales:
        width, score = scale.high - scale.low, value.score
        if score.value is None:
            return value
        numbers = np.array([score.value, *(score.ci or ())])
        low, high, draws = None, None, value.draws

        def move(x: Floats, scale: Normalisation = scale) -> Floats:
            moved = (x - scale.low) / (scale.high - scale.low)
            return np.maximum(moved, 0.0) if scale.floor else moved

        number, *ends = move(numbers).tolist()
        if ends:
            low, high = sorted(ends)
        moved = make_score(
            **{name: getattr(score, name) for name in (*_SHARED, "n", "coverage")},
            value=number,
            se=None if score.se is None else abs(score.se / width),
            ci_low=low,
            ci_high=high,
            ci_method=score.ci_method,
            unit="%",
            scale=100.0,
            higher_is_better=True,
            reason=score.reason,
            flag=score.flag,
        )
        if not isinstance(draws, str):
            draws = move(draws)
        value = value._replace(cell=value.cell._replace(score=moved), draws=draws)
    return value


def _means(
    branch: Branch, parts: Sequence[Evaluated], context: Context
) -> dict[str, Value]:
    """Compute the mean of members for each model."""
    kinds: dict[tuple[object, ...], str] = {}
    mean = branch.rules.mean
    if isinstance(mean, Weights):
        parts = [each for each in parts if mean.weights[each.member.name]]
    for part in parts:
        for value in part.values.values():
            score = value.score
            if score.value is not None:
                kind = score.unit, score.scale, score.higher_is_better
                kinds.setdefault(kind, f"{score.metric} on {part.member.name}")
    why = None
    if len(kinds) > 1:
        why = f"scores differ in unit or direction: {', '.join(kinds.values())}"
    values = {}
    for model in context.models:
        own = {
            number: part.values[model]
            for number, part in enumerate(parts)
            if model in part.values
        }
        names = [part.member.name for part in parts]
        values[model] = _mean(branch.rules, names, own, why, context)
    return values


def _mean(
    rules: Rules,
    names: Sequence[str],
    own: Mapping[int, Value],
    why: str | None,
    context: Context,
) -> Value:
    """Compute the mean of the parts of one model, or say why there is none."""
    known = {place: x for place, x in own.items() if x.score.value is not None}
    lacking = _lacking(names, {place: x.cell for place, x in own.items()})
    weights = [1.0] * len(known)
    if isinstance(rules.mean, Weights):
        weights = [rules.mean.weights[names[place]] for place in known]
    elif rules.mean == "size":
        weights = [value.size for value in known.values()]
    if lacking and (rules.missing == "refuse" or not known):
        why = why or lacking
    parts = [*known.values()]
    runs = tuple({id(r): r for x in own.values() for r in x.cell.runs}.values())
    scored = sum(value.cell.scored for value in own.values())
    samples = frozenset[str]().union(*(value.samples for value in own.values()))
    if why:
        null = make_score(metric="mean", reason=why)
        return Value(Cell(null, runs, scored), samples, why)
    shares = [weight / math.fsum(weights) for weight in weights]
    draws = _mean_draws(parts, shares)
    interval = _interval(parts, shares, draws, context)
    shared = {
        name: getattr(parts[0].score, name)
        for name in (*_SHARED, "unit", "scale", "higher_is_better")
        if len({getattr(value.score, name) for value in parts}) == 1
    }
    n, flags = sum(value.score.n for value in parts), [*interval.flags]
    flags += [f"mean of {len(parts)} of {len(names)}; {lacking}"] if lacking else []
    score = make_score(
        **{"metric": "mean", **shared},
        value=math.fsum(map(operator.mul, shares, (x.number for x in parts))),
        se=interval.standard_error,
        ci_low=interval.low,
        ci_high=interval.high,
        ci_method=interval.method,
        n=n,
        coverage=n / size if (size := sum(value.size for value in parts)) else None,
        reason=interval.reason,
        flag="; ".join(flags) or None,
    )
    return Value(Cell(score, runs, scored), samples, draws)


def _lacking(names: Sequence[str], cells: Mapping[int, Cell]) -> str:
    """Name the parts without a score, and why; "" if all have one."""
    reasons = {
        place: cells[place].score.reason or "no value" if place in cells else "no run"
        for place in range(len(names))
        if place not in cells or cells[place].score.value is None
    }
    listed = (f"{names[place]} ({reason})" for place, reason in reasons.items())
    return f"no score for {', '.join(listed)}" if reasons else ""


def _mean_draws(parts: Sequence[Value], shares: Sequence[float]) -> Floats | str:
    total: Floats | float = 0.0
    for part, share in zip(parts, shares, strict=True):
        if isinstance(part.draws, str):
            return part.draws
        total = total + share * part.draws
    return np.asarray(total)


def _interval(
    parts: Sequence[Value],
    shares: Sequence[float],
    draws: Floats | str,
    context: Context,
) -> Interval:
    """Compute the interval of a mean: by MOVER if its parts share no examples."""
    levels = {run.record.confidence for value in parts for run in value.cell.runs}
    if sum(len(x.samples) for x in parts) > len(
        frozenset().union(*(x.samples for x in parts))
    ):
        if isinstance(draws, str):
            return without_interval(f"its datasets share examples: {draws}")
        return joint_interval(draws, context.confidence)
    if len(levels) > 1:
        return without_interval("intervals of the runs have different probabilities")
    values, intervals = [], []
    for value, share in zip(parts, shares, strict=True):
        weight, score = share * len(parts), value.score
        values.append(weight * value.number)
        low, high, error = (
            None if x is None else weight * x
            for x in (score.ci_low, score.ci_high, score.se)
        )
        intervals.append(Interval(low, high, error, reason=score.reason))
    return mean_of_intervals(values, intervals)


def _pooled(branch: Branch, context: Context) -> dict[str, Cell]:
    """Score all examples below a branch together, for each model."""
    leaves = [*branch.leaves()]
    found = {}
    for model in context.models:
        every = [context.cells[x.leaf][0] for x in leaves if x.leaf is not None]
        own = {n: cells[model] for n, cells in enumerate(every) if model in cells}
        known = [cell for cell in own.values() if cell.score.value is not None]
        why = _lacking([leaf.name for leaf in leaves], own)
        if known and (branch.rules.missing == "skip" or not why):
            try:
                found[model] = _pool(known)
                continue
            except EvalkitError as error:
                why = str(error)
        null = make_score(metric="mean", reason=why)
        runs = tuple(run for cell in own.values() for run in cell.runs)
        found[model] = Cell(null, runs, len(known))
    return found


def _pool(cells: Sequence[Cell]) -> Cell:
    """Score the examples of several cells of one model together."""
    kinds = {(x.score.metric, x.score.tag, x.score.aggregate) for x in cells}
    if len(kinds) > 1 or any(x.score.perturbation for x in cells):
        raise MetricError("only scores of one metric and tag are pooled, unperturbed")
    [kind] = kinds
    runs = [run for cell in cells for run in cell.runs]
    merged = runs[0]
    if len(runs) > 1:
        parts = [_renamed(run, kind[0]) for run in runs]
        merged = merge(parts, dataset="pooled", model=str(runs[0].model))
    for score in merged.scores:
        if (score.metric, score.tag, score.aggregate) == kind:
            return Cell(score, (merged,), len(cells))
    raise MetricError(f"the pooled examples have no score {kind[0]}")


def _renamed(run: Result, metric: str) -> Result:
    """Return a run with one metric, whose ids name the dataset."""
    owner = metric_of(metric, run.record.metric_names)
    components = tuple(
        x for x in run.record.components if x.kind != "metrics" or x.full_name == owner
    )
    if run.examples is None:
        raise MetricError(f"the run {run.run_id} has no examples")
    name = pl.lit(f"{sample_name(run.record)}\x1f")
    examples = run.examples.with_columns(
        id=name + pl.col("id"),
        cluster=pl.when(pl.col("cluster").is_not_null()).then(sample_units(run, 0)),
    )
    record = run.record.changed(components=components, headline=owner)
    return Result(record, (), (), examples, run.statistics)
