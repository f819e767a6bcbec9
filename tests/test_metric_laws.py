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

NEED_A_MODEL = ("bertscore", "comet", "sp-bleu")
"""Those of which a user names the model, which their own tests make."""

METRICS = sorted(
    component.name
    for component in find_components().components
    if component.kind == "metrics" and component.name not in NEED_A_MODEL
)

alternatives = st.lists(st.sampled_from(LABELS), max_size=4)
ranked = st.tuples(alternatives, st.sampled_from(LABELS)).map(
    lambda drawn: (next(iter(drawn[0]), None), drawn[1], {"responses": drawn[0]})
)


def _probable(weights: list[int], prediction: str, target: str) -> Any:
    shares = [weight / sum(weights) for weight in weights]
    return prediction, target, {"prob": dict(zip(LABELS, shares, strict=True))}


label = st.sampled_from(LABELS)
probable = st.builds(
    _probable,
    st.lists(st.integers(1, 9), min_size=len(LABELS), max_size=len(LABELS)),
    label,
    label,
)

# of four words and more: a shorter text has no score of its longest n-grams
written = st.lists(
    st.sampled_from(("the", "Cat", "sat", "on", "mat.", "3.5")), min_size=4, max_size=8
).map(" ".join)
TEXTS: Mapping[str, Any] = {"examples": st.tuples(written, written)}

# with declared labels a class that does not occur counts 0, whatever is predicted
ABSENT_COUNTS: Mapping[str, Any] = {"labels": LABELS, "perfect": None}
OF_CLASS: Mapping[str, Any] = {"labels": LABELS}
RANKED: Mapping[str, Any] = {"examples": ranked}
# the prediction is not looked at, so that a right one is not the best score
PROBABLE: Mapping[str, Any] = {"examples": probable, "perfect": None}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "bleu": TEXTS,
    "brier": PROBABLE,
    "chrf": TEXTS,
    "chrf-plus-plus": TEXTS,
    "log-loss": PROBABLE,
    "pass-at-k": RANKED,
    "pass-hat-k": RANKED,
    "rouge": TEXTS,
    "ter": TEXTS,
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
    "pass-at-k:k=2": RANKED,
    "top-k-accuracy:k=2": RANKED,
    "bleu:lowercase=true,smoothing=add-k": TEXTS,
    "rouge:measure=recall,stemmer=true": TEXTS,
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
