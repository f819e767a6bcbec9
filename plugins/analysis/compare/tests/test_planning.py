"""Plans from runs give the power that they promise."""

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import evalkit
from evalkit import EvalkitError, Result
from evalkit_analysis_compare import Plan, compare, plan
from evalkit_analysis_compare.planning import CORRELATIONS
from evalkit_analysis_compare.power import Goal, units_needed

from .comparison_runs import IDS, make_run

LEVEL = 0.05


def run_of(values: Any, model: str = "a", **options: Any) -> Result:
    return make_run(model, per_example={"m": list(values)}, **options)


def shares(right: int, n: int, model: str = "a") -> Result:
    return run_of([1.0] * right + [0.0] * (n - right), model)


def only(found: Plan) -> Any:
    [row] = found.rows
    return row


def test_one_run_gives_a_row_for_each_correlation() -> None:
    found = plan(shares(700, 1000), detect=0.02, metric="m")
    variance = 0.7 * 0.3
    assert [row.correlation for row in found.rows] == list(CORRELATIONS)
    for row in found.rows:
        spread = 2 * variance * (1 - row.correlation)
        assert row.disagreement == pytest.approx(spread + 0.02**2)
        assert row.examples == units_needed(Goal(0.02, LEVEL, 0.8), spread)
        half = stats.norm.isf(0.025) * math.sqrt(variance / row.examples)
        assert row.half_width == pytest.approx(half, rel=0.01)
        assert (row.clusters, row.answers) == (None, None)
        # as many examples as now find what needs as many
        goal = Goal(row.detectable, LEVEL, 0.8)
        assert units_needed(goal, spread) == pytest.approx(1000, abs=1)
    assert (found.n, found.level) == (1000, pytest.approx(0.05))
    assert found.value == pytest.approx(0.7)
    assert found.deviation == pytest.approx(variance**0.5)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("tags", [1, 10])
def test_the_planned_examples_find_the_difference_in_four_of_five_sets(
    correlation: float, tags: int
) -> None:
    detect = 0.03
    found = plan(shares(800, 1000), detect=detect, metric="m", tags=tags)
    [row] = [row for row in found.rows if row.correlation == correlation]
    # two models of .785 and .815 whose scores correlate so
    first, second = 0.8 - detect / 2, 0.8 + detect / 2
    spreads = math.sqrt(first * (1 - first) * second * (1 - second))
    both = first * second + correlation * spreads
    table = [both, first - both, second - both, 1 - first - second + both]
    drawn = np.random.default_rng(1).multinomial(row.examples, table, size=600)
    unequal = drawn[:, 1:3]
    p_values = 2 * stats.binom.cdf(unequal.min(axis=1), unequal.sum(axis=1), 0.5)
    power = float((p_values < LEVEL / tags).mean())
    assert power == pytest.approx(0.8, abs=0.06)


def test_two_runs_measure_the_disagreement() -> None:
    first = run_of([1.0] * 600 + [0.0] * 400, "a")
    second = run_of([1.0] * 560 + [0.0] * 40 + [1.0] * 30 + [0.0] * 370, "b")
    found = plan(first, second, detect=0.02, metric="m", tags=5, confidence=0.9)
    row = only(found)
    assert row.correlation is None
    assert row.disagreement == pytest.approx(0.07)
    variance = 0.07 * 1000 / 999 - 0.01**2 * 1000 / 999
    assert row.examples == units_needed(Goal(0.02, 0.02, 0.8), variance)
    assert found.models == ("a", "b")
    assert found.level == pytest.approx(0.02)
    assert (
        json.loads(json.dumps(found.to_dict()))["rows"][0]["examples"] == row.examples
    )
    # a difference as large as the whole disagreement is one model's alone
    largest = only(plan(first, second, detect=0.3, metric="m"))
    assert largest.disagreement == pytest.approx(0.3)
    assert largest.examples == units_needed(Goal(0.3, LEVEL, 0.8), 0.3 - 0.3**2)


def clustered(
    rng: np.random.Generator, clusters: int, size: int, sets: int, lead: float
) -> tuple[Any, Any]:
    """Draw two models' real scores in clusters: texts and examples are shared."""
    text = rng.normal(0, 1.0, (sets, clusters, 1))
    example = rng.normal(0, 1.0, (sets, clusters, size))
    own = [rng.normal(0, 0.7, (sets, clusters, 1)) for _ in range(2)]
    noise = [rng.normal(0, 1.0, (sets, clusters, size)) for _ in range(2)]
    first, second = (text + example + own[k] + noise[k] for k in range(2))
    return first + lead, second


