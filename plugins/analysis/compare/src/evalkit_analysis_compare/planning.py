"""Plans how many examples the next comparison needs, from runs that were made.

The variance of a difference between two models is measured where two runs are given.
One run says how far one model's scores are spread, but not how alike another model's
would be, so that a plan from it is a table: a row for each of some correlations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from evalkit import Result, Score
from evalkit.base.columns import all_named, named
from evalkit.errors import EvalkitError
from evalkit.runs import as_result
from evalkit.statistics.student_t import t_quantile
from evalkit_analysis_compare.comparison import compare
from evalkit_analysis_compare.pairing import pair_runs, refuse_repeated, score_column
from evalkit_analysis_compare.power import (
    MOST_UNITS,
    POWER,
    Goal,
    error_of_equal_models,
)
from evalkit_analysis_compare.score_spreads import (
    AS_IT_IS,
    ScoreVariance,
    of_difference,
    score_variance,
    spread_of_differences,
    spread_of_set,
)

CORRELATIONS = (0.0, 0.25, 0.5, 0.75, 0.9)
"""Correlations of two models' scores that a plan from one run supposes."""


class Requirement(NamedTuple):
    """What is needed under one supposition."""

    correlation: float | None
    """Supposed correlation of the two models' scores; None where it was measured."""
    disagreement: float | None
    """Share of examples on which exactly one model is right; None for other scores."""
    answers: int | None
    """Answers per example; None where the runs have one each."""
    examples: int
    """Examples that are needed, of each tag where there are several."""
    clusters: int | None
    """Clusters that hold them, of the size that they have now; None for none."""
    half_width: float | None
    """Half the width of one model's interval with so many examples, as stored."""
    detectable: float | None
    """Smallest difference that as many examples as now find; None for none."""


