"""Checks the laws of `evalkit_testing` for every metric that is installed."""

from collections.abc import Mapping
from typing import Any

import pytest
from metric_options import LABELS, OPTIONS, VARIANTS

from evalkit import find_components
from evalkit_testing import check_metric

SETS = 2

OF_VALUES = ("values", "nothing", "single", "split", "missing", "null", "perfect")
"""The laws that labels may break: they change values, not how these are computed."""

NEED_A_MODEL = ("bertscore", "comet", "sp-bleu")
"""Those of which a user names the model, which their own tests make."""

OF_COLUMNS = (
    *("column-mean", "column-rate", "weighted"),
    *("judge-agreement", "judge-mean", "judge-order", "judge-rate"),
)
"""Those that need the name of a column or judge."""

METRICS = sorted(
    component.name
    for component in find_components().components
    if component.kind == "metrics" and component.name not in NEED_A_MODEL + OF_COLUMNS
)

CASES: Mapping[str, Mapping[str, Any]] = {
    **{name: OPTIONS.get(name, {}) for name in METRICS},
    **VARIANTS,
}


def test_metrics_are_found_and_every_variant_is_of_one() -> None:
    assert len(METRICS) >= 13
    named = {name.partition(":")[0] for name in (*OPTIONS, *VARIANTS)}
    assert named <= {*METRICS, *OF_COLUMNS}


@pytest.mark.parametrize(("name", "options"), CASES.items(), ids=CASES.keys())
@pytest.mark.slow
def test_a_metric_keeps_the_laws(name: str, options: Mapping[str, Any]) -> None:
    check_metric(name, max_examples=SETS, **options)


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
    check_metric(name, max_examples=SETS, labels=LABELS, laws=OF_VALUES, **options)
