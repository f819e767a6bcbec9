"""Means over groups of label pairs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from evalkit.inference.multinomial import count_pairs, counts_of_one_class
from evalkit.scoring.pooled_replicates import has_rare_class
from evalkit.scoring.records import AggregateScore, MetricScores

from ..engine_tables import aggregate, main_score, make_groups, make_table, scored

LABELS = np.array(["a", "b", "c"])


Codes = NDArray[np.int64]


def in_tags(gold: Codes, said: Codes, tags: int, sets: int) -> MetricScores:
    """Score sets of tags of one size, each set a facet of its own."""
    count = len(gold) // sets // tags
    places = np.arange(len(gold)) // count
    table = make_table(LABELS[said].tolist(), LABELS[gold].tolist())
    names = [[f"s{place // tags}:t{place % tags}"] for place in places.tolist()]
    return scored("macro-f1", table, make_groups(names), one_family=False)


def means_over_tags(
    gold: Codes, said: Codes, tags: int, sets: int
) -> list[AggregateScore]:
    found = in_tags(gold, said, tags, sets)
    return [aggregate(found, f"macro:s{number}") for number in range(sets)]


def test_the_mean_over_small_tags_makes_up_for_their_lower_scores() -> None:
    """20 tags of 12, three classes at .72: it covered .87, and a flag was at .56."""
    random = np.random.default_rng(12)
    sets, tags, size = 3, 20, 12
    gold = random.integers(0, 3, sets * tags * size)
    wrong = (gold + random.integers(1, 3, len(gold))) % 3
    said = np.where(random.random(len(gold)) < 0.72, gold, wrong)
    shifts = []
    for mean in means_over_tags(gold, said, tags, sets):
        assert mean.value is not None
        assert mean.interval.low is not None
        assert mean.interval.high is not None
        assert mean.interval.low <= 0.72 <= mean.interval.high
        assert mean.flag is None
        shifts.append((mean.interval.low + mean.interval.high) / 2 - mean.value)
    # in truth they are .028 lower; replicates of each tag alone find .014
    assert 0.018 < float(np.mean(shifts)) < 0.036


def test_the_mean_over_tags_of_unequal_clusters_heeds_what_they_are_worth() -> None:
    """Four tags of 30 clusters of lognormal sizes: the gap test rejected in .107."""
    random = np.random.default_rng(8)
    sizes = np.array([30, 12, 9, 7, 5, 4, 3, 3, 2, 2, 1, 1] * 4)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    gold = random.integers(0, 3, len(clusters))
    rates = random.beta(4, 1, len(sizes))[clusters]
    said = np.where(random.random(len(gold)) < rates, gold, (gold + 1) % 3)
    tags = clusters // 12
    table = make_table(
        LABELS[said].tolist(), LABELS[gold].tolist(), clusters=clusters.tolist()
    )
    found = scored("macro-f1", table, make_groups([[f"t:{tag}"] for tag in tags]))
    effective = 79**2 / float((sizes[:12] ** 2).sum())
    growth = effective / (effective - 1)
    errors = [main_score(found, group).interval.standard_error for group in range(1, 5)]
    variances = [growth * float(error or 0) ** 2 for error in errors]
    mean = aggregate(found, "macro:t").interval
    assert mean.standard_error == pytest.approx(sum(variances) ** 0.5 / 4)
    degrees = sum(variances) ** 2 / sum(one**2 for one in variances) * (effective - 1)
    assert 10 < degrees < 20
    assert mean.low is not None
    assert mean.high is not None
    half = stats.t.ppf(0.975, int(degrees)) * mean.standard_error
    assert (mean.high - mean.low) / 2 == pytest.approx(half, rel=0.1)


def test_a_rare_class_that_tags_lack_is_flagged() -> None:
    random = np.random.default_rng(5)
    sets, tags, size = 3, 10, 20
    gold = (random.random(sets * tags * size) < 0.1).astype(int)
    said = np.where(random.random(len(gold)) < 0.9, gold, 1 - gold)
    flags = [mean.flag for mean in means_over_tags(gold, said, tags, sets)]
    assert all("too narrow" in (flag or "") for flag in flags), flags


def test_a_group_of_one_class_gets_one_right_and_one_wrong_example() -> None:
    pairs = count_pairs([(("b", "b"), 7.0), (("b", None), 2.0)], ["a", "b", "c"])
    assert counts_of_one_class(pairs) == {
        ("b", None): 2.0,
        ("b", "a"): 0.5,
        ("b", "b"): 8.0,
        ("b", "c"): 0.5,
    }
    alone = count_pairs([(("b", "b"), 7.0)], [])
    assert counts_of_one_class(alone) == {("b", None): 1.0, ("b", "b"): 8.0}


@pytest.mark.parametrize(
    ("sizes", "is_rare"),
    [
        ([40, 40, 40], False),
        ([30, 28, 32], False),
        ([12, 108], True),
        ([100, 100, 30], True),
        ([4, 8, 10, 12, 9], False),
        ([50], False),
    ],
)
def test_a_class_is_rare_where_chance_does_not_make_it_so(
    sizes: list[int], is_rare: bool
) -> None:
    names = [str(number) for number in range(len(sizes))]
    pairs = [((name, name), float(n)) for name, n in zip(names, sizes, strict=True)]
    assert has_rare_class(count_pairs(pairs, names)) == is_rare


@pytest.mark.parametrize(("rare", "is_flagged"), [(1, True), (3, False), (8, False)])
def test_a_gap_of_tags_that_hardly_have_a_rare_class_is_flagged(
    rare: int, is_flagged: bool
) -> None:
    golds = (["b"] * rare + ["a"] * (20 - rare)) * 2
    says = ["a"] * 8 + ["b"] * 12 + golds[20:]
    tags = [["f:s"]] * 20 + [["f:t"]] * 20
    found = scored("macro-f1", make_table(says, golds), make_groups(tags))
    gap = aggregate(found, "gap:f")
    assert gap.p_value is not None
    assert ("its p-value may be too small" in (gap.flag or "")) is is_flagged
    assert (gap.flag or "").startswith("from ")


def test_a_gap_of_tags_of_one_gold_label_each_is_not_flagged() -> None:
    """Nothing is left to chance where a tag has one label by design."""
    golds = ["a"] * 20 + ["a"] * 20 + ["a"] * 20 + ["b"] * 5
    says = golds[:10] + ["b"] * 10 + golds[20:]
    tags = [["f:s"]] * 20 + [["f:t"]] * 20 + [["f:u"]] * 20 + [["f:v"]] * 5
    found = scored("macro-f1", make_table(says, golds), make_groups(tags))
    assert "p-value" not in (aggregate(found, "gap:f").flag or "")
