"""Ratings from pairwise verdicts of judges or people, or on scores of examples.

Each bootstrap replicate draws units (ids or clusters) with all their verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from pydantic import BaseModel, Field
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from evalkit.errors import DataError, EvalkitError, PluginLoadError
from evalkit.statistics.clusters import Floats
from evalkit.statistics.resampling import Keys
from evalkit_adapters_rows import validated_rows
from evalkit_analysis_ratings.draws import (
    REPLICATES,
    draw_weights,
    hash_units,
    scored_examples,
)
from evalkit_analysis_ratings.ranks import make_rating, mean_of_known
from evalkit_analysis_ratings.records import Cell, Rating

PairwiseMethod = Literal["elo", "bradley-terry", "win-rate", "length-controlled"]

_MOST_ITERATIONS, _MOST_STEPS, _TOLERANCE = 10_000, 50, 1e-10
_ROWS = ("unit", "a", "b", "outcome", "longer")


class Verdict(BaseModel):
    """A row of a file of verdicts; other keys are ignored."""

    model_a: str = Field(min_length=1)
    model_b: str = Field(min_length=1)
    winner: Literal["a", "b", "tie"]
    id: str | int | None = None
    length_a: float | None = None
    length_b: float | None = None


class Verdicts(NamedTuple):
    """Comparisons of pairs of models."""

    models: tuple[str, ...]
    keys: Keys
    """Key of each unit, which decides how often it is drawn."""
    rows: pl.DataFrame
    """Numbers of `unit` and models `a` and `b`; `outcome` (1 if a wins, 0 if b does,
    0.5 for a tie); `longer` (length of a's response less b's; nan if unknown)."""


def read_verdicts(path: str | Path) -> Verdicts:
    """Read verdicts of judges or people.

    Args:
        path: JSON lines, CSV or another table with `model_a`, `model_b`, `winner` (`a`,
            `b` or `tie`), and optionally `id` of the example, whose verdicts are
            resampled together, and `length_a` and `length_b` of the responses.

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
        unit = f"row {line}" if row.id is None else f"id {row.id}"
        outcome = {"a": 1.0, "b": 0.0, "tie": 0.5}[row.winner]
        known = row.length_a is not None and row.length_b is not None
        longer = (row.length_a or 0) - (row.length_b or 0) if known else math.nan
        rows.append((unit, row.model_a, row.model_b, outcome, longer))
    if not rows:
        raise DataError(f"{path}: file has no verdicts")
    frame = pl.DataFrame(rows, _ROWS, orient="row", infer_schema_length=None)
    return _number(frame.with_columns(unit=hash_units("verdicts\x1f" + frame["unit"])))


def run_verdicts(leaves: Sequence[Mapping[str, Cell]]) -> Verdicts:
    """Compare each pair of models on each example that both have a score of.

    The better score wins; scores that differ by 0.001 or less are a tie.
    """
    parts = [part for cells in leaves for part in _compare(cells)]
    if not any(part.height for part in parts):
        raise EvalkitError("no two models have scores of one example")
    return _number(pl.concat(parts))


def _compare(cells: Mapping[str, Cell]) -> Iterator[pl.DataFrame]:
    scores = {model: _example_scores(cell) for model, cell in cells.items()}
    for (a, one), (b, other) in combinations(scores.items(), 2):
        both = one.join(other, on=["unit", "id"])
        x, y = both["score"].to_numpy(), both["score_right"].to_numpy()
        outcome = np.where(np.isclose(x, y, atol=1e-3), 0.5, (x > y).astype(np.float64))
        models = pl.lit(a).alias("a"), pl.lit(b).alias("b")
        longer = pl.lit(math.nan)
        yield both.select("unit", *models, outcome=pl.Series(outcome), longer=longer)


def _example_scores(cell: Cell) -> pl.DataFrame:
    """Return `unit`, `id` and `score` of each example; higher is better."""
    [run], score = cell.runs, cell.score
    if score.higher_is_better is None or score.computed_on != "all":
        raise EvalkitError(
            f"{run.run_id}: {score.metric} has no direction, or is an effect of "
            "perturbations. Use another metric to rate models by pairs"
        )
    sign = 1 if score.higher_is_better else -1
    scores = scored_examples(run, score).drop_nulls("score")
    oriented = pl.col("score").mean() * sign
    return scores.group_by("unit", "id").agg(oriented).sort("unit", "id")


