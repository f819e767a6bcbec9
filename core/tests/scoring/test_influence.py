from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.metrics import f1_score, precision_score

from evalkit import Metric
from evalkit.scoring import influence
from evalkit.scoring.evidence import Evidence
from evalkit.scoring.table import ScoringTable
from evalkit.statistics.clusters import adjusted_root
from evalkit.statistics.intervals import NO_INFLUENCE

from .. import engine_tables
from ..engine_tables import Mean, Ratio, make_groups, make_table, scored


def make_evidence(metric: Any, table: ScoringTable, groups: Any = None) -> Evidence:
    """Count what a metric makes of examples, whose units keep their order."""
    alone = pl.Series(range(len(table.ids)), dtype=pl.UInt64)
    return engine_tables.make_evidence(metric, table._replace(clusters=alone), groups)


def variance_of(evidence: Evidence, group: int) -> float | None:
    found = evidence.influences(group)
    return None if found is None else adjusted_root(found.totals, found.sizes) ** 2


Floats = NDArray[np.float64]
LABELS = ["a", "b", "c"]


def labels_of(n: int, seed: int) -> tuple[list[str], list[str]]:
    random = np.random.default_rng(seed)
    gold = random.choice(LABELS, n, p=[0.6, 0.3, 0.1])
    noise = random.choice(LABELS, n)
    predicted = np.where(random.random(n) < 0.7, gold, noise)
    return predicted.tolist(), gold.tolist()


def influences_of(evidence: Evidence, group: int = 0, score: str = "") -> Floats:
    found = evidence.influences(group, score)
    assert found is not None
    assert (found.sizes == 1).all()
    assert math.fsum(found.totals) == pytest.approx(0, abs=1e-9)
    return found.totals


def jackknife(values: Callable[[NDArray[np.bool_]], float], n: int) -> Floats:
    """Give the change of a score for each example that is left out, centred."""
    left_out = np.array([values(np.arange(n) != i) for i in range(n)])
    return (n - 1) / n * (left_out.mean() - left_out)


# analytic derivatives -----------------------------------------------------------


def test_influences_of_a_mean() -> None:
    values = np.random.default_rng(0).exponential(size=40).round(1)
    found = influences_of(make_evidence(Mean, make_table(values.tolist())))
    assert found == pytest.approx((values - values.mean()) / 40, rel=1e-6, abs=1e-12)


def test_influences_of_accuracy_with_examples_that_have_no_rows() -> None:
    predicted, gold = labels_of(30, 1)
    table = make_table(predicted, gold, present=range(5, 30))
    groups = make_groups([["t"] if i % 2 else [] for i in range(30)])
    evidence = make_evidence("accuracy", table, groups)
    right = np.array(predicted) == np.array(gold)
    for group, members in ((0, range(5, 30)), (1, range(5, 30, 2))):
        part = right[list(members)].astype(float)
        found = evidence.influences(group)
        assert found is not None
        assert found.units.tolist() == [member - 5 for member in members]
        expected = (part - part.mean()) / len(part)
        assert found.totals == pytest.approx(expected, abs=1e-9)


def test_influences_of_a_ratio() -> None:
    """The row of a ratio of peers.md 5.6: (a - R b) / mean b, over n."""
    random = np.random.default_rng(2)
    above, below = random.poisson(3, 50) / 1.0, random.poisson(5, 50) + 1.0
    found = influences_of(make_evidence(Ratio, make_table(above, below)))
    ratio = above.sum() / below.sum()
    assert found == pytest.approx(
        (above - ratio * below) / below.sum(), rel=1e-6, abs=1e-10
    )


@pytest.mark.parametrize("clusters", [None, [0, 0, 1, 1, 2]])
def test_a_ratio_that_no_example_moves_has_no_interval(
    clusters: list[int] | None,
) -> None:
    """The error of the differences is not taken for an error of the score."""
    table = make_table([3.0, 1.0, 4.0, 1.0, 5.0], [6.0, 2.0, 8.0, 2.0, 10.0])
    [found] = scored(
        Ratio, table._replace(clusters=clusters and pl.Series(clusters))
    ).scores
    assert found.value == 0.5
    assert found.interval.low is None
    assert found.interval.reason == NO_INFLUENCE
    evidence = make_evidence(Ratio, make_table([3.0, 1.0], [6.0, 2.0 + 1e-5]))
    assert np.abs(influences_of(evidence)).min() > 0


