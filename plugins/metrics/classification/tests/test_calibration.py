"""Scores of confidences, by their definitions and against HELM's values."""

import json
import math
from collections.abc import Sequence
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalkit

METRICS = [
    *("ece", "mce", "ece:binning=mass,bins=4"),
    *("selective-accuracy", "coverage-accuracy-area"),
]
NO_PROBABILITIES = "the response holds no probabilities of the labels (`prob`)"
Said = tuple[float, bool]
"""The confidence of a prediction, and whether it is right."""

said = st.tuples(
    st.one_of(st.integers(0, 20).map(lambda n: n / 20), st.floats(0, 1)), st.booleans()
)
many = st.lists(said, min_size=1, max_size=25)
few = st.lists(
    st.tuples(st.sampled_from([0.5, 0.7, 0.9]), st.booleans()), min_size=1, max_size=6
)


def score(name: str, rows: Sequence[Said], **options: Any) -> evalkit.Result:
    """Score predictions of one label that are made with some confidence."""
    return evalkit.score(
        name,
        ["a"] * len(rows),
        ["a" if right else "b" for _, right in rows],
        fields={"prob": [{"a": p, "b": 1 - p} for p, _ in rows]},
        **options,
    )


def gaps(rows: Sequence[Said], bins: int) -> list[tuple[int, float, float]]:
    """Return size, mean confidence and accuracy of each bin of equal width."""
    found = []
    for place in range(bins):
        low, high = place / bins, (place + 1) / bins
        is_last = place == bins - 1
        part = [(p, r) for p, r in rows if low <= p < high or (is_last and p == 1)]
        if part:
            mean = math.fsum(p for p, _ in part) / len(part)
            found.append((len(part), mean, sum(r for _, r in part) / len(part)))
    return found


@settings(max_examples=25, deadline=None)
@given(rows=many, bins=st.sampled_from([1, 7, 15]))
@pytest.mark.slow
def test_ece_and_mce_are_what_they_are_defined_as(rows: list[Said], bins: int) -> None:
    parts = gaps(rows, bins)
    expected = math.fsum(n * abs(p - r) for n, p, r in parts) / len(rows)
    parameters = f":bins={bins}" if bins != 15 else ""
    found = score(f"ece{parameters}", rows)
    assert found[f"ece{parameters}"].value == pytest.approx(expected, abs=1e-12)
    greatest = max(abs(p - r) for _, p, r in parts)
    found = score(f"mce{parameters}", rows)
    assert found[f"mce{parameters}"].value == pytest.approx(greatest, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(rows=many, bins=st.integers(1, 6))
def test_bins_of_equal_mass_are_cut_halfway_between_sorted_confidences(
    rows: list[Said], bins: int
) -> None:
    parts = np.array_split(np.sort([p for p, _ in rows]), min(bins, len(rows)))
    edges = [float(one[-1] + other[0]) / 2 for one, other in pairwise(parts)]
    by_bin: dict[int, list[Said]] = {}
    for p, right in rows:
        by_bin.setdefault(sum(edge < p for edge in {*edges}), []).append((p, right))
    expected = math.fsum(
        abs(math.fsum(p - r for p, r in part)) for part in by_bin.values()
    )
    name = f"ece:binning=mass,bins={bins}"
    found = score(name, rows)[name].value
    assert found == pytest.approx(expected / len(rows), abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(rows=few, coverage=st.sampled_from([0.1, 0.34, 0.5, 0.75, 1.0]))
@pytest.mark.slow
def test_selective_scores_are_means_over_all_orders_of_equal_confidences(
    rows: list[Said], coverage: float
) -> None:
    orders = [
        [right for _, right in order]
        for order in permutations(rows)
        if all(p >= q for (p, _), (q, _) in pairwise(order))
    ]
    n = len(rows)
    k = max(1, math.ceil(coverage * n - 1e-9))
    name = f"selective-accuracy:coverage={coverage}" if coverage != 0.5 else METRICS[3]
    of_first = np.mean([sum(order[:k]) / k for order in orders])
    assert score(name, rows)[name].value == pytest.approx(of_first, abs=1e-12)
    area = np.mean([sum(o[:j]) / j for o in orders for j in range(1, n + 1)])
    found = score("coverage-accuracy-area", rows)["coverage-accuracy-area"]
    assert found.value == pytest.approx(area, abs=1e-12)


def test_the_debiased_score_takes_off_the_mean_of_drawn_distances() -> None:
    random = np.random.default_rng(5)
    confidence = random.uniform(0.3, 1.0, 200)
    rows = list(zip(confidence.tolist(), random.random(200) < 0.7, strict=True))
    parts = np.array(gaps(rows, 15))
    n, mean, right = parts.T
    drawn = random.normal(right, np.sqrt(right * (1 - right) / n), (200_000, len(n)))
    plain = float((n * np.abs(mean - right)).sum() / n.sum())
    noisy = float((n * np.abs(mean - drawn)).sum(axis=1).mean() / n.sum())
    found = score("ece", rows)
    assert found["ece"].value == pytest.approx(plain, abs=1e-12)
    assert found["ece#debiased"].value == pytest.approx(2 * plain - noisy, abs=2e-4)


@pytest.mark.slow
def test_a_calibrated_model_scores_too_high_and_debiased_less_so() -> None:
    random = np.random.default_rng(6)
    plain, debiased = [], []
    for _ in range(40):
        confidence = random.uniform(0.5, 1.0, 300)
        right = random.random(300) < confidence
        found = score(
            "ece", list(zip(confidence.tolist(), right.tolist(), strict=True))
        )
        plain.append(found["ece"].value or 0)
        debiased.append(found["ece#debiased"].value or 0)
    assert np.mean(plain) > 0.03
    # of a half-normal distance, 41 % are taken off
    assert np.mean(debiased) == pytest.approx(0.59 * np.mean(plain), rel=0.15)


def test_confidence_1_is_in_the_last_bin_and_an_edge_in_the_upper_one() -> None:
    rows = [(1.0, True), (14 / 15, False), (0.29, True)]
    assert score("ece:bins=15", rows)["ece"].value == pytest.approx(
        (abs(29 / 15 - 1) + 0.71) / 3
    )
    # as a product with 100 it would be a hair below 29
    name = "mce:bins=100"
    assert score(name, [(0.29, True), (0.285, False)])[name].value == pytest.approx(
        0.71
    )


def test_helm_has_the_same_values(oracles: Path) -> None:
    golden = json.loads((oracles / "helm_golden.json").read_text(encoding="utf-8"))
    random = np.random.RandomState(0)
    confidence = random.rand(100)
    hundred = list(zip(confidence.tolist(), random.rand(100) < confidence, strict=True))
    small = golden["calibration_small"]
    five = list(zip(small["probs"], map(bool, small["correct"]), strict=True))
    for rows, expected in ((hundred, golden["calibration_100"]), (five, small)):
        area, tenth = expected["sel"]
        names = [name for name in expected if name.startswith("ece_10")]
        for name, value in {
            "ece:binning=mass,bins=10": expected.get(
                "ece_10_bin", expected.get("ece_10")
            ),
            "ece:bins=1": expected[names[0].replace("10", "1")],
            "coverage-accuracy-area": area,
            "selective-accuracy:coverage=0.1": tenth,
        }.items():
            assert score(name, rows)[name].value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("ece", 0.5), ("mce", 0.5), ("selective-accuracy", 0.0)),
        ("coverage-accuracy-area", 0.25),
    ],
)
def test_a_missing_prediction_is_sure_and_wrong(name: str, value: float) -> None:
    fields = {"prob": [{"a": 0.99999999999, "b": 0.0}, None]}
    found = evalkit.score(name, ["a", None], ["a", "a"], fields=fields)[name]
    assert (found.value, found.n) == (pytest.approx(value, abs=1e-9), 2)


