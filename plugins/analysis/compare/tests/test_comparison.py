import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evalkit
from evalkit import EvalkitError, Metric
from evalkit.errors import AlignmentError
from evalkit.runs.results import Result
from evalkit_analysis_compare import Comparison, compare, plan
from evalkit_analysis_compare.paired_shares import tango_interval
from evalkit_analysis_compare.pairing import pair_runs
from evalkit_analysis_compare.records import ComparedScore
from evalkit_analysis_compare.replicates import Replicates
from evalkit_analysis_compare.tables import PairedTables

from .comparison_runs import make_run


def only(comparison: Comparison) -> ComparedScore:
    (row,) = comparison.whole
    return row


def hits(n: int, share: float, seed: int) -> list[float]:
    return (np.random.default_rng(seed).random(n) < share).astype(float).tolist()


def runs_of(
    first: Sequence[float | None], second: Sequence[float | None], **how: Any
) -> tuple[Result, Result]:
    return (
        make_run("a", per_example={"hits": first}, **how),
        make_run("b", per_example={"hits": second}, **how),
    )


def test_right_and_wrong_are_tested_exactly() -> None:
    first, second = hits(300, 0.8, 1), hits(300, 0.7, 2)
    row = only(compare(*runs_of(first, second)))
    differences = np.array(first) - np.array(second)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    assert (row.wins, row.losses, row.ties) == (wins, losses, 300 - wins - losses)
    assert (row.value_a, row.value_b) == (np.mean(first), np.mean(second))
    assert row.difference == pytest.approx(differences.mean(), abs=1e-15)
    error = differences.std(ddof=1) / math.sqrt(300)
    assert row.se == pytest.approx(error, rel=1e-12)
    wanted = tango_interval(wins, losses, 300, 0.95)
    assert (row.ci_low, row.ci_high) == (wanted.low, wanted.high)
    assert row.ci_method == "tango"
    reference = stats.binomtest(min(wins, losses), wins + losses)
    seen = stats.binom.pmf(min(wins, losses), wins + losses, 0.5)
    assert row.p_value == pytest.approx(reference.pvalue - seen, rel=1e-9)
    assert row.p_method == "mcnemar-mid"
    powered = stats.t.ppf(0.975, 299) + stats.t.ppf(0.8, 299)
    assert row.smallest_detectable == pytest.approx(powered * error, rel=1e-9)
    assert (row.different, row.p_at_most, row.family_size) == (True, False, 1)
    assert (row.p_adjusted, row.left_out, row.n, row.n_clusters) == (None, 0, 300, None)


