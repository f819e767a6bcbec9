"""What a run records is typed, and cannot be changed."""

import json
from pathlib import Path

import pytest

import evalkit
from evalkit.runs import recorded
from evalkit.runs.folders import read_record
from evalkit.runs.record import RunRecord

pytestmark = pytest.mark.usefixtures("mini")

ROWS = [{"id": uid, "label": "yes"} for uid in "123"]


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


def test_a_component_is_known_by_kind_name_and_distribution() -> None:
    found = {"id": "metrics/f1", "distribution": "d", "version": "1", "parameters": {}}
    component = recorded.Component.model_validate(found)
    assert (component.kind, component.name) == ("metrics", "f1")
    assert component.reference == "f1@d"
