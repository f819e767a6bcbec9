"""Ratings from pairwise verdicts: Elo, Bradley-Terry, win rates.

Verdicts are those of judges or people, or follow from the scores of single examples.
Each bootstrap replicate draws units (ids or clusters) with all their verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple

import evalica
import numpy as np
import polars as pl
from pydantic import BaseModel, Field
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from evalkit.base.columns import named
from evalkit.errors import DataError, EvalkitError
from evalkit.statistics.clusters import Floats
from evalkit.statistics.resampling import Keys, poisson_weights
from evalkit_adapters_rows import validated_rows
from evalkit_analysis_compare.pairing import score_column
from evalkit_analysis_suites.draws import REPLICATES, hash_units, sample_units
from evalkit_analysis_suites.ranks import make_rating, mean_of_known
from evalkit_analysis_suites.records import Cell, Rating

PairwiseMethod = Literal["elo", "bradley-terry", "win-rate", "length-controlled"]

TIE = 1e-3
"""Difference of two scores of an example up to which they are a tie."""

_MOST_WEIGHTS = 5_000_000
"""Weights that are held at a time."""

_MOST_ITERATIONS = 10_000
_TOLERANCE = 1e-10
"""Of Bradley-Terry's fit, whose strengths have the geometric mean 1."""

_MOST_STEPS = 50
_SETTLED = 1e-8
"""Of Newton's method for length-controlled win rates."""


class Verdict(BaseModel):
    """A row of a file of verdicts; other keys are ignored."""

    model_a: str = Field(min_length=1)
    model_b: str = Field(min_length=1)
    winner: Literal["a", "b", "tie"]
    id: str | int | None = None
    """The example; verdicts on one example are resampled together."""
    length_a: float | None = None
    """Length of the response of model a."""
    length_b: float | None = None


_ROWS = ("unit", "a", "b", "outcome", "longer")


class Verdicts(NamedTuple):
    """Comparisons of pairs of models."""

    models: tuple[str, ...]
    """Sorted."""
    keys: Keys
    """Key of each unit, which decides how often it is drawn."""
    rows: pl.DataFrame
    """Numbers of `unit` and models `a` and `b`; `outcome` (1 if a wins, 0 if b does,
    0.5 for a tie); `longer` (length of a's response less b's; nan if unknown)."""


def read_verdicts(path: str | Path, *, seed: int = 0) -> Verdicts:
    """Read verdicts of judges or people.

    Args:
        path: JSON lines, CSV or another table with `model_a`, `model_b`, `winner` (`a`,
            `b` or `tie`), and optionally `id`, `length_a` and `length_b`.
        seed: Seed of the resampling.

    Returns:
        The verdicts.

    Raises:
        DataError: A row is invalid, or there is none.
    """
    rows = []
    for line, row in validated_rows(path, Verdict):
        if not isinstance(row, Verdict):
            problems = map(str, row if isinstance(row, list) else ())
            raise DataError(f"{path}:{line}: {'; '.join(problems)}")
        if row.model_a == row.model_b:
            raise DataError(f"{path}:{line}: model_b must differ from model_a")
        longer = np.nan
        if row.length_a is not None and row.length_b is not None:
            longer = row.length_a - row.length_b
        unit = f"row {line}" if row.id is None else f"id {row.id}"
        outcome = {"a": 1.0, "b": 0.0, "tie": 0.5}[row.winner]
        rows.append((unit, row.model_a, row.model_b, outcome, longer))
    if not rows:
        raise DataError(f"{path}: file has no verdicts")
    columns = ["key", *_ROWS[1:]]
    frame = pl.DataFrame(rows, columns, orient="row", infer_schema_length=None)
    return _number(frame.with_columns(key=hash_units(frame["key"], "verdicts", seed)))


def run_verdicts(leaves: Sequence[Mapping[str, Cell]], *, seed: int = 0) -> Verdicts:
    """Compare each pair of models on each example that both have a score of.

    The better score wins; scores that differ by 0.001 or less are a tie.

    Args:
        leaves: Cells by model of members without children.
        seed: Seed of the resampling.

    Returns:
        The verdicts.

    Raises:
        EvalkitError: A metric has no scores of single examples, or no two models have
            scores of one example.
    """
    parts = [part for cells in leaves for part in _compare(cells, seed)]
    if not sum(part.height for part in parts):
        raise EvalkitError("no two models have scores of one example")
    return _number(pl.concat(parts))