@pytest.mark.parametrize("n_clusters", [2, 30])
def test_one_large_cluster_is_told(n_clusters: int) -> None:
    clusters = [0] * 30 + list(range(1, n_clusters)) * 30
    clusters += [0] * (30 * (n_clusters - 2) // 2)
    n = len(clusters)
    runs = runs_of(hits(n, 0.8, 1), hits(n, 0.7, 2), clusters=clusters)
    warning = (
        "one cluster has 20 % or more of the examples, and the interval depends "
        "heavily on it"
    )
    # of two equal clusters each has to have a half
    assert (warning in compare(*runs).notices) == (n_clusters > 2)
    assumptions = plan(*runs, detect=0.05, metric="hits").assumptions
    assert (warning in assumptions) == (n_clusters > 2)


def test_every_tag_is_compared_and_adjusted() -> None:
    first, second = hits(200, 0.9, 1), hits(200, 0.5, 2)
    tags = [["all", "even"] if number % 2 == 0 else ["all"] for number in range(200)]
    comparison = compare(*runs_of(first, second, tags=tags))
    whole, *rows = comparison.rows
    assert whole.tag is None
    assert {row.tag for row in rows} == {"all", "even"}
    everything = next(row for row in rows if row.tag == "all")
    assert everything.p_value == whole.p_value
    even = next(row for row in rows if row.tag == "even")
    differences = np.array(first)[::2] - np.array(second)[::2]
    assert even.difference == pytest.approx(differences.mean(), abs=1e-15)
    assert even.n == 100
    for row in rows:
        assert row.p_adjusted == 2 * (row.p_value or 0)
        assert row.family_size == 2
    wanted = tango_interval(even.wins or 0, even.losses or 0, 100, 0.975)
    assert (even.ci_low_adjusted, even.ci_high_adjusted) == (wanted.low, wanted.high)
    plain = tango_interval(even.wins or 0, even.losses or 0, 100, 0.95)
    assert (even.ci_low, even.ci_high) == (plain.low, plain.high)
    found = [row.difference or 0 for row in rows]
    assert found == sorted(found)
    assert compare(*runs_of(first, second, tags=tags), tags=False).rows == (whole,)
    fewer = compare(*runs_of(first, second, tags=tags), min_n=101)
    assert [row.tag for row in fewer.rows] == [None, "all"]
    assert fewer.rows[1].p_adjusted == everything.p_value


def test_conclusion_of_a_tag_follows_its_adjusted_p_value() -> None:
    # p = .021 in one of three tags: significant alone, not among three
    first, second = [1.0] * 10 + [0.0] * 20, [0.0] * 8 + [1.0] * 2 + [0.0] * 20
    first[8], second[8] = 0.0, 1.0
    tags = [[f"t:{number // 10}"] for number in range(30)]
    rows = {row.tag: row for row in compare(*runs_of(first, second, tags=tags)).rows}
    one = rows["t:0"]
    assert (one.wins, one.losses) == (8, 1)
    mid = stats.binomtest(1, 9).pvalue - stats.binom.pmf(1, 9, 0.5)
    assert one.p_value == pytest.approx(mid)
    assert (one.p_value or 1) < 0.05 < (one.p_adjusted or 0)
    assert one.conclusion.startswith("undecided: ")
    assert rows[None].conclusion.startswith("a is better than b by 23.3 points")
    same = rows["t:1"]
    assert (same.difference, same.p_value) == (0, 1)
    assert (same.se, same.ci_method, same.reason) == (0, "tango", None)
    assert same.ci_low == -(same.ci_high or 0) < 0
    assert same.conclusion == "undecided: no difference was seen (adjusted p = 1)"


def test_equal_differences_have_no_interval_but_a_test() -> None:
    row = only(compare(*runs_of([3.0] * 20, [1.0] * 20, unit="", scale=1.0)))
    assert row.reason == "all differences are equal"
    assert row.p_value == 1 / 10_000
    assert row.conclusion == (
        "undecided: the test finds a difference of 2.00 (p ≤ .00010), but there is no "
        "interval; all differences are equal"
    )
    same = only(compare(*runs_of([3.0] * 20, [3.0] * 20, unit="", scale=1.0)))
    assert (same.reason, same.equivalent) == ("all differences are zero", None)
    shares = only(compare(*runs_of([1.0] * 20, [0.0] * 20)))
    assert shares.p_value == pytest.approx(0.5**20)
    assert (shares.ci_high, shares.reason) == (1.0, None)
    square = stats.norm.ppf(0.975) ** 2
    assert shares.ci_low == pytest.approx((20 - square) / (20 + square))


@pytest.mark.parametrize(
    ("higher_is_better", "wins", "conclusion"),
    [
        (True, 20, "a is better than b by 2.00 chars (95 % CI 1.8"),
        (False, 0, "b is better than a by 2.00 chars (95 % CI 1.8"),
        (None, 20, "a scores higher than b by 2.00 chars (95 % CI 1.8"),
    ],
)
def test_direction(higher_is_better: bool | None, wins: int, conclusion: str) -> None:
    second = np.linspace(0, 1, 20)
    first = second + np.linspace(1.5, 2.5, 20)
    how: dict[str, Any] = {
        "unit": "chars",
        "scale": 1.0,
        "higher_is_better": higher_is_better,
        "tags": [["long" if number > 9 else "short"] for number in range(20)],
    }
    comparison = compare(*runs_of(first.tolist(), second.tolist(), **how))
    row = only(comparison)
    assert (row.wins, row.losses) == (wins, 20 - wins)
    assert row.conclusion.startswith(conclusion)
    assert row.difference == pytest.approx(2)
    # worst for the first model first
    tags = [row.tag for row in comparison.rows if row.tag]
    assert tags == (
        ["long", "short"] if higher_is_better is False else ["short", "long"]
    )
    mirrored = only(compare(*runs_of(second.tolist(), first.tolist(), **how)))
    assert (mirrored.ci_low, mirrored.ci_high) == pytest.approx(
        (-(row.ci_high or 0), -(row.ci_low or 0))
    )
    assert mirrored.p_value == row.p_value


def test_examples_scored_in_one_run_only_are_left_out_and_counted() -> None:
    first = [1.0, 1.0, None, 0.0, 1.0]
    second = [0.0, None, None, 1.0, 0.0]
    tags = [["t"], ["t"], [], [], []]
    comparison = compare(*runs_of(first, second, tags=tags), min_n=1)
    whole, *tagged = comparison.rows
    assert (whole.n, whole.left_out, whole.wins, whole.losses) == (3, 1, 2, 1)
    assert whole.value_a == pytest.approx(2 / 3)
    by_tag = {row.tag: row for row in tagged}
    assert (by_tag["t"].n, by_tag["t"].left_out) == (1, 1)
    assert comparison.notices == ()
    fewer = compare(*runs_of(first, second, tags=tags), min_n=2)
    assert "t" not in {row.tag for row in fewer.rows}
    assert fewer.notices == (
        "hits, as scored in both: 1 tag with fewer than 2 examples not compared "
        "(--min-n)",
    )


def test_small_tags_do_not_join_the_family() -> None:
    tags = [["large", f"single:{number}"] for number in range(40)]
    first, second = hits(40, 0.9, 1), hits(40, 0.4, 2)
    runs = runs_of(first, second, tags=tags)
    comparison = compare(*runs)
    _, row = comparison.rows
    assert (row.tag, row.family_size, row.p_adjusted) == ("large", 1, row.p_value)
    assert comparison.to_dict()["min_n"] == 10
    assert comparison.notices == (
        "40 tags with fewer than 10 examples not compared (--min-n)",
    )
    assert compare(*runs, min_n=1).rows[1].family_size == 41


def test_nothing_scored_in_both_is_said() -> None:
    row = only(compare(*runs_of([1.0, None], [None, 1.0])))
    assert (row.difference, row.p_value, row.n, row.left_out) == (None, None, 0, 2)
    assert row.conclusion == "not compared: no example was scored in both runs"


def test_order_of_rows_does_not_matter() -> None:
    random = np.random.default_rng(6)
    first, second = random.random(60), random.random(60)
    clusters = random.integers(0, 20, 60).tolist()
    tags = [["a"] if number % 3 else ["b"] for number in range(60)]
    straight = compare(
        *runs_of(first.tolist(), second.tolist(), clusters=clusters, tags=tags)
    )
    order = random.permutation(60)
    turned = compare(
        *runs_of(
            first[order].tolist(),
            second[order].tolist(),
            clusters=[clusters[i] for i in order],
            tags=[tags[i] for i in order],
            ids=[f"e{i}" for i in order],
        )
    )
    assert turned.rows == straight.rows


def test_several_runs_are_each_compared_with_the_first() -> None:
    first, second = runs_of(hits(80, 0.8, 1), hits(80, 0.6, 2))
    third = make_run("c", per_example={"hits": hits(80, 0.5, 3)})
    comparison = compare(first, second, third)
    pairs = [(row.model_a, row.model_b) for row in comparison.rows]
    assert pairs == [("a", "b"), ("a", "c")]
    for row, other in zip(comparison.rows, (second, third), strict=True):
        alone = only(compare(first, other))
        assert row.p_value == alone.p_value
        assert (row.ci_low, row.ci_high) == (alone.ci_low, alone.ci_high)
        assert row.p_adjusted == min(1, 2 * (alone.p_value or 0))
        assert (alone.p_adjusted, alone.ci_low_adjusted) == (None, None)
        wider = only(compare(first, other, confidence=0.975))
        assert row.ci_low_adjusted == wider.ci_low
    assert repr(comparison) == "<Comparison a vs b vs c: 2 rows>"


def test_runs_of_one_model_are_told_apart() -> None:
    first, second = runs_of([1.0, 0.0], [0.0, 0.0])
    renamed = Result(
        {**second.to_dict(), "model": "a"}, second.scores, (), second.examples
    )
    row = only(compare(first, renamed))
    assert (row.model_a, row.model_b) == ("a (a0000000)", "a (b0000000)")
    again = Result(first.to_dict(), first.scores, (), first.examples)
    same = only(compare(first, again))
    assert (same.model_a, same.model_b) == ("a (a0000000)", "a (a0000000) #2")
    assert same.conclusion.startswith("undecided: no difference was seen")


def test_a_run_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    rows = [{"id": f"sent-{n:03}", "label": "positive"} for n in range(1, 136)]
    runs = [
        evalkit.evaluate("sample-sentiment", rows, model=model, out=tmp_path)
        for model in "xyz"
    ]
    message = f"the run y ({runs[1].run_id}) is given twice"
    with pytest.raises(AlignmentError) as caught:
        compare(runs[1], runs[1])
    assert str(caught.value).startswith(message)
    for given in (
        ("y", runs[1].run_id),
        ("x", "y", "z", str(runs[1].path)),
        (runs[0], runs[1], "y"),
    ):
        with pytest.raises(AlignmentError) as caught:
            compare(*given, runs=tmp_path)
        assert str(caught.value).startswith(message)
    with pytest.raises(AlignmentError) as caught:
        plan(runs[1], "y", detect=0.1, folder=tmp_path)
    assert str(caught.value).startswith(message)


def test_margin() -> None:
    same = np.tile([1.0, 0.0], 500)
    other = same.copy()
    other[:20] = 1 - other[:20]
    runs = runs_of(same.tolist(), other.tolist())
    assert only(compare(*runs)).equivalent is None
    within = only(compare(*runs, margin=0.05))
    assert within.equivalent is True
    assert within.conclusion.startswith(
        "equivalent within 5.0 points: the difference is 0.0 (90 % CI −0.8 to 0.8)"
    )
    beyond = only(compare(*runs, margin=0.005))
    assert beyond.equivalent is False
    assert beyond.conclusion.startswith("undecided: ")
    decided = np.tile([1.0, 0.0], 500)
    decided[1:41:2] = 1.0
    row = only(compare(*runs_of(decided.tolist(), same.tolist()), margin=0.05))
    assert row.conclusion.endswith("; it is within the margin of 5.0 points")
    identical = [
        only(compare(*runs_of([1.0] * n, [1.0] * n), margin=0.02)) for n in (50, 300)
    ]
    # 90 % CI of 0 of n: ± 2.71 / (n + 2.71)
    assert [row.equivalent for row in identical] == [False, True]
    no_interval = only(compare(*runs_of([1.0], [1.0]), margin=0.1))
    assert no_interval.equivalent is None


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"confidence": 1.0}, "confidence must be between 0 and 1, is 1.0"),
        ({"margin": 0.0}, "margin must be greater than 0 and finite, is 0.0"),
        ({"margin": float("inf")}, "greater than 0 and finite, is inf"),
        ({"margin": 2}, "every difference is within a margin of 2; two points are"),
        ({"metrics": ["other"]}, "no metric 'other' in common; they have hits"),
    ],
)
def test_wrong_arguments(how: dict[str, Any], message: str) -> None:
    with pytest.raises(EvalkitError, match=message):
        compare(*runs_of([1.0, 0.0], [0.0, 0.0]), **how)


