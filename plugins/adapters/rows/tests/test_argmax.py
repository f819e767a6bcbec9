"""The optional check that a label is the most probable one."""

from typing import Any

import pytest

from evalkit import evaluate
from evalkit_adapters_rows import Rows, pipeline

CHECK = [{"kind": "CheckArgmax"}]


@pytest.mark.parametrize(
    "row",
    [
        {"label": "a", "prob": {"a": 0.6, "b": 0.4}},
        {"label": "b", "prob": {"a": 0.5, "b": 0.5}},
        {"label": "a", "prob": None},
        {"label": "a"},
    ],
)
def test_a_label_that_is_most_probable_or_unchecked_stays(row: dict[str, Any]) -> None:
    assert list(pipeline(CHECK)([row])) == [row]


def test_another_label_is_refused_with_its_line_and_field() -> None:
    data = [{"uid": str(n), "statement": "x", "label": "positive"} for n in range(2)]
    prob = {"positive": 0.2, "neutral": 0.5, "negative": 0.3}
    rows = [{"id": "0", "label": "neutral", "prob": prob}]
    rows.append({"id": "1", "label": "positive", "prob": prob})
    checked: Any = {
        "rows": Rows(adapters={"predictions": CHECK}),
        "on_missing": "wrong",
    }
    found = evaluate(data, task="sentiment", predictions=rows, **checked)
    assert found.record.counts.unreadable == 1
    (problem,) = [each for each in found.problems if each.status == "unreadable"]
    (violation,) = problem.violations
    assert (problem.line, violation.field) == (2, "label")
    assert "must be the most probable label, 'neutral', is 'positive'" in violation.rule
