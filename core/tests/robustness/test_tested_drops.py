"""Tests of drops under perturbation, and how they are adjusted for each other."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from edited_runs import write_record
from evalkit.robustness.drop_swaps import BEGUN
from evalkit.robustness.pairs import Rows
from evalkit.robustness.tested_drops import (
    DropLevels,
    difference_of_drop,
    mean_differences,
)
from scipy import stats
from sklearn.metrics import recall_score

from evalkit import Result, Score
from evalkit.inference.intervals import Interval
from evalkit.inference.resampling import Units
from evalkit.runs.stored import read_run
from evalkit.scoring.records import GroupScore
from evalkit.workflows.rescoring import rescore
from evalkit.workflows.verification import verify
from evalkit_analysis_compare.effective_pairs import share_difference_interval
from evalkit_analysis_compare.judging import judge
from evalkit_analysis_compare.paired_shares import tango_score
from evalkit_analysis_compare.randomised_tests import Significance

from ..perturbed_plugins import (
    REGISTRY,
    Clustered,
    answers,
    copy,
    evaluate,
    example,
    found,
    get_share,
)

GOLDS = [("a", "b", "a", "c")[number % 4] for number in range(24)]
OF_DROPS = Score._fields[Score._fields.index("p_method") :]
"""Fields that only drops have."""


def perturbed(
    *broken: Iterable[int], copies: int = 1, clusters: int = 0, **options: Any
) -> Result:
    """Evaluate a model that is right on all but the first two originals.

    Args:
        broken: Of each perturbation, the copies that are answered wrongly: the first
            ones of each original, which else are answered as it is.
        copies: How many copies each original has by each.
        clusters: How many pages the originals are of; 0 for none.
    """
    rows = [
        example(
            f"{number:02}",
            gold,
            "even" if number % 2 == 0 else "odd",
            page=f"p{number % max(1, clusters)}",
        )
        for number, gold in enumerate(GOLDS)
    ]
    said = {
        row["uid"]: "b" if number < 2 else gold
        for number, (row, gold) in enumerate(zip(rows, GOLDS, strict=True))
    }
    made, told = [], {}
    for place, wrong in enumerate(broken):
        effect = {"label_effect": "invariant", "families": ["f", f"g{place % 2}"]}
        for number, (row, gold) in enumerate(zip(rows, GOLDS, strict=True)):
            for repeat in range(copies):
                uid = f"{row['uid']}_{place}_{repeat}"
                made.append({**copy(uid, row, f"p{place}"), **effect})
                is_wrong = number in wrong and repeat == 0
                other = "a" if gold != "a" else "c"
                told[uid] = other if is_wrong else said[row["uid"]]
    dataset = {"dataset": Clustered} if clusters else {}
    return evaluate(rows, answers(**said), made, answers(**told), **dataset, **options)


def bounds_of_share(worse: int, n: int, level: float) -> tuple[float, float]:
    """Find what the score test or the mid-p test does not reject, by a fine grid."""
    quantile = stats.norm.isf(level / 2)
    grid = np.linspace(-1, 1, 20_001)[1:-1]
    kept = [d for d in grid if abs(tango_score(worse, 0, n, d)) <= quantile]
    if worse:
        shares = grid[grid > 0]
        half = stats.binom.pmf(worse, n, shares) / 2
        fewer = stats.binom.cdf(worse, n, shares) - half
        more = stats.binom.sf(worse, n, shares) + half
        kept += list(shares[np.minimum(fewer, more) >= level / 2])
    return min(kept), max(kept)


def test_a_share_has_mcnemars_test_and_tangos_interval_of_the_family() -> None:
    result = perturbed(range(2, 10), [5], [])
    drops = [found(result, "drop", f"p{place}") for place in range(3)]
    worse = [8, 1, 0]
    for drop, count in zip(drops, worse, strict=True):
        p_value = stats.binomtest(0, count).pvalue if count else 1.0
        assert drop.p_value == pytest.approx(p_value)
        assert drop.p_adjusted == pytest.approx(min(1, 3 * p_value))
        assert (drop.p_method, drop.p_at_most) == ("mcnemar-exact", False)
        assert drop.family_size == 3
        low, high = bounds_of_share(count, 24, 0.05 / 3)
        # widened to hold 0 where the test shows nothing
        low = min(low, 0.0) if 3 * p_value >= 0.05 else low
        assert drop.ci_low_adjusted == pytest.approx(low, abs=2e-4)
        assert drop.ci_high_adjusted == pytest.approx(high, abs=2e-4)
    assert [drop.different for drop in drops] == [True, False, False]


@pytest.mark.slow
def test_families_and_tags_are_adjusted_apart_and_nothing_else_is_tested() -> None:
    result = perturbed(range(2, 10), [5], [], metrics=["right", "macro-recall"])
    for score in result.scores:
        values = [getattr(score, field) for field in (*OF_DROPS, "p_adjusted")]
        if score.computed_on != "drop":
            assert values == [None] * len(values)
            continue
        if "#" in score.metric:  # recalls of labels, which not all tags have
            continue
        whole = 3  # perturbations, or the families f, g0 and g1
        size = whole if score.tag is None else 2
        assert score.family_size == size
        assert score.p_value is not None
        assert score.p_adjusted == min(1.0, size * score.p_value)
        low, high = score.ci_low_adjusted, score.ci_high_adjusted
        assert low is not None
        assert high is not None
        assert score.ci_low is not None
        assert score.ci_high is not None
        assert low <= score.ci_low + 1e-12
        assert high >= score.ci_high - 1e-12
        holds_zero = low <= 0 <= high
        assert score.different == (score.p_adjusted < 0.05 and not holds_zero)


@pytest.mark.slow
def test_what_seems_a_drop_by_itself_is_none_of_twenty() -> None:
    """Seven of seven changes for the worse: p = .016 alone, .31 of twenty."""
    result = perturbed(range(2, 9), *[[] for _ in range(19)])
    drop = found(result, "drop", "p0")
    assert drop.ci_low is not None
    assert drop.ci_low > 0
    assert drop.p_value is not None
    assert drop.p_value < 0.05
    assert drop.p_adjusted == pytest.approx(20 * 2 / 2**7)
    assert drop.ci_low_adjusted is not None
    assert drop.ci_low_adjusted <= 0
    assert drop.different is False


def test_drops_of_clusters_and_of_means_of_copies_flip_signs() -> None:
    for options, units in (({"clusters": 6}, 6), ({"copies": 2}, 24)):
        drop = found(perturbed(range(2, 12), **options), "drop", "p0")
        weight = 1 / options.get("copies", 1)
        sums = np.zeros(units)
        for number in range(2, 12):
            sums[number % units] += weight
        flips = np.array(list(itertools.product((1, -1), repeat=int((sums > 0).sum()))))
        flipped = np.abs(flips @ sums[sums > 0])
        assert drop.p_method == "sign-flips-exact"
        assert drop.p_value == pytest.approx((flipped >= sums.sum() - 1e-9).mean())


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.slow
def test_a_score_of_sets_swaps_originals_with_their_copies(copies: int) -> None:
    """All swaps by hand, with scikit-learn's recall; copies count one half."""
    broken = range(2, 9)
    result = perturbed(broken, copies=copies, metrics=["macro-recall"])
    drop = found(result, "drop", "p0", metric="macro-recall")
    golds = np.array(GOLDS)
    before = np.array(
        ["b" if number < 2 else gold for number, gold in enumerate(GOLDS)]
    )
    wrong = np.where(golds != "a", "a", "c")
    after = [before.copy() for _ in range(copies)]
    after[0][list(broken)] = wrong[list(broken)]

    def score(one: Any, others: list[Any], swapped: list[int]) -> float:
        is_swapped = np.isin(np.arange(24), swapped)
        kept = [(one, np.where(is_swapped, 0.0, 1.0))]
        kept += [(other, np.where(is_swapped, 1.0 / copies, 0.0)) for other in others]
        return float(
            recall_score(
                np.concatenate([golds] * len(kept)),
                np.concatenate([answer for answer, _ in kept]),
                average="macro",
                sample_weight=np.concatenate([weight for _, weight in kept]),
                zero_division=0,
            )
        )

    everyone = list(range(24))
    observed = score(before, after, []) - score(before, after, everyone)
    assert drop.value == pytest.approx(observed)
    hits = total = 0
    for swap in itertools.product((False, True), repeat=len(broken)):
        chosen = [
            number for number, swapped in zip(broken, swap, strict=True) if swapped
        ]
        rest = [number for number in everyone if number not in chosen]
        difference = score(before, after, chosen) - score(before, after, rest)
        hits += abs(difference) >= abs(observed) - 1e-9
        total += 1
    assert drop.p_value == pytest.approx(hits / total)
    assert drop.p_method == "swaps-exact"


