"""What `my-thing` writes."""

from __future__ import annotations

import json
from pathlib import Path

import evalkit
import pytest
from evalkit_testing import check_observer


def test_a_result_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    observed = tmp_path / "observed.jsonl"
    monkeypatch.setenv("OBSERVED", str(observed))
    evalkit.evaluate(
        data=[{"uid": "1", "statement": "What a film!", "label": "positive"}],
        predictions=[{"id": "1", "label": "positive"}],
        task="sentiment",
        model="mine",
        metrics=["accuracy"],
        observers=["my-thing"],
    )
    (line,) = observed.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["scores"] == {"accuracy": 1.0}


def test_the_laws_of_observers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVED", str(tmp_path / "observed.jsonl"))
    check_observer("my-thing")