def test_metrics_of_one_run_only() -> None:
    first, _ = runs_of([1.0, 0.0], [0.0, 0.0])
    more = make_run("b", per_example={"hits": [0.0, 0.0], "extra": [1.0, 1.0]})
    comparison = compare(first, more)
    assert [row.metric for row in comparison.rows] == ["hits"]
    assert comparison.notices == (
        "not compared, as only one of the runs has it: extra (`evalkit rescore` adds a "
        "metric to a run)",
    )
    assert not compare(first, more, metrics="hits").notices
    other = make_run("b", per_example={"extra": [1.0, 1.0]})
    with pytest.raises(EvalkitError, match="have no metric in common: hits; extra"):
        compare(first, other)


def test_notices() -> None:
    component = {
        **{"id": "metrics/hits", "version": "1", "source_sha256": "x"},
        **{"distribution": "not-installed", "parameters": {}},
    }
    first = make_run(
        "a", per_example={"hits": [1.0, 0.0, 1.0]}, record={"components": [component]}
    )
    second = make_run(
        "b",
        per_example={"hits": [1.0, 0.0]},
        record={
            "components": [{**component, "version": "2"}],
            "dataset": "copy",
            "status": "partial",
        },
    )
    either = compare(first, second, common=True, allow=["metric"])
    assert either.notices == (
        f"1 example that only one of a (a{'0' * 7}) and b (b{'0' * 7}) has was left "
        "out; 2 compared",
        f"a (a{'0' * 7}) and b (b{'0' * 7}) differ in dataset: made and copy; metric "
        "hits: not-installed version 1 and not-installed version 2",
        f"b (b{'0' * 7}) is partial: see `evalkit show b{'0' * 7}`",
    )
    with pytest.raises(EvalkitError, match="`evalkit rescore` computes it again"):
        compare(first, second, common=True)
    with pytest.raises(AlignmentError, match="not on the same examples"):
        compare(first, second)


