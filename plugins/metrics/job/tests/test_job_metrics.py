"""Metrics of the job, of lists and of files of predictions."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import evalkit
from evalkit_analysis_compare import compare
from evalkit_analysis_robustness import evaluate_perturbed

COUNTS = st.integers(1, 2**53)
AMOUNTS = st.floats(1e-6, 1e12)
NAMES = (
    *("examples-per-second", "peak-memory", "tokens-per-example"),
    *("tokens-per-example#input", "tokens-per-example#output", "cost-per-example"),
)
FULL = {
    **{"examples": 4, "seconds": 8.0, "peak_memory_gib": 1.5, "input_tokens": 40},
    **{"output_tokens": 6, "cost": 0.5, "currency": "USD"},
}
EXPECTED = (0.5, 1.5, 11.5, 10.0, 1.5, 0.125)
METRICS = ("accuracy", *dict.fromkeys(name.partition("#")[0] for name in NAMES))


class Statement(BaseModel):
    uid: str
    part: str = ""


class Verdict(BaseModel):
    id: str
    label: str


class Task(evalkit.TaskIO):
    Input = Statement
    Output = Verdict
    answer_field = "label"
    labels = ("a", "b")
    perf_metric = "accuracy"
    example = {"uid": "1"}


DATA = [
    {"uid": str(n), "label": "ab"[n % 2], "part": "xy"[n // 2], "tags": ["xy"[n // 2]]}
    for n in range(4)
]


def score(name: str, job: Mapping[str, Any] | None, **options: Any) -> evalkit.Score:
    predictions, targets = ["a", "b"], ["a", "a"]
    metric = name.partition("#")[0]
    return evalkit.score(metric, predictions, targets, job=job, **options)[name]


def predict(
    folder: Path,
    job: Any = None,
    name: str = "m",
    labels: str = "aabb",
    ids: Sequence[int] = range(4),
) -> Path:
    """Write predictions, and the file of their job beside them."""
    rows = [{"id": str(n), "label": labels[n]} for n in ids]
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if job is not None:
        (folder / f"{name}.job.json").write_text(json.dumps(job))
    return path


def evaluate(predictions: Any, **options: Any) -> evalkit.Result:
    given = {"metrics": METRICS, "data": DATA, "task": Task, **options}
    call = evaluate_perturbed if "perturbed" in options else evalkit.evaluate
    return call(predictions=predictions, **given)


@pytest.mark.parametrize(("name", "expected"), [*zip(NAMES, EXPECTED, strict=True)])
def test_each_score_is_its_formula(name: str, expected: float) -> None:
    found = score(name, FULL, tags=[["t"], ["u"]])
    assert found.value == expected
    assert (found.ci_low, found.ci_method) == (None, "none")
    assert found.higher_is_better is (name == "examples-per-second")


@given(COUNTS, AMOUNTS, COUNTS, COUNTS, AMOUNTS)
@pytest.mark.slow
def test_ratios_are_those_of_python(
    examples: int, seconds: float, read: int, written: int, cost: float
) -> None:
    job = {
        **{"examples": examples, "seconds": seconds, "input_tokens": read},
        **{"output_tokens": written, "cost": cost, "currency": "USD"},
    }
    assert score("examples-per-second", job).value == examples / seconds
    total = score("tokens-per-example", job).value
    assert total == pytest.approx((read + written) / examples, rel=1e-12)
    assert score("cost-per-example", job).value == cost / examples


NEEDED = {
    "examples-per-second": ("examples", "seconds"),
    "peak-memory": ("peak_memory_gib",),
    "tokens-per-example": ("input_tokens", "output_tokens", "examples"),
    "tokens-per-example#input": ("input_tokens", "examples"),
    "tokens-per-example#output": ("output_tokens", "examples"),
    "cost-per-example": ("cost", "examples"),
}


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name, keys in NEEDED.items() for key in keys]
)
@pytest.mark.parametrize("is_null", [False, True])
def test_a_key_that_is_not_there_is_the_reason(
    name: str, key: str, is_null: bool
) -> None:
    job = {**FULL, key: None}
    if not is_null:
        job.pop(key)
    found = score(name, job)
    assert (found.value, found.reason) == (None, f"job has no `{key}`")


def test_division_by_zero_is_null() -> None:
    assert score("examples-per-second", {**FULL, "examples": 0}).value == 0.0
    found = score("examples-per-second", {**FULL, "examples": 0, "seconds": 0})
    assert found.reason == "division by 0, as `seconds` is 0"
    for name in ("tokens-per-example", "cost-per-example"):
        found = score(name, {**FULL, "examples": 0})
        assert (found.value, found.reason) == (
            None,
            "division by 0, as `examples` is 0",
        )


def test_a_ratio_that_is_no_number_is_null() -> None:
    found = score("examples-per-second", {"examples": 2**53, "seconds": 1e-300})
    assert found.value is None


def test_a_cost_is_in_the_currency_of_the_metric_or_null() -> None:
    job = {**FULL, "currency": "EUR"}
    found = score("cost-per-example", job)
    assert found.value is None
    assert found.reason == "the cost is in EUR, not USD: cost-per-example:currency=EUR"
    found = score("cost-per-example:currency=EUR", job)
    assert (found.value, found.unit, found.scale) == (0.125, "EUR/1000", 1000.0)
    with pytest.raises(evalkit.EvalkitError):
        score("cost-per-example:currency=euro", job)


def test_without_a_job_the_reason_says_so() -> None:
    found = score("peak-memory", None)
    assert (found.value, found.reason is not None) == (None, True)
    assert "not of one file" in str(found.reason)


def test_a_file_beside_the_predictions_is_read(tmp_path: Path) -> None:
    result = evaluate(predict(tmp_path, FULL))
    assert tuple(result[name].value for name in NAMES) == EXPECTED
    assert result.status == "complete"
    assert {s.tag for s in result.scores if s.metric == "accuracy"} >= {None, "x", "y"}
    for name in NAMES:
        rows = [s for s in result.scores if s.metric == name]
        assert [(s.tag, s.aggregate, s.n) for s in rows] == [(None, None, 4)]


def test_without_a_file_the_reason_names_it(tmp_path: Path) -> None:
    result = evaluate(predict(tmp_path))
    for name in ("peak-memory", "examples-per-second", "cost-per-example"):
        found = result[name]
        assert found.reason == "there is no m.job.json beside the predictions"
    assert result.status == "complete"


def test_a_run_is_scored_again_verified_and_compared(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    first = evaluate(predict(tmp_path, FULL), metrics=["accuracy"], out=runs)
    (tmp_path / "m.job.json").unlink()
    again = evalkit.rescore(first, NAMES[:3], out=runs)
    assert tuple(again[name].value for name in NAMES[:5]) == EXPECTED[:5]
    assert evalkit.verify(again).agrees
    path = predict(tmp_path, {**FULL, "seconds": 4.0}, "n", "abab")
    other = evaluate(path, metrics=["accuracy", "examples-per-second"], out=runs)
    found = compare(other, again, min_n=1)
    rows = [row for row in found.rows if row.metric == "examples-per-second"]
    assert [(row.tag, row.difference) for row in rows] == [(None, 0.5)]
    assert rows[0].p_value is None
    assert "whole set" in str(rows[0].reason)


def test_parts_of_one_file_have_one_job(tmp_path: Path) -> None:
    path = predict(tmp_path, FULL)
    parts = [evaluate(path, filters={"part": part}) for part in "xy"]
    assert parts[0]["peak-memory"].value == 1.5
    merged = evalkit.merge(parts)
    assert [merged[name].value for name in NAMES] == [*EXPECTED]
    assert not [text for text in merged.notices if "job" in text]


def test_the_job_is_part_of_the_id_of_a_run(tmp_path: Path) -> None:
    bare = evaluate(predict(tmp_path), metrics=["accuracy"])
    first = evaluate(predict(tmp_path, FULL), metrics=["accuracy"])
    second = evaluate(predict(tmp_path, {**FULL, "seconds": 9.0}), metrics=["accuracy"])
    assert len({each.run_id for each in (bare, first, second)}) == 3
    assert "job" not in bare.to_dict()["predictions"]
    recorded = first.to_dict()["predictions"]["job"]
    assert {key: recorded[key] for key in FULL} == FULL


def test_another_number_of_examples_is_said(tmp_path: Path) -> None:
    result = evaluate(predict(tmp_path, {**FULL, "examples": 5}))
    [said] = [text for text in result.notices if "m.job.json" in text]
    assert "5 responses" in said
    assert "4 predictions" in said
    limited = evaluate(predict(tmp_path, FULL), limit=2)
    assert not [text for text in limited.notices if "m.job.json" in text]
    assert limited["examples-per-second"].value == 0.5