@pytest.mark.slow
def test_clusters_that_are_planned_give_the_power() -> None:
    rng = np.random.default_rng(4)
    size, detect = 5, 0.15
    pilots = clustered(rng, 400, size, 1, 0.0)
    numbers = np.repeat(np.arange(400), size).tolist()
    runs = [
        run_of(values.ravel(), model, clusters=numbers, unit="", scale=1.0)
        for values, model in zip(pilots, "ab", strict=True)
    ]
    found = plan(*runs, detect=detect, metric="m")
    # the difference has a variance of 2 (.49 + 1), of which .98 between clusters
    assert found.intraclass_correlation == pytest.approx(0.98 / 2.98, abs=0.05)
    assert found.design_effect == pytest.approx(1 + 4 * 0.98 / 2.98, abs=0.2)
    row = only(found)
    assert row.examples == row.clusters * size
    sets = 600
    first, second = clustered(rng, row.clusters, size, sets, detect)
    units = (first - second).mean(axis=2)
    p_values = stats.ttest_1samp(units, 0.0, axis=1).pvalue
    assert float((p_values < LEVEL).mean()) == pytest.approx(0.8, abs=0.06)
    # one run tells the spread of scores, and the rows what correlations would mean
    alone = plan(runs[0], detect=detect, metric="m")
    assert alone.intraclass_correlation == pytest.approx(1.49 / 3.49, abs=0.05)
    needed = [one.clusters for one in alone.rows]
    assert needed == sorted(needed, reverse=True)


@pytest.mark.parametrize("sizes", [[4] * 200, [2, 6] * 100, [1] * 150 + [30] * 10])
@pytest.mark.slow
def test_variance_is_split_between_and_within_clusters(sizes: list[int]) -> None:
    rng = np.random.default_rng(8)
    splits = []
    for _ in range(40):
        values = np.concatenate(
            [rng.normal(rng.normal(0, 2.0), 3.0, size) for size in sizes]
        )
        numbers = np.repeat(np.arange(len(sizes)), sizes).tolist()
        found = plan(
            run_of(values, clusters=numbers, scale=1.0), detect=0.5, metric="m"
        )
        assert found.intraclass_correlation is not None
        splits.append((found.intraclass_correlation, found.deviation**2))
    correlation, variance = np.mean(splits, axis=0)
    assert variance == pytest.approx(13.0, rel=0.06)
    assert correlation == pytest.approx(4 / 13, abs=0.05)
    seen = sum(size**2 for size in sizes) / sum(sizes)
    assert found.design_effect == pytest.approx(
        1 + (seen - 1) * found.intraclass_correlation
    )


def test_more_answers_help_as_far_as_answers_vary() -> None:
    rng = np.random.default_rng(2)
    n, answers, between, within = 4000, 4, 1.0, 2.0
    truth = rng.normal(0, between, (n, 1))
    scores = truth + rng.normal(0, within, (n, answers))
    result = run_of(
        scores.ravel(),
        ids=np.repeat(IDS[:n], answers).tolist(),
        replication=list(range(answers)) * n,
        replications=answers,
        stddev_within=float(np.sqrt(scores.var(axis=1, ddof=1).mean())),
        unit="",
        scale=1.0,
    )
    found = plan(result, detect=0.1, metric="m")
    assert (found.n, found.replications) == (n, answers)
    by_answers = {
        row.answers: row.examples for row in found.rows if row.correlation == 0.75
    }
    assert sorted(by_answers) == [1, 4, 8]
    for count, examples in by_answers.items():
        variance = 2 * between**2 * 0.25 + 2 * within**2 / count
        expected = units_needed(Goal(0.1, LEVEL, 0.8), variance)
        assert examples == pytest.approx(expected, rel=0.06)


def test_a_score_of_sets_is_planned_by_its_standard_error() -> None:
    options: dict[str, Any] = {"answers": ["x"] * 200, "se": 0.04, "n": 200}
    result = make_run(whole={"f": 0.7}, **options)
    found = plan(result, detect=0.05, metric="f")
    first = found.rows[0]
    variance = 2 * 0.04**2 * 200
    assert first.examples == units_needed(Goal(0.05, LEVEL, 0.8), variance)
    assert first.disagreement is None
    clusters = make_run(whole={"f": 0.7}, **options, n_clusters=40)
    again = plan(clusters, detect=0.05, metric="f").rows[0]
    assert again.clusters == units_needed(Goal(0.05, LEVEL, 0.8), variance / 5)
    assert again.examples == 5 * again.clusters
    with pytest.raises(EvalkitError, match="no standard error to plan with: too few"):
        plan(
            make_run(whole={"f": 0.7}, answers=["x"], reason="too few"),
            detect=0.1,
            metric="f",
        )