def test_frame_and_json() -> None:
    comparison = compare(*runs_of(hits(50, 0.8, 1), hits(50, 0.5, 2)))
    frame = comparison.frame
    assert frame.columns == list(ComparedScore._fields)
    assert frame.row(0) == tuple(only(comparison))
    assert frame.schema["n"] == pl.Int64
    assert frame.schema["se"] == pl.Float64
    assert frame.schema["equivalent"] == pl.Boolean
    record = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert [run["model"] for run in record["runs"]] == ["a", "b"]
    assert record["rows"][0]["p_value"] == only(comparison).p_value
    assert comparison.confidence == 0.95


class MacroF1(Metric):
    """Macro-F1 over the gold classes of a group, from counts."""

    bounds = (0.0, 1.0)
    higher_is_better = True
    interval = "multinomial"
    keys = ("gold", "predicted")

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        return batch.select(
            gold="target", predicted="prediction", count=pl.lit(1.0)
        ).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        hit = pl.col("gold") == pl.col("predicted")
        count = pl.col("count")
        gold = sums.group_by("group", label="gold").agg(
            hits=(count * hit).sum(), gold=count.sum()
        )
        predicted = sums.group_by("group", label="predicted").agg(predicted=count.sum())
        return (
            gold.join(predicted, on=["group", "label"], how="left")
            .with_columns(pl.col("predicted").fill_null(0.0))
            .with_columns(
                f1=2 * pl.col("hits") / (pl.col("gold") + pl.col("predicted"))
            )
            .group_by("group")
            .agg(value=pl.col("f1").mean())
            .sort("group")
        )


class DoubledMacroF1(MacroF1):
    """The same, of statistics that are no plain counts, so that units are drawn."""

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        return super().statistics(batch).with_columns(count=pl.lit(2.0))


def labelled(
    n: int, right: tuple[float, float], seed: int = 0, **how: Any
) -> tuple[np.ndarray, list[np.ndarray], tuple[Result, Result]]:
    """Make two runs of three classes, and their labels."""
    random = np.random.default_rng(seed)
    gold = random.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1])
    noise = random.choice(["x", "y", "z"], n)
    preds = [np.where(random.random(n) < share, gold, noise) for share in right]
    whole = dict.fromkeys(
        ("macro-f1", "doubled-macro-f1", "agreement", "greatest"), 0.5
    )
    runs = tuple(
        make_run(name, answers=gold.tolist(), preds=found.tolist(), whole=whole, **how)
        for name, found in zip("ab", preds, strict=True)
    )
    return gold, preds, (runs[0], runs[1])


def macro(gold: np.ndarray, predicted: np.ndarray) -> float:
    """Compute macro-F1 over the gold classes, as plainly as can be."""
    scores = []
    for label in np.unique(gold):
        hit = ((gold == label) & (predicted == label)).sum()
        scores.append(2 * hit / ((gold == label).sum() + (predicted == label).sum()))
    return float(np.mean(scores))


