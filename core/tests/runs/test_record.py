"""What a run records is typed, and cannot be changed."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import evalkit
from evalkit.runs import recorded
from evalkit.runs.folders import read_record
from evalkit.runs.record import RunRecord

pytestmark = pytest.mark.usefixtures("mini")

ROWS = [{"id": uid, "label": "yes"} for uid in "123"]
RECORD: dict[str, Any] = {
    **{"format": 5, "fingerprint": "0" * 16, "status": "complete", "dataset": "mini"},
    "counts": {"examples": 3, "scored": 3},
    "components": [{"id": "metrics/f1", "parameters": {"label": "a"}, "version": "1"}],
}


def test_an_evaluation_records_every_field_in_their_order(tmp_path: Path) -> None:
    result = evalkit.evaluate("mini", ROWS, out=tmp_path)
    assert result.path is not None
    written = json.loads((result.path / "run.json").read_text("utf-8"))
    assert list(written) == [*RunRecord.model_fields]
    record = read_record(result.path)
    assert record == result.record
    assert record.headline_score == result.headline
    assert record.to_dict() == written
    assert result.to_dict() == {
        **written,
        "scores": [s._asdict() for s in result.scores],
    }


def test_a_record_cannot_be_changed_and_its_copy_is_another_one() -> None:
    record = RunRecord.model_validate(RECORD)
    with pytest.raises(ValidationError, match="frozen"):
        record.__setattr__("model", "other")
    other = record.changed(notices=("new",), parent="1" * 16)
    assert other.to_dict() == {**RECORD, "notices": ["new"], "parent": "1" * 16}
    assert record.notices == ()
    changed = record.to_dict()
    changed["counts"]["scored"] = 9
    assert record.counts.scored == 3


def test_a_component_is_known_by_kind_name_and_distribution() -> None:
    found = {"id": "metrics/f1", "distribution": "d", "version": "1", "parameters": {}}
    component = recorded.Component.model_validate(found)
    assert (component.kind, component.name) == ("metrics", "f1")
    assert component.reference == "f1@d"


def test_counts_are_equal_by_their_numbers() -> None:
    assert recorded.Counts(examples=3) == recorded.Counts(examples=3, missing=0)
    assert recorded.Counts(examples=3) != recorded.Counts(examples=3, missing=1)