def _compare(cells: Mapping[str, Cell], seed: int) -> Iterator[pl.DataFrame]:
    scores = {model: _example_scores(cell, seed) for model, cell in cells.items()}
    for (a, one), (b, other) in combinations(scores.items(), 2):
        both = one.join(other, on=["key", "id"])
        x, y = both["score"].to_numpy(), both["score_right"].to_numpy()
        outcome = np.where(np.isclose(x, y, atol=TIE), 0.5, (x > y).astype(np.float64))
        columns = pl.lit(a).alias("a"), pl.lit(b).alias("b")
        yield both.select(
            "key", *columns, outcome=pl.Series(outcome), longer=pl.lit(np.nan)
        )


def _example_scores(cell: Cell, seed: int) -> pl.DataFrame:
    """Return `key` of the unit, `id` and `score` of each example, higher is better."""
    score = cell.score
    [run] = cell.runs
    column = score_column(run, score.metric)
    if column is None or run.examples is None:
        raise EvalkitError(
            f"{run.run_id}: {score.metric} has no scores of single examples, which "
            "ratings by pairs need. Use a metric that is their mean"
        )
    if score.higher_is_better is None:
        raise EvalkitError(f"unknown whether higher is better for {score.metric}")
    sign = 1 if score.higher_is_better else -1
    frame = run.examples.with_columns(key=sample_units(run, seed))
    if score.tag is not None:
        frame = frame.filter(pl.col("tags").list.contains(score.tag))
    scores = frame.select("key", "id", score=sign * named(column)).drop_nulls("score")
    return scores.group_by("key", "id").agg(pl.col("score").mean()).sort("key", "id")


def _number(frame: pl.DataFrame) -> Verdicts:
    models = pl.concat([frame["a"], frame["b"]]).unique().sort()
    keys, unit = np.unique(frame["key"].to_numpy(), return_inverse=True)
    numbered = pl.col("a", "b").replace_strict(models, range(len(models)))
    rows = frame.select(numbered, "outcome", "longer", unit=pl.Series(unit))
    return Verdicts(tuple(models), keys, rows)


def rate_verdicts(
    verdicts: Verdicts,
    method: PairwiseMethod,
    confidence: float = 0.95,
    *,
    reference: str | None = None,
    keep_ties: bool = True,
) -> Rating:
    """Rate models by pairwise verdicts.

    - `bradley-terry`: log strengths of maximum likelihood with mean 0; a tie is half a
      win of either model.
    - `elo`: the same on the scale of Elo, 1000 + 400 log10 strength. It does not depend
      on the order of verdicts.
    - `win-rate`: mean share of wins over the other models, or against the reference.
    - `length-controlled`: win rate against the reference if responses were equally
      long, by logistic regression on tanh(length difference / its standard deviation)
      (Dubois, Galambosi, Liang and Hashimoto 2024).

    Args:
        verdicts: The verdicts.
        method: The method.
        confidence: Probability of each interval, and of all ranks together.
        reference: Model that win rates are against.
        keep_ties: Whether ties count as half a win rather than not at all.

    Returns:
        The rating. Null with the reason if it is infinite or unknown.
    """
    models = verdicts.models
    if reference is None and method == "length-controlled":
        raise EvalkitError("a length-controlled win rate needs a reference model")
    if reference is not None and reference not in models:
        raise EvalkitError(
            f"no verdict on the reference {reference!r}. Use one of {', '.join(models)}"
        )
    if not keep_ties:
        rows = verdicts.rows.filter(pl.col("outcome") != 0.5)
        verdicts = verdicts._replace(rows=rows)
    against = -1 if reference is None else models.index(reference)
    if method == "length-controlled":
        compute = partial(_control_length, verdicts, against)
    elif method == "win-rate":
        compute = partial(_share_wins, _count_wins(verdicts), against)
    else:
        compute = partial(_fit, _count_wins(verdicts))
    rated = np.concatenate([compute(weights) for weights in _weights(verdicts)])
    if method == "elo":
        rated = 1000 + 400 / math.log(10) * rated
    draws: Floats | str = rated[1:]
    lacking = np.isnan(rated[1:, np.isfinite(rated[0])]).any(axis=1).sum()
    if lacking > REPLICATES * (1 - confidence) / 2:
        draws = f"infinite or unknown in {lacking} of {REPLICATES} replicates"
    compared = pl.concat([verdicts.rows["a"], verdicts.rows["b"]]).to_numpy()
    counts = np.bincount(compared, minlength=len(models))
    reasons = [_why_none(verdicts, method)] * len(models)
    return make_rating(method, models, rated[0], draws, counts, reasons, confidence)


def _why_none(verdicts: Verdicts, method: PairwiseMethod) -> str:
    if method == "win-rate":
        return "no comparison with another model or the reference"
    if method == "length-controlled":
        return (
            "lengths are unknown or all equal, the length or the model decides all "
            "verdicts, or there are none on the reference"
        )
    wins = _reshaped(_count_wins(verdicts), np.ones((len(verdicts.keys), 1)))[0]
    count, group = connected_components(wins > 0, connection="strong")
    models = np.array(verdicts.models)
    groups = " | ".join(", ".join(models[group == each]) for each in range(count))
    return f"infinite: of these groups, one always wins or they never meet: {groups}"