def named(metric: type[Metric], name: str) -> Metric:
    made = metric()
    made.name = name  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize(
    ("metric", "method"),
    [
        (named(MacroF1, "macro-f1"), "paired-multinomial"),
        (named(DoubledMacroF1, "doubled-macro-f1"), "paired-bootstrap"),
    ],
)
@pytest.mark.slow
def test_metrics_of_sums_are_drawn_and_swapped_together(
    metric: Metric, method: str
) -> None:
    gold, (one, other), runs = labelled(300, (0.8, 0.7))
    row = only(compare(*runs, metrics=[metric]))
    assert row.value_a == pytest.approx(macro(gold, one), abs=1e-12)
    assert row.value_b == pytest.approx(macro(gold, other), abs=1e-12)
    tested = "swaps" if method == "paired-multinomial" else method
    assert (row.n, row.ci_method, row.p_method) == (300, method, tested)
    assert (row.wins, row.ties) == (None, None)
    random = np.random.default_rng(1)
    draws, swapped = [], []
    for _ in range(1_000):
        drawn = random.integers(0, 300, 300)
        draws.append(macro(gold[drawn], one[drawn]) - macro(gold[drawn], other[drawn]))
        turn = random.random(300) < 0.5
        swapped.append(
            macro(gold, np.where(turn, other, one))
            - macro(gold, np.where(turn, one, other))
        )
    assert row.se == pytest.approx(np.std(draws), rel=0.12)
    low, high = np.quantile(draws, [0.025, 0.975])
    slack = 0.3 * np.std(draws)
    assert (row.ci_low, row.ci_high) == pytest.approx((low, high), abs=slack)
    observed = abs(macro(gold, one) - macro(gold, other))
    wanted = (np.abs(swapped) >= observed - 1e-12).mean()
    assert row.p_value == pytest.approx(wanted, abs=0.035)


def test_drawing_is_paired() -> None:
    """Two models that nearly agree differ by less than either is uncertain."""
    gold, (one, _), (first, _) = labelled(400, (0.7, 0.7))
    nearly = one.copy()
    nearly[:20] = gold[:20]
    second = make_run(
        "b", answers=gold.tolist(), preds=nearly.tolist(), whole={"macro-f1": 0.5}
    )
    row = only(compare(first, second, metrics=[named(MacroF1, "macro-f1")]))
    assert row.se is not None
    assert row.se < 0.01


def test_sums_heed_one_large_cluster() -> None:
    draws = np.random.default_rng(1).normal(0, 1, 1_000)
    sizes = np.array([290.0] + [10.0] * 29)
    effective = sizes.sum() ** 2 / (sizes**2).sum()
    clusters = np.arange(30).repeat(sizes.astype(int)).tolist()
    *_, runs = labelled(580, (0.8, 0.7), clusters=clusters)
    tables = PairedTables(pair_runs(*runs))
    assert tables.effective_units(0) == pytest.approx(effective, rel=1e-12)
    found = Replicates(draws, "paired-bootstrap-clustered", effective)
    interval = found.interval(0.95)
    assert interval.low == pytest.approx(np.quantile(draws, 0.025))
    # of .999 the replicates carry .99
    middle, low = np.median(draws), np.quantile(draws, 0.005)
    factor = stats.norm.ppf(0.9995) / stats.norm.ppf(0.995)
    wanted = middle + factor * (low - middle)
    assert found.interval(0.999).low == pytest.approx(wanted)
    row = only(compare(*runs, metrics=[named(MacroF1, "macro-f1")]))
    # by a formula 20 points, which were found in 30 to 40 % of such sets
    assert row.smallest_detectable is None
    even = np.arange(30).repeat(20).tolist()
    *_, runs = labelled(600, (0.8, 0.7), clusters=even)
    row = only(compare(*runs, metrics=[named(MacroF1, "macro-f1")]))
    equal = math.hypot(row.se or 0, (row.difference or 0) / math.sqrt(30))
    size = (stats.t.ppf(0.975, 29) + stats.t.ppf(0.8, 29)) * equal
    assert row.smallest_detectable == pytest.approx(size, rel=1e-6)


def test_order_and_seed_of_what_is_drawn() -> None:
    gold, preds, runs = labelled(120, (0.8, 0.7))
    metrics = [named(MacroF1, "macro-f1"), named(DoubledMacroF1, "doubled-macro-f1")]
    order = np.random.default_rng(2).permutation(120)
    turned = [
        make_run(
            name,
            answers=gold[order].tolist(),
            preds=found[order].tolist(),
            ids=[f"e{i}" for i in order],
            whole={"macro-f1": 0.5, "doubled-macro-f1": 0.5},
        )
        for name, found in zip("ab", preds, strict=True)
    ]
    straight = compare(*runs, metrics=metrics).rows
    assert compare(turned[0], turned[1], metrics=metrics).rows == straight
    assert compare(*runs, metrics=metrics, seed=1).rows != straight


def test_replications_of_a_set_level_metric_are_scored_one_by_one() -> None:
    gold, (one, other), _ = labelled(100, (0.8, 0.6))
    ids = [f"e{number}" for number in range(100) for _ in range(2)]
    whole = {"macro-f1": 0.5, "agreement": 0.5}

    def repeated(name: str, first: np.ndarray, second: np.ndarray) -> Result:
        both = np.stack([first, second], axis=1).ravel()
        return make_run(
            name,
            answers=np.repeat(gold, 2).tolist(),
            preds=both.tolist(),
            ids=ids,
            replication=[0, 1] * 100,
            whole=whole,
        )

    metrics = [named(MacroF1, "macro-f1"), get_agreement]
    runs = repeated("a", one, other), repeated("b", other, other)
    row, agreement = compare(*runs, metrics=metrics).whole
    wanted = (macro(gold, one) + macro(gold, other)) / 2
    assert row.value_a == pytest.approx(wanted, abs=1e-12)
    assert row.value_b == pytest.approx(macro(gold, other), abs=1e-12)
    assert (row.n, row.p_method) == (100, "paired-bootstrap")
    right = (gold == one).mean(), (gold == other).mean()
    assert agreement.value_a == pytest.approx(sum(right) / 2)
    single = make_run("b", answers=gold.tolist(), preds=other.tolist(), whole=whole)
    for row in compare(runs[0], single, metrics=metrics).whole:
        assert (row.reason, row.p_method) == (None, "paired-bootstrap")
        assert row.ci_low is not None