@pytest.mark.slow
def test_swaps_go_on_until_the_family_is_decided() -> None:
    """With 256 swaps and no more, no drop of twenty could be shown."""
    broken = range(2, 24)
    result = perturbed(broken, *[[] for _ in range(19)], metrics=["macro-recall"])
    drop = found(result, "drop", "p0", metric="macro-recall")
    assert drop.p_adjusted is not None
    assert 20 / (BEGUN + 1) > 0.05 > drop.p_adjusted
    assert drop.p_at_most is True
    assert drop.different is True


def test_a_function_of_lists_has_no_test_and_does_not_count() -> None:
    result = perturbed(range(2, 10), [5], metrics=["right", get_share])
    drop = found(result, "drop", "p0", metric="share")
    assert drop.value is not None
    assert [getattr(drop, field) for field in OF_DROPS] == [None] * len(OF_DROPS)
    assert found(result, "drop", "p0").family_size == 2


def test_a_drop_is_not_shown_where_only_the_test_finds_it() -> None:
    own = Interval(-0.01, 0.3, 0.1, "t")
    score = GroupScore("", 0, 0.15, 10, None, own)
    drop = difference_of_drop(
        score, lambda _: Interval(0.01, 0.3), Significance(0.001, "x")
    )
    judged = judge(drop, 2, 0.95, None)
    assert judged.p_value == 0.002
    assert (judged.interval.low, judged.different) == (-0.01, False)


