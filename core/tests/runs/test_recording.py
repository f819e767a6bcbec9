"""What a run records."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import evalkit
from evalkit import AlignmentError, Component, Registry, Result
from evalkit.plugins.discovery import Catalog
from evalkit.runs.record import FORMAT_VERSION

pytestmark = pytest.mark.usefixtures("mini")

RIGHT = [
    {"id": "1", "label": "yes"},
    {"id": "2", "label": "no"},
    {"id": "3", "label": "yes"},
]


def refuse(rows: list[Any], **options: Any) -> AlignmentError:
    with pytest.raises(AlignmentError) as caught:
        evalkit.evaluate("mini", rows, **options)
    return caught.value


def test_the_record_of_a_complete_run(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in RIGHT), "utf-8")
    record = evalkit.evaluate("mini", path).to_dict()
    assert list(record) == [
        *("format", "fingerprint", "status", "model", "dataset", "task", "split"),
        *("headline", "headline_aggregate", "bounds", "cluster", "baselines"),
        *(
            "counts",
            "unparsed",
            "errors",
            "notices",
            "warnings",
            "not_scored",
            "answer_kind",
            "replications",
            "input_keys",
            "delta_metrics",
        ),
        *("labels", "confidence", "seed", "min_n"),
        *("by", "parent"),
        *("merged", "policies", "selection"),
        *("kept", "includes_examples", "data", "predictions", "extraction"),
        "components",
        *("columns", "against", "core"),
        *("environment", "perturbation", "original", "perturbed_runs"),
        *("timings", "scores"),
    ]
    assert (record["format"], record["status"], record["task"]) == (
        FORMAT_VERSION,
        "complete",
        "mini",
    )
    # two of three answers are yes; uniformly random answers hit half of them
    assert record["baselines"] == {
        "majority_label": "yes",
        "majority": pytest.approx(2 / 3),
        "chance": pytest.approx(0.5),
    }
    assert record["labels"] == ["yes", "no"]
    assert record["selection"] == {"limit": None, "filters": {}}
    assert record["predictions"] == {
        "name": "p.jsonl",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "adapters": [],
    }
    assert record["counts"] == {
        "examples": 3,
        "predictions": 3,
        "scored": 3,
        "invalid": 0,
        "missing": 0,
        "duplicate": 0,
        "unknown": 0,
        "unreadable": 0,
        "unparsed": 0,
    }


def test_notices_say_what_was_left_out() -> None:
    rows = [
        {**RIGHT[0], "note": "a", "extra": 1},
        {**RIGHT[1], "note": "b"},
        {**RIGHT[2], "label": None},
        {"id": "77", "label": "yes"},
        {"label": "yes"},
    ]
    assert evalkit.evaluate("mini", rows).notices == (
        "1 row with the key 'extra', which the task mini does not declare; the key was "
        "left out",
        "2 rows with the key 'note', which the task mini does not declare; the key was "
        "left out",
        "1 row left out, as no example has its id",
        "1 row left out, as it cannot be read",
        "1 response counted as wrong, as no answer could be extracted",
    )


def test_a_refusal_gives_every_reason_and_the_first_rows_of_each_kind() -> None:
    rows = [
        *({"id": "1", "label": "yes"} for _ in range(5)),
        {"id": "2", "label": 3, "sure": "x"},
        {"id": "", "label": "yes"},
    ]
    error = refuse(rows)
    assert str(error).splitlines() == [
        "the predictions of model were refused: 1 example without a prediction "
        "(--on-missing wrong|skip); 1 invalid prediction (--on-invalid "
        "wrong|skip); 4 predictions with a repeated id (--on-duplicate first|last; "
        "_replication_ tells replications apart)",
        "  duplicate: line 2, id '1': id: must be given once; line 1 is used, found "
        "'1'",
        "  duplicate: line 3, id '1': id: must be given once; line 1 is used, found "
        "'1'",
        "  duplicate: line 4, id '1': id: must be given once; line 1 is used, found "
        "'1'",
        "  invalid: line 6, id '2': label: must be a valid string, found 3; sure: "
        "must be a valid number, unable to parse string as a number, found 'x'",
        "  unreadable: line 7: id: must be a text that is not empty or an integer, "
        "found ''",
        "  missing: id '3'",
        "  and 1 more duplicate",
    ]
    assert error.result is not None
    assert len(error.result.problems) == 7


def without_examples(**options: Any) -> Result:
    rows = [
        {"id": "1", "label": "yes", "sure": 0.125},
        {"id": "2", "label": ["secret"]},
        "secret",
    ]
    options = {"on_missing": "skip", "on_invalid": "skip", **options}
    return evalkit.evaluate("mini", rows, include_examples=False, **options)


def test_without_examples_there_are_no_answers_predictions_and_values() -> None:
    result = without_examples()
    assert result.examples is not None
    assert result.examples.columns == [
        *("id", "input_id", "perturbation", "replication"),
        *("tags", "cluster", "status", "hits"),
    ]
    assert [problem.status for problem in result.problems] == [
        "invalid",
        "unreadable",
        "missing",
    ]
    assert {v.value for p in result.problems for v in p.violations} == {None}
    assert "secret" not in json.dumps(result.to_dict())
    assert result.to_dict()["includes_examples"] is False


def test_with_examples_rejected_values_are_kept() -> None:
    rows: list[Any] = [RIGHT[0], {"id": "2", "label": ["kept"]}, RIGHT[2]]
    result = evalkit.evaluate("mini", rows, on_invalid="skip")
    [problem] = result.problems
    assert (problem.line, problem.id) == (2, "2")
    assert [(v.field, v.value) for v in problem.violations] == [("label", ["kept"])]


class Unlabelled(evalkit.Dataset):
    """Twelve examples whose labels nobody declares."""

    name = "unlabelled"
    task = "open"

    def load(self, split: str) -> list[dict[str, str]]:
        return [{"uid": str(k), "label": "ab"[k % 2]} for k in range(12)]


class Anything(BaseModel):
    id: str
    label: str


class Identified(BaseModel):
    uid: str


class Open(evalkit.TaskIO):
    Input = Identified
    Output = Anything
    answer_field = "label"
    perf_metric = "accuracy"
    example = {"uid": "1"}


OPEN = Registry(
    Catalog((Component("tasks", "open", f"{__name__}:Open", "d", "1"),), ())
)


def notices_of(labels: str, data: Any = Unlabelled) -> Sequence[str]:
    rows = [{"id": str(k), "label": label} for k, label in enumerate(labels)]
    return tuple(evalkit.validate(data, rows, registry=OPEN).notices)


def test_a_predicted_label_that_no_example_has_is_told() -> None:
    assert notices_of("ab" * 6) == ()
    assert notices_of("cb" * 5 + "db") == (
        "6 predictions of a label that no example has, such as 'c'; the labels are: "
        "'a', 'b'",
    )


def test_scores_without_any_valid_prediction_are_partial() -> None:
    rows = [{"id": uid, "label": 3} for uid in "123"]
    result = evalkit.evaluate("mini", rows, on_invalid="wrong")
    assert (result.status, result.errors) == ("partial", ("no example was scored",))
    assert result.is_failed


def test_a_refusal_names_the_field_that_no_row_has() -> None:
    reported = str(refuse([{"id": uid, "prediction": "yes"} for uid in "123"]))
    assert "refused: no row has 'label'; " in reported
    assert "notice: rows have 'prediction', which the task" in reported
    assert "--map-predictions label=prediction (map_predictions=" in reported
    assert "label: is required" not in reported
    some = [{"id": "1", "label": "yes"}, {"id": "2"}, {"id": "3"}]
    assert "label: is required" in str(refuse(some))