def get_agreement(predictions: list[str], targets: list[str]) -> float:
    pairs = zip(predictions, targets, strict=True)
    return sum(one == other for one, other in pairs) / len(targets)


def get_greatest(predictions: list[str], targets: list[str]) -> float | None:
    right = [p for p, t in zip(predictions, targets, strict=True) if p == t]
    if "z" not in right:
        raise ValueError("no z")
    return right.count("z") / len(right)


def test_functions_of_lists_are_drawn_200_times() -> None:
    gold, (one, other), runs = labelled(150, (0.8, 0.6))
    row = only(compare(*runs, metrics=[get_agreement]))
    assert row.value_a == (gold == one).mean()
    differences = (gold == one).astype(float) - (gold == other)
    assert row.se == pytest.approx(differences.std() / math.sqrt(150), rel=0.2)
    assert (row.ci_method, row.p_method) == ("paired-bootstrap",) * 2
    assert (row.p_value or 1) < 0.01
    narrow = only(compare(*runs, metrics=[get_agreement], confidence=0.99))
    # beyond what 200 replicates carry, the percentiles are moved on
    growth = stats.t.ppf(0.995, 149) / stats.t.ppf(0.975, 149)
    middle = row.difference or 0
    assert narrow.ci_low == pytest.approx(
        middle - growth * (middle - (row.ci_low or 0)), abs=0.01
    )
    clustered = labelled(150, (0.8, 0.6), clusters=[i // 15 for i in range(150)])[2]
    row = only(compare(*clustered, metrics=[get_agreement]))
    assert (row.ci_method, row.n_clusters) == ("paired-bootstrap-clustered", 10)


def test_functions_of_long_lists_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalkit_analysis_compare.lists.MOST_LIST_EXAMPLES", 50)
    *_, runs = labelled(60, (0.8, 0.6))
    row = only(compare(*runs, metrics=[get_agreement]))
    assert row.reason == "a function of lists is not resampled beyond 50 examples"
    assert (row.ci_low, row.p_value) == (None, None)
    assert row.difference is not None


def test_a_function_that_fails_on_what_is_drawn() -> None:
    gold = ["x"] * 29 + ["z"]
    runs = [
        make_run(name, answers=gold, preds=gold, whole={"greatest": 0.5})
        for name in "ab"
    ]
    row = only(compare(*runs, metrics=[get_greatest]))
    assert row.reason == "all bootstrap replicates are equal"
    assert (row.difference, row.p_value) == (0, 1)
    alone = [
        make_run(name, answers=["z"], preds=["z"], whole={"greatest": 0.5})
        for name in "ab"
    ]
    assert only(compare(*alone, metrics=[get_greatest])).reason == "n is 1"
    failing = [
        make_run(name, answers=["x"] * 3, preds=["x"] * 3, whole={"greatest": 0.5})
        for name in "ab"
    ]
    row = only(compare(*failing, metrics=[get_greatest]))
    assert "no z" in (row.reason or "")
    assert row.conclusion.startswith("not compared: ")


class Median(Metric):
    """The median length, whose statistics are kept."""

    merges = {"length": "values"}

    def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
        return batch.select(length=pl.lit(1.0)).with_row_index("row")

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        return sums.select("group", value=pl.col("length").list.median())


class Undefined(MacroF1):
    """Defined for the whole only."""

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        enough = sums["group"].n_unique() == 1
        nothing = pl.lit(None, dtype=pl.Float64)
        value = pl.lit(0.5) if enough else nothing
        return sums.select(pl.col("group").unique()).with_columns(value=value)


class Failing(MacroF1):
    """Fails on what is drawn."""

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        if sums["group"].n_unique() > 1:
            raise ValueError("too many groups")
        return super().finalize(sums)


class Broken(MacroF1):
    columns = ("length",)


class Parts(MacroF1):
    """A score of its own for each class, and none in all."""

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        hit = (pl.col("gold") == pl.col("predicted")) * pl.col("count")
        return (
            sums.group_by("group", score="gold")
            .agg(value=hit.sum() / pl.col("count").sum())
            .sort("group", "score")
        )


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        (Median, "the metric's statistics do not merge by sum"),
        (Undefined, "the score is undefined in most swaps"),
        (Failing, "resampling failed: .*too many groups"),
        (Broken, "it needs the field 'length', which was not given"),
    ],
)
def test_why_there_is_no_interval(metric: type[Metric], reason: str) -> None:
    *_, runs = labelled(50, (0.8, 0.6))
    row = only(compare(*runs, metrics=[named(metric, "macro-f1")]))
    assert (row.ci_low, row.p_value, row.ci_method) == (None, None, "none")
    assert re.search(reason, row.reason or "")