def _weights(verdicts: Verdicts) -> Iterator[Floats]:
    """Yield weights of shape (units, replicates), those of the data itself first."""
    yield np.ones((len(verdicts.keys), 1))
    step = max(1, _MOST_WEIGHTS // len(verdicts.keys))
    for first in range(0, REPLICATES, step):
        count = min(step, REPLICATES - first)
        yield poisson_weights(verdicts.keys, first, count).astype(np.float64)


def _count_wins(verdicts: Verdicts) -> csr_array[Any]:
    """Count how often models beat each other, of shape (models * models, units)."""
    unit, a, b, outcome = (verdicts.rows[n].to_numpy() for n in _ROWS[:4])
    size = len(verdicts.models)
    pairs = np.concatenate([a * size + b, b * size + a])
    shares = np.concatenate([outcome, 1 - outcome])
    shape = size * size, len(verdicts.keys)
    return coo_array((shares, (pairs, np.concatenate([unit, unit]))), shape).tocsr()


def _reshaped(counts: csr_array[Any], weights: Floats) -> Floats:
    """Return weighted wins, of shape (replicates, models, models)."""
    size = math.isqrt(counts.shape[0])
    wins: Floats = (counts @ weights).T.reshape(-1, size, size)
    return wins


def _fit(counts: csr_array[Any], weights: Floats) -> Floats:
    """Return log strengths with mean 0; nan where they are infinite."""
    wins = _reshaped(counts, weights)
    strengths = np.full(wins.shape[:2], np.nan)
    for own, won in zip(strengths, wins, strict=True):
        if connected_components(won > 0, connection="strong")[0] > 1:
            continue
        first, second = np.nonzero(won)
        fitted = evalica.bradley_terry(
            first.tolist(),
            second.tolist(),
            [evalica.Winner.X] * len(first),
            weights=won[first, second].tolist(),
            tolerance=_TOLERANCE,
            limit=_MOST_ITERATIONS,
        )
        if fitted.iterations < _MOST_ITERATIONS:
            logs = np.log(fitted.scores.sort_index().to_numpy())
            own[:] = logs - logs.mean()
    return strengths


def _share_wins(counts: csr_array[Any], against: int, weights: Floats) -> Floats:
    wins = _reshaped(counts, weights)
    with np.errstate(invalid="ignore"):
        shares: Floats = wins / (wins + wins.swapaxes(1, 2))
    return (
        shares[:, :, against] if against >= 0 else mean_of_known(shares.swapaxes(1, 2))
    )


def _control_length(verdicts: Verdicts, against: int, weights: Floats) -> Floats:
    rated = np.full((weights.shape[1], len(verdicts.models)), np.nan)
    unit, a, b, outcome, longer = (verdicts.rows[name].to_numpy() for name in _ROWS)
    is_against = (a == against) | (b == against)
    for model in {*range(len(verdicts.models))} - {against}:
        own = np.flatnonzero(is_against & ((a == model) | (b == model)))
        signs = np.where(a[own] == model, 1.0, -1.0)
        wins, lengths = 0.5 + signs * (outcome[own] - 0.5), signs * longer[own]
        if len(own) and lengths.std() > 0:
            scaled = np.tanh(lengths / lengths.std())
            rated[:, model] = _intercepts(wins, scaled, weights[unit[own]])
    return rated


def _intercepts(wins: Floats, longer: Floats, times: Floats) -> Floats:
    """Return the win rates at equal length of logistic fits; nan if one is infinite.

    Args:
        wins: Outcome of each comparison.
        longer: How much longer the response is, in some unit.
        times: Weights, of shape (comparisons, replicates).

    Returns:
        A win rate for each replicate.
    """
    middle = slope = np.zeros(times.shape[1])
    for _ in range(_MOST_STEPS):
        shares = 1 / (1 + np.exp(-middle - longer[:, None] * slope))
        spread, left = times * shares * (1 - shares), times * (wins[:, None] - shares)
        a, b, c = spread.sum(axis=0), longer @ spread, longer**2 @ spread
        d, e = left.sum(axis=0), longer @ left
        with np.errstate(invalid="ignore", divide="ignore"):
            steps = np.array([c * d - b * e, a * e - b * d]) / (a * c - b * b)
        middle, slope = np.array([middle, slope]) + np.clip(steps, -1, 1)
    is_settled = (np.abs(steps) < _SETTLED).all(axis=0)
    return np.where(is_settled, 1 / (1 + np.exp(-middle)), np.nan)