@pytest.mark.parametrize("label", LABELS)
def test_influences_of_f1_of_a_class(label: str) -> None:
    predicted, gold = labels_of(80, 3)
    table = make_table(predicted, gold)
    found = influences_of(make_evidence(f"f1:label={label}", table))
    is_gold, is_predicted = np.array(gold) == label, np.array(predicted) == label
    above = 2.0 * (is_gold & is_predicted)
    below = is_gold.astype(float) + is_predicted
    ratio = above.sum() / below.sum()
    assert ratio == pytest.approx(f1_score(is_gold, is_predicted))
    assert found == pytest.approx((above - ratio * below) / below.sum(), abs=1e-9)


def test_influences_of_macro_f1() -> None:
    predicted, gold = labels_of(80, 4)
    found = influences_of(make_evidence("macro-f1", make_table(predicted, gold)))
    expected = np.zeros(80)
    for label in LABELS:
        is_gold, is_predicted = np.array(gold) == label, np.array(predicted) == label
        above = 2.0 * (is_gold & is_predicted)
        below = is_gold.astype(float) + is_predicted
        expected += (above - above.sum() / below.sum() * below) / below.sum() / 3
    assert found == pytest.approx(expected, abs=1e-9)


def test_the_error_of_micro_f1_is_that_of_the_delta_formula() -> None:
    predicted, gold = labels_of(400, 5)
    table = make_table(predicted, gold)
    [found] = scored("f1:label=b", table).scores
    assert found.value == pytest.approx(
        f1_score(gold, predicted, labels=["b"], average="macro")
    )
    is_gold, is_predicted = np.array(gold) == "b", np.array(predicted) == "b"
    a = 2.0 * (is_gold & is_predicted)
    b = is_gold.astype(float) + is_predicted
    rows = (a - a.sum() / b.sum() * b) / b.mean()
    error = math.sqrt(400 / 399 * (rows**2).sum()) / 400
    variance = variance_of(make_evidence("f1:label=b", table), 0)
    assert variance is not None
    assert math.sqrt(variance) == pytest.approx(error, rel=1e-6)
    # and the interval that is drawn from counts is of about that size
    assert found.interval.method == "multinomial"
    assert found.interval.standard_error == pytest.approx(error, rel=0.12)


# the jackknife -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "reference"),
    [
        ("accuracy", lambda gold, predicted: float((gold == predicted).mean())),
        (
            "macro-f1",
            lambda gold, predicted: float(f1_score(gold, predicted, average="macro")),
        ),
        (
            "f1:label=b",
            lambda gold, predicted: float(f1_score(gold == "b", predicted == "b")),
        ),
        (
            "precision:label=a",
            lambda gold, predicted: float(
                precision_score(gold == "a", predicted == "a")
            ),
        ),
    ],
)
def test_influences_are_near_those_of_the_jackknife(
    metric: str, reference: Callable[[Any, Any], float]
) -> None:
    n = 150
    given = [np.array(column) for column in labels_of(n, 6)]
    predicted, gold = given
    expected = jackknife(lambda kept: reference(gold[kept], predicted[kept]), n)
    found = influences_of(make_evidence(metric, make_table(*map(list, given))))
    assert found == pytest.approx(expected, abs=0.05 * np.abs(expected).max())
    assert (found**2).sum() == pytest.approx((expected**2).sum(), rel=0.05)


# groups --------------------------------------------------------------------------