def test_too_large_a_group_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalkit_analysis_compare.sets.MOST_CELLS", 100)
    *_, runs = labelled(50, (0.8, 0.6))
    row = only(compare(*runs, metrics=[named(DoubledMacroF1, "macro-f1")]))
    assert row.reason == "the group is too large to resample"


def test_parts_of_a_metric() -> None:
    gold, (one, other), _ = labelled(200, (0.9, 0.5))
    whole = {"recall#x": 0.5, "recall#y": 0.5, "recall#w": 0.5}
    runs = [
        make_run(name, answers=gold.tolist(), preds=found.tolist(), whole=whole)
        for name, found in zip("ab", (one, other), strict=True)
    ]
    x, y, w = compare(runs[0], runs[1], metrics=[named(Parts, "recall")]).whole
    for row, label in ((x, "x"), (y, "y")):
        assert row.metric == f"recall#{label}"
        assert row.value_a == pytest.approx((one == gold)[gold == label].mean())
        assert row.value_b == pytest.approx((other == gold)[gold == label].mean())
        assert row.ci_low is not None
        assert row.p_method == "swaps"
    assert (x.p_value, x.p_at_most) == (1 / 2_000, True)
    assert w.reason == "the metric gave no value"


def test_examples_that_count_in_one_run_only_are_left_out_of_sums() -> None:
    gold, (one, other), _ = labelled(60, (0.9, 0.5))
    policies = {"on_missing": "skip", "on_invalid": "skip", "on_duplicate": "first"}
    first = make_run(
        "a",
        answers=gold.tolist(),
        preds=one.tolist(),
        whole={"macro-f1": 0.5, "agreement": 0.5},
        status=["missing"] * 10 + ["scored"] * 50,
        tags=[["t"]] * 10 + [["u"]] * 50,
        record={"policies": policies},
    )
    second = make_run(
        "b",
        answers=gold.tolist(),
        preds=other.tolist(),
        whole={"macro-f1": 0.5, "agreement": 0.5},
    )
    metrics = [named(MacroF1, "macro-f1"), get_agreement]
    comparison = compare(first, second, metrics=metrics)
    for row in comparison.whole:
        assert (row.n, row.left_out) == (50, 10)
    assert comparison.whole[0].value_b == pytest.approx(macro(gold[10:], other[10:]))
    # a tag of which nothing counts in both is not compared
    assert {row.tag for row in comparison.rows} == {None, "u"}


def test_a_score_that_nothing_can_compute_again() -> None:
    first, second = (
        make_run(name, answers=["x"] * 3, whole={"made#overall": value})
        for name, value in (("a", 0.7), ("b", 0.6))
    )
    row = only(compare(first, second))
    assert row.reason == "the data set computes it, and only for the whole set"
    gone = {
        "id": "metrics/gone",
        "distribution": "gone",
        "parameters": {},
        "version": "1",
    }
    first, second = (
        make_run(
            name, answers=["x"], whole={"gone": 0.5}, record={"components": [gone]}
        )
        for name in "ab"
    )
    row = only(compare(first, second))
    assert "gone" in (row.reason or "")
    assert row.conclusion.startswith("not compared: ")


PLUGIN = """
def get_spread(predictions, targets):
    if "u" in targets:
        return None
    return len(set(predictions))
"""


def test_metrics_are_loaded_as_the_run_recorded_them(fake_distribution: Any) -> None:
    entry_points = {"evalkit.metrics": {"spread": "get_spread"}}
    fake_distribution(PLUGIN, entry_points, name="spread-plugin", version="3")
    component = {
        "id": "metrics/spread",
        "distribution": "spread-plugin",
        "version": "3",
        "parameters": {},
    }
    runs = [
        make_run(
            name,
            answers=["x", "y", "z", "u"] * 10,
            preds=preds * 10,
            tags=[["t"], ["t"], ["t"], ["u"]] * 10,
            whole={"spread": 3.0},
            record={"components": [component]},
        )
        for name, preds in (("a", ["x", "y", "z", "x"]), ("b", ["x"] * 4))
    ]
    whole, *rows = compare(runs[0], runs[1]).rows
    assert str(whole.reason).endswith(": it is not defined for these examples")
    tag, undefined = rows
    assert (tag.tag, tag.value_a, tag.value_b, tag.difference) == ("t", 3, 1, 2)
    # those without a difference come last, and are no part of the family
    assert (undefined.tag, undefined.difference) == ("u", None)
    assert tag.p_adjusted == tag.p_value


def test_a_function_that_is_undefined_for_what_is_drawn() -> None:
    gold = ["x"] * 19 + ["z"] * 2

    def get_share(predictions: list[str], targets: list[str]) -> float | None:
        if "z" not in targets or not predictions:
            return None
        return predictions.count("z") / len(predictions)

    runs = [
        make_run(name, answers=gold, preds=preds, whole={"share": 0.1})
        for name, preds in (("a", gold), ("b", ["x"] * 20 + ["z"]))
    ]
    row = only(compare(*runs, metrics=[get_share]))
    assert row.ci_low is not None
    rare = [
        make_run(
            name, answers=["x"] * 30 + ["u"], preds=["x"] * 31, whole={"rare": 0.1}
        )
        for name in "ab"
    ]

    def get_rare(predictions: list[str], targets: list[str]) -> float | None:
        return 1.0 if targets.count("u") == 1 else None

    row = only(compare(*rare, metrics=[get_rare]))
    assert row.reason == "the score is undefined in most bootstrap replicates"
    skipped = {"on_missing": "skip", "on_invalid": "skip", "on_duplicate": "first"}
    empty = make_run(
        "c",
        answers=gold,
        preds=gold,
        whole={"share": 0.1},
        status=["missing"] * 21,
        record={"policies": skipped},
    )
    row = only(compare(runs[0], empty, metrics=[get_share]))
    assert row.conclusion == "not compared: no example was scored in both runs"