class Plan(NamedTuple):
    """How many examples a comparison needs, and what that rests on."""

    metric: str
    models: tuple[str | None, ...]
    """The model of the run, or of both runs."""
    difference: float
    """What is to be detected, in the unit that scores are stored in."""
    power: float
    confidence: float
    tags: int
    """How many tests share the level."""
    level: float
    """Of each test: 1 less the confidence, shared by the tags (Bonferroni)."""
    value: float
    """The score of the (first) run."""
    half_width: float | None
    """Half the width of Student's interval with as many examples as now, by which those
    of the rows are measured."""
    n: int
    n_clusters: int | None
    deviation: float
    """Standard deviation of the scores of examples; with two runs of their
    differences."""
    intraclass_correlation: float | None
    """Of scores (with two runs of differences) within a cluster; None if not known."""
    design_effect: float | None
    """How many times as many examples clusters make necessary."""
    replications: int | None
    stddev_within: float | None
    """Standard deviation of an example's answers; with two runs of both together."""
    unit: str
    scale: float
    rows: tuple[Requirement, ...]
    assumptions: tuple[str, ...]
    """What must hold for the numbers to be right."""
    ci_low: float | None = None
    """The interval of the (first) run's score as the run holds it, and its confidence;
    None where it has none."""
    ci_high: float | None = None
    ci_confidence: float | None = None
    value_n: int | None = None
    """Examples that the score of the (first) run is of."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**self._asdict(), "rows": [row._asdict() for row in self.rows]}


def plan(
    run: Result | str | Path,
    other: Result | str | Path | None = None,
    *,
    detect: float,
    metric: str | None = None,
    tags: int = 1,
    power: float = POWER,
    confidence: float | None = None,
    folder: str | Path = "runs",
) -> Plan:
    """Say how many examples are needed to detect a difference between two models.

    Args:
        run: A result, the path of a run folder, the start of its id, its model, or
            `latest`.
        other: A run of another model on the same data, by which the variance of the
            difference is measured; without it, a table supposes several.
        detect: The difference, in the unit that scores are stored in: 0.02 is two
            points of a proportion.
        metric: Name of a score of the whole set; the main one by default.
        tags: How many tests share the level, such as one for each tag.
        power: Probability of finding the difference, from above the level to below 1.
        confidence: 1 less the level of the tests; the run's by default.
        folder: Folder that runs are looked for in.

    Returns:
        What is needed, and under which assumptions.

    Raises:
        AlignmentError: The two runs are not of the same data, or are one run.
        EvalkitError: The difference cannot be or the runs do not tell a variance.
        StorageError: A run cannot be read.
    """
    results = [as_result(each, folder) for each in (run, other) if each is not None]
    refuse_repeated(results)
    score = _score(results, metric)
    of_run = results[0].record.confidence
    confidence = of_run if confidence is None else confidence
    goal = _goal(score, detect, tags, power, confidence)
    alone = _spread(results[0], score.metric)
    spread = alone if other is None else _spread_of_both(results, score.metric)
    if not spread.variance > 0:
        what = "all scores are equal" if other is None else "the runs do not differ"
        raise EvalkitError(
            f"{score.metric}: {what}, so that nothing says how far they would be spread"
        )
    _refuse_impossible(score, spread, goal)
    measured = other is not None
    rows = tuple(_rows(spread, alone, goal, confidence, measured=measured))
    return Plan(
        metric=score.metric,
        models=tuple(result.model for result in results),
        difference=goal.difference,
        power=power,
        confidence=confidence,
        tags=tags,
        level=goal.level,
        value=float(score.value or 0.0),
        half_width=_half_width(alone, alone.n, alone.replications, confidence),
        n=spread.n,
        n_clusters=spread.clusters,
        deviation=math.sqrt(spread.variance),
        intraclass_correlation=spread.intraclass_correlation,
        design_effect=spread.design_effect,
        replications=spread.replications,
        stddev_within=spread.within and math.sqrt(spread.within),
        unit=score.unit,
        scale=score.scale,
        rows=rows,
        assumptions=tuple(_assumptions(spread, goal, tags, rows)),
        ci_low=score.ci_low,
        ci_high=score.ci_high,
        ci_confidence=None if score.ci is None else of_run,
        value_n=score.n,
    )


def _score(results: list[Result], metric: str | None) -> Score:
    headline = results[0].headline
    name = metric or (headline and headline.metric)
    for result in results:
        if name is None or name not in result:
            known = ", ".join(result.metrics) or "none"
            raise EvalkitError(
                f"{result.model} ({result.run_id}) has no score {name!r}; it has "
                f"{known}"
            )
    score = results[0][str(name)]
    if score.value is None:
        raise EvalkitError(f"{name} has no value: {score.reason}")
    return score


def _spread(result: Result, metric: str) -> ScoreVariance:
    column = score_column(result, metric) if result.examples is not None else None
    if column is not None:
        return score_variance(result, metric, column)
    score = result[metric]
    if score.se is None:
        raise EvalkitError(
            f"{metric} has no standard error to plan with: {score.reason}"
        )
    return spread_of_set(score.se, score.n, score.n_clusters, score.replications)


def _spread_of_both(results: list[Result], metric: str) -> ScoreVariance:
    first, second = results
    columns = [
        score_column(result, metric) if result.examples is not None else None
        for result in results
    ]
    if columns[0] is not None and columns[1] is not None:
        pair = pair_runs(first, second, common=True)
        mine = pair.example_scores(first, columns[0])
        theirs = pair.example_scores(second, columns[1])
        within = [result[metric].stddev_within for result in results]
        counts = [result[metric].replications for result in results]
        return spread_of_differences(mine, theirs, pair.clusters, within, counts)
    if _have_same_outputs(first, second):
        raise EvalkitError(
            f"{metric}: the runs do not differ, so that nothing says how far they "
            "would be spread"
        )
    found = compare(first, second, metrics=[metric], tags=False, common=True).rows[0]
    if found.se is None:
        raise EvalkitError(f"{metric}: the runs do not tell: {found.reason}")
    error = error_of_equal_models(
        found.se, float(found.difference or 0.0), found.n_clusters or found.n
    )
    return spread_of_set(error, found.n, found.n_clusters, first[metric].replications)


def _rows(
    spread: ScoreVariance,
    alone: ScoreVariance,
    goal: Goal,
    confidence: float,
    *,
    measured: bool,
) -> Iterator[Requirement]:
    supposed = [None] if measured else _correlations(spread, goal)
    for answers in _answers(spread):
        for correlation in supposed:
            factors = AS_IT_IS if correlation is None else of_difference(correlation)
            units = spread.units_needed(goal, factors, answers)
            if units >= MOST_UNITS:
                raise EvalkitError(
                    f"the difference to detect, {goal.difference:g} as stored, is too "
                    f"small to plan for: it needs {MOST_UNITS:.0e} examples or more"
                )
            examples = math.ceil(units * spread.cluster_size)
            yield Requirement(
                correlation,
                spread.disagreement_at(goal.difference, factors),
                answers,
                examples,
                None if spread.clusters is None else units,
                _half_width(alone, examples, answers, confidence),
                spread.difference_found(goal, factors, answers),
            )


def _correlations(spread: ScoreVariance, goal: Goal) -> Sequence[float | None]:
    """Return the correlations that are supposed, as far as they are possible.

    Two models whose shares differ by d disagree on d of the examples at least: then
    their difference has the variance d - d².
    """
    if not spread.binary:
        return CORRELATIONS
    least = goal.difference - goal.difference**2
    greatest = max(0.0, 1 - least / (2 * spread.variance))
    possible = [each for each in CORRELATIONS if each < greatest]
    return possible if len(possible) == len(CORRELATIONS) else [*possible, greatest]


def _answers(spread: ScoreVariance) -> Sequence[int | None]:
    """Return the numbers of answers per example that are planned for."""
    if spread.replications is None:
        return [None]
    if spread.within is None:
        return [spread.replications]
    return sorted({1, spread.replications, 2 * spread.replications})


def _half_width(
    spread: ScoreVariance, examples: int, answers: int | None, confidence: float
) -> float | None:
    units = examples / spread.cluster_size
    if units < 2:
        return None
    error = math.sqrt(spread.variance_of_unit(AS_IT_IS, answers) / units)
    return t_quantile(confidence, max(1, round(units) - 1)) * error


def _assumptions(
    spread: ScoreVariance, goal: Goal, tags: int, rows: Sequence[Requirement]
) -> Iterator[str]:
    yield "further examples are like those of the run; both models answer all of them"
    yield _how_alike(spread, goal, rows)
    if spread.binary and rows[-1].correlation not in (None, CORRELATIONS[-1]):
        yield "models that differ by so much cannot correlate by more"
    yield (
        "the standard error falls with the root of the number of examples, and the "
        "test is about as powerful as a paired t test"
    )
    if spread.clusters is not None:
        yield (
            "clusters are of the sizes that they have here, and their examples as "
            "alike; more examples of the same clusters tell less"
        )
        if spread.cluster_sizes and spread.cluster_sizes.warning:
            yield spread.cluster_sizes.warning
    if spread.replications is not None and spread.within is not None:
        yield "answers to one example differ as far as they do here"
    if tags > 1:
        yield (
            f"each tag has so many examples, spread as the whole set; the level "
            f"{goal.level * tags:.10g} is shared by {tags} tests (Bonferroni)"
        )


def _how_alike(spread: ScoreVariance, goal: Goal, rows: Sequence[Requirement]) -> str:
    if rows[-1].correlation is not None:
        return (
            "both models' scores are spread as these are; how alike they are, one run "
            "does not tell, so each row supposes a correlation; a second run on the "
            "same data measures it"
        )
    if spread.disagreement is not None and spread.disagreement < goal.difference:
        return (
            f"one of the models to be compared alone is right on {goal.difference:.1%} "
            "of the examples, the least with this difference; of the two runs it is on "
            f"{spread.disagreement:.1%}"
        )
    return "the two runs differ as far as the models to be compared will"


def _have_same_outputs(first: Result, second: Result) -> bool:
    """Tell whether two runs are known to say the same of all examples of both.

    The standard error of their difference is that of its smoothing alone.
    """
    one, other = first.examples, second.examples
    if one is None or other is None:
        return False
    values = ["pred", "status"]
    if any(name not in frame.columns for frame in (one, other) for name in values):
        return False
    if one["pred"].dtype != other["pred"].dtype:
        return False
    keys = ["id", "replication"]
    columns, other_columns = all_named([*keys, *values]), [f"{n} other" for n in values]
    pairs = one.select(columns).join(
        other.select(columns), on=all_named(keys), nulls_equal=True, suffix=" other"
    )
    both = zip(values, other_columns, strict=True)
    same = [named(name).eq_missing(named(other_name)) for name, other_name in both]
    return bool(pairs.select(pl.all_horizontal(same).all()).item())


def _goal(
    score: Score, detect: float, tags: int, power: float, confidence: float
) -> Goal:
    """Check what is to be achieved, and return it for one test."""
    for name, share in (("confidence", confidence), ("power", power)):
        if not (isinstance(share, Real) and 0 < share < 1):
            raise EvalkitError(f"{name} must be between 0 and 1, got {share}")
    if not isinstance(tags, int) or tags < 1:
        raise EvalkitError(f"tags must be a whole number of at least 1, got {tags}")
    level = (1 - confidence) / tags
    if not level < power:
        raise EvalkitError(
            f"the level of the tests must be below the power, {power:g}, got {level:g} "
            f"(confidence {confidence:g})"
        )
    if not isinstance(detect, Real):
        raise EvalkitError(
            f"the difference to detect must be a number, got {detect!r}. Write two "
            "points of a proportion as 0.02"
        )
    if not (detect > 0 and math.isfinite(detect)):
        raise EvalkitError(f"the difference to detect must be above 0, got {detect}")
    if score.scale == 100 and detect >= 1:
        raise EvalkitError(
            f"{score.metric} is stored as 0 to 1, so the difference to detect must be "
            f"below 1, got {detect:g}. Write two points as 0.02"
        )
    return Goal(detect, level, power)


def _refuse_impossible(score: Score, spread: ScoreVariance, goal: Goal) -> None:
    """Refuse a difference of shares that no other model can have from this one."""
    value = float(score.value or 0.0)
    most = max(value, 1 - value)
    if spread.binary and goal.difference > most:
        raise EvalkitError(
            f"{score.metric} is {value:g}, so the difference to detect must be at most "
            f"{most:g}, got {goal.difference:g}"
        )