def test_macro_f1_of_two_runs_is_planned_by_their_comparison() -> None:
    rng = np.random.default_rng(6)
    labels = ["positive", "negative", "neutral"]
    results = []
    for model in "ab":
        said = [
            {"id": f"sent-{n:03}", "label": labels[int(rng.integers(3))]}
            for n in range(1, 136)
        ]
        results.append(evalkit.evaluate("sample-sentiment", said, model=model))
    found = plan(*results, detect=0.05)
    row = compare(*results, metrics=["macro-f1"], tags=False).rows[0]
    assert (found.metric, found.n) == ("macro-f1", 135)
    assert row.se is not None
    # of models as unlike, but equally good
    error = math.hypot(row.se, (row.difference or 0) / math.sqrt(135))
    assert found.deviation == pytest.approx(error * math.sqrt(135))
    # with as many examples as now, what can be detected is 2.8 standard errors
    assert only(found).detectable == pytest.approx(2.8 * error, rel=0.03)
    assert only(found).detectable == pytest.approx(row.smallest_detectable, rel=0.03)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"detect": 0.0}, "must be above 0, got 0"),
        ({"detect": math.nan}, "must be above 0, got nan"),
        ({"detect": 2.0}, "is stored as 0 to 1, so the .* below 1, got 2"),
        ({"detect": 0.9}, "must be at most 0.7, got 0.9"),
        ({"detect": 0.1, "tags": 0}, "a whole number of at least 1, got 0"),
        ({"detect": 0.1, "power": 0.05}, "below the power, 0.05, got 0.05 .conf"),
        ({"detect": 0.1, "confidence": 1.0}, "confidence must be between 0 and 1"),
        ({"detect": 0.1, "confidence": 0.01}, "power, 0.8, got 0.99 .confidence"),
        ({"detect": 0.1, "power": "x"}, "power must be between 0 and 1, got x"),
        ({"detect": 0.1, "tags": 1.5}, "tags must be a whole number .*, got 1.5"),
        ({"detect": 0.1, "tags": math.nan}, "tags must be a whole number .*, got nan"),
        ({"detect": "2pt"}, "must be a number, got '2pt'. Write two points .* as 0.02"),
        ({"detect": 1e-12}, r"is too small to plan for: it needs 1e\+12 examples"),
        ({"detect": 1e-300}, "is too small to plan for"),
        ({"detect": 5e-324}, "is too small to plan for"),
        ({"detect": 0.1, "metric": "f"}, r"has no score 'f'; it has m"),
        ({"detect": 0.1, "metric": None}, r"has no score None"),
    ],
)
def test_what_cannot_be_planned_is_said(options: dict[str, Any], message: str) -> None:
    with pytest.raises(EvalkitError, match=message):
        plan(shares(7, 10), **{"metric": "m", **options})


def test_without_variance_there_is_no_plan() -> None:
    with pytest.raises(EvalkitError, match="m: all scores are equal, so that nothing"):
        plan(shares(10, 10), detect=0.1, metric="m")
    with pytest.raises(EvalkitError, match="m: the runs do not differ, so that"):
        plan(shares(7, 10), shares(7, 10, "b"), detect=0.1, metric="m")
    with pytest.raises(EvalkitError, match="all examples are in one cluster"):
        plan(run_of([1.0, 0.0], clusters=[1, 1]), detect=0.1, metric="m")
    with pytest.raises(EvalkitError, match="two or more scored examples"):
        plan(run_of([1.0, None]), detect=0.1, metric="m")


@pytest.mark.slow
def test_outputs_that_are_the_same_tell_no_variance() -> None:
    said = [
        {"id": f"sent-{n:03}", "label": ("positive", "negative", "neutral")[n % 3]}
        for n in range(1, 136)
    ]
    one, other = (
        evalkit.evaluate("sample-sentiment", said, model=model) for model in "ab"
    )
    for metric in ("accuracy", "macro-f1"):
        with pytest.raises(EvalkitError, match=f"{metric}: the runs do not differ"):
            plan(one, other, detect=0.05, metric=metric)
    said[0] = {**said[0], "label": "neutral"}
    third = evalkit.evaluate("sample-sentiment", said, model="c")
    assert plan(one, third, detect=0.05, metric="macro-f1").rows


def test_the_score_now_has_its_own_interval() -> None:
    said = [{"id": f"sent-{n:03}", "label": "positive"} for n in range(1, 136)]
    run = evalkit.evaluate("sample-sentiment", said)
    found = plan(run, detect=0.1, metric="accuracy", confidence=0.9)
    assert (found.ci_low, found.ci_high) == run["accuracy"].ci
    assert (found.confidence, found.ci_confidence) == (0.9, 0.95)