def test_a_function_that_does_not_take_these_answers() -> None:
    @evalkit.metric(answer_kinds=("spans",))
    def get_agreement(predictions: list[str], targets: list[str]) -> float:
        return 1.0

    *_, runs = labelled(20, (0.8, 0.6))
    row = only(compare(*runs, metrics=[get_agreement]))
    assert row.reason == "the metric does not take answers of the kind 'one'"


class Nothing(MacroF1):
    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        nothing = pl.lit(None, dtype=pl.Float64)
        return sums.select(pl.col("group").unique()).with_columns(value=nothing)


def test_sums_without_a_value_or_an_example() -> None:
    *_, runs = labelled(50, (0.8, 0.6))
    row = only(compare(*runs, metrics=[named(Nothing, "macro-f1")]))
    assert row.reason == "the metric is not defined for these examples"
    skipped = {"on_missing": "skip", "on_invalid": "skip", "on_duplicate": "first"}
    half = [
        make_run(
            name,
            answers=["x", "y"],
            preds=["x", "y"],
            whole={"macro-f1": 0.1},
            status=status,
            record={"policies": skipped},
        )
        for name, status in (("a", ["missing", "scored"]), ("b", ["scored", "missing"]))
    ]
    row = only(compare(*half, metrics=[named(MacroF1, "macro-f1")]))
    assert row.conclusion.startswith("not compared: ")
    assert (row.n, row.p_value) == (0, None)


def test_a_conclusion_names_what_a_model_did_not_answer() -> None:
    skipped: list[float | None] = [None] * 20 + [1.0] * 70 + [0.0] * 10
    answered: list[float | None] = [0.0] * 45 + [1.0] * 54 + [None]
    row = only(compare(*runs_of(skipped, answered)))
    assert (row.left_out, row.left_out_a, row.left_out_b) == (21, 20, 1)
    assert row.conclusion.startswith("a is better than b by ")
    assert row.conclusion.endswith(
        "); on the 79 examples scored for both: a has no score on 20 more, b has no "
        "score on 1 more"
    )
    whole = only(compare(*runs_of([1.0] * 30, [0.0] * 30)))
    assert whole.conclusion.endswith(")")


@pytest.mark.parametrize("metric", ["accuracy", "macro-f1"])
@pytest.mark.slow
def test_a_conclusion_counts_what_is_missing_as_wrong(metric: str) -> None:
    labels = ("positive", "negative", "neutral")
    said = [{"id": f"sent-{n:03}", "label": labels[n % 3]} for n in range(1, 136)]
    full = evalkit.evaluate("sample-sentiment", said, metrics=[metric], model="full")
    rest = said[60:]
    few = evalkit.evaluate(
        "sample-sentiment", rest, metrics=[metric], model="few", on_missing="wrong"
    )
    comparison = compare(few, full)
    row = only(comparison)
    assert (row.as_wrong_a, row.as_wrong_b, row.left_out) == (60, 0, 0)
    end = "; missing or invalid predictions count as wrong: 60 of few"
    assert row.conclusion.endswith(end)
    assert comparison.notices[-1] == (
        f"few ({few.run_id}): 60 examples without a valid prediction count as wrong"
    )
    tagged = {row.tag: row.as_wrong_a for row in comparison.rows}
    assert 0 < tagged["negation:no"] < 60
    left = evalkit.evaluate(
        "sample-sentiment", rest, metrics=[metric], model="few", on_missing="skip"
    )
    row = only(compare(full, left))
    assert (row.left_out_a, row.left_out_b, row.as_wrong_b) == (0, 60, 0)
    end = "; on the 75 examples scored for both: few has no score on 60 more"
    assert row.conclusion.endswith(end)


@pytest.mark.parametrize("cluster", [(), "author"])
def test_the_same_predictions_are_compared_alike_with_and_without_clusters(
    cluster: str | tuple[()], tmp_path: Path
) -> None:
    """In clusters the test was said not to be possible."""
    labels = ("positive", "negative")
    rows = [
        {"uid": str(n), "statement": f"{n}", "label": labels[n % 2], "author": n // 5}
        for n in range(60)
    ]
    file = tmp_path / "data.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    said = [{"id": str(n), "label": labels[(n % 7 > 1) == n % 2]} for n in range(60)]
    runs = [
        evalkit.evaluate(
            str(file), said, task="sentiment", model=model, cluster=cluster
        )
        for model in ("one", "other")
    ]
    [row] = compare(*runs, metrics=["macro-f1"], tags=False).rows
    assert (row.difference, row.p_value) == (0.0, 1.0)
    if cluster:
        assert row.reason == "all bootstrap replicates are equal"
    else:
        assert (row.ci_low or 0) < 0 < (row.ci_high or 0)
    assert row.conclusion.startswith("undecided: no difference was seen (p = 1)")