def _number(frame: pl.DataFrame) -> Verdicts:
    models = pl.concat([frame["a"], frame["b"]]).unique().sort()
    keys, unit = np.unique(frame["unit"].to_numpy(), return_inverse=True)
    numbers = pl.col("a", "b").replace_strict(models, range(len(models)))
    rows = frame.with_columns(numbers, unit=pl.Series(unit))
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
    - `elo`: the same as 1000 + 400 log10 strength, whatever the order of verdicts.
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

    Raises:
        EvalkitError: The reference is missing or unknown.
    """
    models, against = verdicts.models, -1
    if reference in models:
        against = models.index(reference)
    elif reference is not None or method == "length-controlled":
        listed = ", ".join(models)
        raise EvalkitError(f"reference must be one of {listed}, got {reference}")
    if not keep_ties:
        rows = verdicts.rows.filter(pl.col("outcome") != 0.5)
        verdicts = verdicts._replace(rows=rows)
    wins, why = _count_wins(verdicts), "no verdict on the model and another one"
    compute = partial(_fit, wins)
    if method == "length-controlled":
        compute = partial(_control_length, verdicts, against)
        why += ", unknown or equal lengths, or length or model decides all verdicts"
    elif method == "win-rate":
        compute = partial(_share_wins, wins, against)
    else:
        why = _name_groups(wins, models)
    drawn = map(compute, draw_weights(verdicts.keys))
    rated = np.concatenate([compute(np.ones((len(verdicts.keys), 1))), *drawn])
    if method == "elo":
        rated = 1000 + 400 / math.log(10) * rated
    draws: Floats | str = rated[1:]
    lacking = np.isnan(rated[1:, np.isfinite(rated[0])]).any(axis=1).sum()
    if lacking > REPLICATES * (1 - confidence) / 2:
        draws = f"infinite or unknown in {lacking} of {REPLICATES} replicates"
    compared = pl.concat([verdicts.rows["a"], verdicts.rows["b"]]).to_numpy()
    counts = np.bincount(compared, minlength=len(models))
    reasons = [why] * len(models)
    return make_rating(method, models, rated[0], draws, counts, reasons, confidence)


def _count_wins(verdicts: Verdicts) -> csr_array[Any]:
    """Count how often models beat each other, of shape (models * models, units)."""
    unit, a, b, outcome = (verdicts.rows[name].to_numpy() for name in _ROWS[:4])
    size = len(verdicts.models)
    pairs = np.concatenate([a * size + b, b * size + a])
    shares = np.concatenate([outcome, 1 - outcome])
    shape = size * size, len(verdicts.keys)
    return coo_array((shares, (pairs, np.concatenate([unit, unit]))), shape).tocsr()


def _weighted(wins: csr_array[Any], weights: Floats) -> Floats:
    """Return wins of shape (replicates, models, models)."""
    size = math.isqrt(wins.shape[0])
    weighted: Floats = (wins @ weights).T.reshape(-1, size, size)
    return weighted


def _name_groups(wins: csr_array[Any], models: Sequence[str]) -> str:
    [total] = _weighted(wins, np.ones((wins.shape[1], 1)))
    count, group = connected_components(total > 0, connection="strong")
    names = [", ".join(np.array(models)[group == each]) for each in range(count)]
    return f"infinite rating: no wins in both directions between {' | '.join(names)}"


def _fit(wins: csr_array[Any], weights: Floats) -> Floats:
    """Return log strengths with mean 0; nan where they are infinite.

    If no finite strengths fit all models, the largest group of models that win against
    each other, directly or through others, is rated alone.
    """
    try:
        import evalica
    except ModuleNotFoundError as error:
        hint = "Install it: pip install 'evalkit-analysis-suites[pairwise]'"
        raise PluginLoadError(f"Elo and Bradley-Terry: {error}. {hint}") from error
    [total] = _weighted(wins, np.ones((wins.shape[1], 1)))
    groups = connected_components(total > 0, connection="strong")[1]
    sizes = np.bincount(groups)
    rated = np.flatnonzero(groups == sizes.argmax())
    weighted = _weighted(wins, weights)
    strengths = np.full(weighted.shape[:2], np.nan)
    if len(rated) < 2 or (sizes == len(rated)).sum() > 1:
        return strengths
    for own, won in zip(strengths, weighted[:, rated][:, :, rated], strict=True):
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
            own[rated] = logs - logs.mean()
    return strengths


def _share_wins(wins: csr_array[Any], against: int, weights: Floats) -> Floats:
    won = _weighted(wins, weights)
    with np.errstate(invalid="ignore"):
        shares: Floats = won / (won + won.swapaxes(1, 2))
    own = mean_of_known(shares.swapaxes(1, 2))
    return shares[:, :, against] if against >= 0 else own


def _control_length(verdicts: Verdicts, against: int, weights: Floats) -> Floats:
    """Fit logistic regressions by Newton's method; nan where one is infinite."""
    rated = np.full((weights.shape[1], len(verdicts.models)), np.nan)
    unit, a, b, outcome, longer = (verdicts.rows[name].to_numpy() for name in _ROWS)
    for model in range(len(verdicts.models)):
        is_own = (a == model) & (b == against) | (b == model) & (a == against)
        own = np.flatnonzero(is_own & (model != against))
        signs, times = np.where(a[own] == model, 1.0, -1.0), weights[unit[own]]
        wins, lengths = 0.5 + signs * (outcome[own] - 0.5), signs * longer[own]
        if not len(own) or not lengths.std() > 0:
            continue
        z = np.tanh(lengths / lengths.std())
        middle = slope = np.zeros(len(rated))
        for _ in range(_MOST_STEPS):
            shares = 1 / (1 + np.exp(-middle - z[:, None] * slope))
            left = times * (wins[:, None] - shares)
            spread = times * shares * (1 - shares)
            c, d, e = spread.sum(axis=0), z @ spread, z**2 @ spread
            f, g = left.sum(axis=0), z @ left
            with np.errstate(invalid="ignore", divide="ignore"):
                steps = np.array([e * f - d * g, c * g - d * f]) / (c * e - d * d)
            middle, slope = np.array([middle, slope]) + np.clip(steps, -1, 1)
        is_settled = (np.abs(steps) < _TOLERANCE).all(axis=0)
        rated[:, model] = np.where(is_settled, 1 / (1 + np.exp(-middle)), np.nan)
    return rated