def test_every_score_and_group_has_its_influences() -> None:
    predicted, gold = labels_of(60, 7)
    odd = ["odd", "late"]
    tags = [["even"] if i % 2 == 0 else odd[: 1 + i // 40] for i in range(60)]
    evidence = make_evidence("f1", make_table(predicted, gold), make_groups(tags))
    for group, tag in enumerate(evidence.tags):
        members = [i for i in range(60) if tag is None or tag in tags[i]]
        part = make_table([predicted[i] for i in members], [gold[i] for i in members])
        alone = make_evidence("f1", part)
        for label in LABELS:
            found = evidence.influences(group, label)
            other = alone.influences(0, label)
            assert (found is None) == (other is None)
            if found is not None and other is not None:
                assert found.units.tolist() == members
                assert found.totals == pytest.approx(other.totals, abs=1e-12)


def test_rows_of_cells_that_a_group_lacks_have_none() -> None:
    table = make_table(["a", "b", "c", "a"], ["a", "b", "a", "b"])
    evidence = make_evidence("macro-f1", table, make_groups([["t"], [], [], ["t"]]))
    by_code = evidence._influences.of(1)[""]
    pairs = evidence.rows.distinct.select("gold", "predicted").rows()
    influences = by_code[np.arange(len(pairs))]
    lacking = {pairs[i] for i in np.flatnonzero(np.isnan(influences))}
    assert lacking == {("b", "b"), ("a", "c")}


class Picky(Mean):
    """Is not defined where a group's total is over 100, not even for others then."""

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        if (sums["total"] > 100).any():
            raise OverflowError("too much")
        return super().finalize(sums)


def test_a_group_near_which_the_metric_fails_does_not_touch_the_others() -> None:
    # the whole set's total is exactly 100: it fails with a step up
    values = [40.0, 50.0, 7.0, 3.0]
    groups = make_groups([["a"], ["a"], ["b"], ["b"]])
    evidence = make_evidence(Picky, make_table(values), groups)
    assert evidence.influences(0) is None
    assert variance_of(evidence, 0) is None
    for group, part in ((1, np.array([40.0, 50.0])), (2, np.array([7.0, 3.0]))):
        expected = (part - part.mean()) / 2
        assert influences_of(evidence, group) == pytest.approx(expected, rel=1e-6)


class Rooted(Mean):
    """A root, which has no derivative at 0."""

    def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
        mean = pl.col("total") / pl.col("n")
        return sums.select("group", value=mean.sqrt())


def test_a_score_without_a_gradient_has_no_influences() -> None:
    values = [0.0, 0.0, 4.0, 5.0]
    groups = make_groups([["a"], ["a"], ["b"], ["b"]])
    evidence = make_evidence(Rooted, make_table(values), groups)
    assert evidence.influences(1) is None
    found = influences_of(evidence, 2)
    assert found == pytest.approx([-0.25 / 4.5**0.5 / 2, 0.25 / 4.5**0.5 / 2], rel=1e-6)
    assert evidence.influences(2, "unknown") is None


def test_metrics_that_do_not_merge_by_sum_have_no_influences() -> None:
    class Most(Metric):
        merges = {"most": "max"}

        def statistics(self, batch: pl.DataFrame) -> pl.DataFrame:
            return batch.select(most="prediction").with_row_index("row")

        def finalize(self, sums: pl.DataFrame) -> pl.DataFrame:
            return sums.select("group", value="most")

    evidence = make_evidence(Most, make_table([1.0, 2.0]))
    assert not evidence.merges_by_sum
    assert evidence.influences(0) is None
    assert variance_of(evidence, 0) is None


def test_groups_of_very_many_sums_have_no_influences(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    predicted, gold = labels_of(60, 8)
    groups = make_groups([["t"] if label == "a" else [] for label in gold])
    table = make_table(predicted, gold)
    monkeypatch.setattr(influence, "MOST_ENTRIES", 4)
    evidence = make_evidence("macro-f1", table, groups)
    assert evidence.influences(0) is None
    assert evidence.influences(1) is not None


def test_batches_of_groups_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    predicted, gold = labels_of(60, 9)
    groups = make_groups([[f"t{i % 5}"] for i in range(60)])
    table = make_table(predicted, gold)
    together = make_evidence("macro-f1", table, groups)
    expected = [variance_of(together, group) for group in range(6)]
    monkeypatch.setattr(influence, "MOST_ROWS", 1)
    apart = make_evidence("macro-f1", table, groups)
    assert [variance_of(apart, group) for group in range(6)] == expected
    assert None not in expected


def test_a_sum_of_zero_is_changed_by_an_absolute_step() -> None:
    values = [-1.0, 1.0, 2.0, -2.0]
    found = influences_of(make_evidence(Mean, make_table(values)))
    assert found == pytest.approx(np.array(values) / 4, rel=1e-6)
