"""Checks the laws of `evalkit.testing` for every metric that is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import strategies as st

from evalkit import find_components
from evalkit.testing import check_metric

LABELS = ("no", "yes", "per'haps")
QUICK = 2
THOROUGH = 50

METRICS = sorted(
    component.name
    for component in find_components().components
    if component.kind == "metrics"
)

alternatives = st.lists(st.sampled_from(LABELS), max_size=4)
ranked = st.tuples(alternatives, st.sampled_from(LABELS)).map(
    lambda drawn: (next(iter(drawn[0]), None), drawn[1], {"responses": drawn[0]})
)


def _probable(weights: list[int], prediction: str, target: str) -> Any:
    shares = [weight / sum(weights) for weight in weights]
    return prediction, target, {"prob": dict(zip(LABELS, shares, strict=True))}


label = st.sampled_from(LABELS)
labelled = st.tuples(alternatives, alternatives)
probable = st.builds(
    _probable,
    st.lists(st.integers(1, 9), min_size=len(LABELS), max_size=len(LABELS)),
    label,
    label,
)

chosen = st.tuples(label, label, st.integers(2, 4)).map(
    lambda drawn: (*drawn[:2], {"choices": [*LABELS, "maybe"][: drawn[2]]})
)

# with declared labels a class that does not occur counts 0, whatever is predicted
ABSENT_COUNTS: Mapping[str, Any] = {"labels": LABELS, "perfect": None}
OF_CLASS: Mapping[str, Any] = {"labels": LABELS}
RANKED: Mapping[str, Any] = {"examples": ranked}
# the prediction is not looked at, so that a right one is not the best score
PROBABLE: Mapping[str, Any] = {"examples": probable, "perfect": None}
# a right prediction is a list here, which the law of it does not make
LABELLED: Mapping[str, Any] = {"examples": labelled, "perfect": None}
CHOSEN: Mapping[str, Any] = {"examples": chosen}
# an empty text, or one of few words, is wrong even where it is the answer
IMPERFECT: Mapping[str, Any] = {"perfect": None}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "above-chance": OF_CLASS,
    "brier": PROBABLE,
    "dataperf-f1": LABELLED,
    "helm-bleu-1": IMPERFECT,
    "helm-bleu-4": IMPERFECT,
    "helm-cleva-math-result-match": IMPERFECT,
    "helm-exact-match": IMPERFECT,
    "helm-exact-match-indicator": IMPERFECT,
    "helm-f1": IMPERFECT,
    "helm-quasi-leave-articles-exact-match": IMPERFECT,
    "helm-set-match": IMPERFECT,
    "log-loss": PROBABLE,
    "pass-at-k": RANKED,
    "pass-hat-k": RANKED,
    "top-k-accuracy": RANKED,
    "vote-accuracy": RANKED,
}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "macro-f1:labels=seen": {},
    "macro-f1:labels=declared": ABSENT_COUNTS,
    "macro-f1:labels=no/yes": ABSENT_COUNTS,
    "macro-recall:labels=seen": {},
    "macro-recall:labels=declared": ABSENT_COUNTS,
    "micro-f1:labels=gold": {},
    "micro-f1:labels=no/yes": OF_CLASS,
    "weighted-f1:labels=no/yes": OF_CLASS,
    "f1:label=yes": OF_CLASS,
    "precision:label=yes": OF_CLASS,
    "recall:label=yes": OF_CLASS,
    "above-chance:chance=0.6,metric=squad-f1": {},
    "above-chance:chance=0.25,metric=accuracy": {},
    "above-chance:chance=choices,metric=accuracy": CHOSEN,
    "above-chance:chance=0.5,metric=helm-set-match#iou": IMPERFECT,
    "helm-bleu-1:tokenize=characters": IMPERFECT,
    "helm-exact-match-indicator:indicator=a": IMPERFECT,
    "seahelm-macro-f1": OF_CLASS,
    "seahelm-null-weighted-f1": OF_CLASS,
    "pass-at-k:k=2": RANKED,
    "top-k-accuracy:k=2": RANKED,
}
CASES: Mapping[str, Mapping[str, Any]] = {
    **{name: OPTIONS.get(name, {}) for name in METRICS},
    **VARIANTS,
}

every_metric = pytest.mark.parametrize(
    ("name", "options"), CASES.items(), ids=CASES.keys()
)


def test_metrics_are_found_and_every_variant_is_of_one() -> None:
    assert len(METRICS) >= 13
    named = {name.partition(":")[0] for name in (*OPTIONS, *VARIANTS)}
    assert named <= set(METRICS)


@every_metric
def test_a_metric_keeps_the_laws(name: str, options: Mapping[str, Any]) -> None:
    check_metric(name, max_examples=QUICK, **options)


@every_metric
@pytest.mark.slow
def test_a_metric_keeps_the_laws_with_many_data(
    name: str, options: Mapping[str, Any]
) -> None:
    check_metric(name, max_examples=THOROUGH, **options)


# a variant that has its own labels is checked with them above
@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param(name, options, id=name)
        for name, options in CASES.items()
        if "labels" not in options
    ],
)
@pytest.mark.slow
def test_a_metric_keeps_the_laws_with_declared_labels(
    name: str, options: Mapping[str, Any]
) -> None:
    check_metric(name, max_examples=THOROUGH // 2, labels=LABELS, **options)