def test_no_drop_of_eight_is_shown_more_often_than_promised() -> None:
    """80 tables of eight perturbations of 200 originals, without any drop."""
    random = np.random.default_rng(5)
    levels = DropLevels(0.95, 8, 8)
    right = random.random((80, 1, 200)) < 0.8
    anew = random.random((80, 8, 200)) < 0.8
    copies = np.where(random.random((80, 8, 200)) < 0.5, anew, right)
    drops = right.astype(np.float64) - copies
    adjusted = alone = 0
    for values in drops:
        scores = [
            GroupScore(
                "",
                group,
                float(each.mean()),
                200,
                None,
                share_difference_interval(each, None, 0.95),
            )
            for group, each in enumerate(values)
        ]
        sizes = np.full(8, 200)
        numbers = np.arange(8).repeat(200)
        originals = np.tile(np.arange(200), 8)
        rows = Rows(numbers, originals, values.ravel(), sizes, sizes, True)
        units = Units([str(number) for number in range(200)], None, 0)
        found_drops = mean_differences(scores, rows, units, levels, shares=True)
        tested = [drop for drop in found_drops if drop is not None]
        adjusted += any(judge(drop, 8, 0.95, None).different for drop in tested)
        alone += any(judge(drop, 1, 0.95, None).different for drop in tested)
    assert adjusted / 80 <= 1.4 * 0.05
    assert alone / 80 > 0.12


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the folder of a run with drops."""
    result = perturbed(range(2, 12), range(4), metrics=["right"], out=tmp_path)
    assert result.path is not None
    return result.path


def change(path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Edit the scores of a run."""
    record = json.loads((path / "run.json").read_text("utf-8"))
    for score in record["scores"]:
        edit(score)
    write_record(path, record)


@pytest.mark.slow
def test_a_metric_that_is_added_later_has_the_same_tests(path: Path) -> None:
    metrics = ["right", "macro-recall"]
    both = perturbed(range(2, 12), range(4), metrics=metrics)
    later = rescore(path, ["macro-recall"], registry=REGISTRY)
    for metric in metrics:
        for name in ("p0", "p1", "family:f"):
            for tag in (None, "even"):
                drops = [
                    found(each, "drop", name, metric=metric, tag=tag)
                    for each in (both, later)
                ]
                assert drops[0].p_value is not None
                for field in ("p_value", "p_adjusted", *OF_DROPS):
                    values = [getattr(drop, field) for drop in drops]
                    assert values[0] == pytest.approx(values[1])


@pytest.mark.parametrize(
    "field",
    ["p_value", "p_adjusted", "ci_low_adjusted", "ci_high_adjusted", "family_size"],
)
@pytest.mark.slow
def test_a_test_that_was_tampered_with_is_named(path: Path, field: str) -> None:
    assert verify(path, registry=REGISTRY).agrees

    def edit(score: dict[str, Any]) -> None:
        place = (score["perturbation"], score["computed_on"], score["tag"])
        if place == ("p1", "drop", None):
            score[field] += 1 if field == "family_size" else 0.125

    change(path, edit)
    differences = verify(path, registry=REGISTRY).differences
    assert [found.field for found in differences] == [field]


def test_runs_of_older_versions_have_no_tests_of_drops(path: Path) -> None:
    def edit(score: dict[str, Any]) -> None:
        for field in OF_DROPS:
            del score[field]

    change(path, edit)
    for score in read_run(path).under_perturbation:
        assert [getattr(score, field) for field in OF_DROPS] == [None] * len(OF_DROPS)