def test_calibration_errors_have_no_interval_and_say_so() -> None:
    rows = [(0.8, n % 3 > 0) for n in range(30)]
    for name in METRICS[:3]:
        found = score(name, rows)[name]
        assert (found.ci, found.higher_is_better) == (None, False)
    area = score(
        "coverage-accuracy-area", [(n / 30, r) for n, (_, r) in enumerate(rows)]
    )
    assert area.headline.ci_method == "bootstrap"


@pytest.mark.parametrize("name", METRICS)
def test_where_no_response_has_probabilities_that_is_the_reason(name: str) -> None:
    found = evalkit.score(name, ["a"], ["a"], fields={"prob": [None]})[name]
    assert found.value is None
    assert NO_PROBABILITIES in str(found.reason)


@pytest.mark.parametrize(
    "name",
    [
        "selective-accuracy",
        "selective-accuracy:coverage=0.33",
        "coverage-accuracy-area",
    ],
)
def test_large_groups_have_the_interval_of_resampled_ones(name: str) -> None:
    random = np.random.default_rng(3)
    n, replicates = 21_000, 100
    sure = np.round(random.beta(2, 2, n) / 2 + 0.5, 2)
    is_right = random.random(n) < sure
    found = evalkit.score(
        name,
        ["a"] * n,
        ["a" if right else "b" for right in is_right],
        fields={"prob": [{"a": p, "b": 1 - p} for p in sure.tolist()]},
    )[name]
    known, place = np.unique(-sure, return_inverse=True)
    values = []
    for _ in range(replicates):
        drawn = random.integers(0, n, n)
        counts = np.bincount(place[drawn], minlength=len(known))
        right = np.bincount(place[drawn], is_right[drawn], minlength=len(known))
        accuracy = np.repeat(right / np.maximum(counts, 1), counts)
        if name == "coverage-accuracy-area":
            values.append((np.cumsum(accuracy) / np.arange(1, n + 1)).mean())
        else:
            share = 0.33 if "=" in name else 0.5
            values.append(accuracy[: math.ceil(share * n)].mean())
    assert found.ci_method == "delta"
    # a standard deviation of 100 values is known to 7 %
    assert found.se == pytest.approx(np.std(values), rel=0.3)


@pytest.mark.parametrize("name", ["ece", "ece:binning=mass", "mce", "mce:binning=mass"])
def test_no_confidence_at_all_is_null_with_the_reason(name: str) -> None:
    fields = {"prob": [{"unknown": 1.0}]}
    found = evalkit.score(name, ["a"], ["a"], fields=fields)
    assert found.scores[0].value is None
    assert "gives its label no probability" in (found.scores[0].reason or "")
