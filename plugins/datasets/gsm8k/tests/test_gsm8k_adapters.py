"""GSM8K's file of four models' solutions is scored as the publisher gives it."""

from pathlib import Path

import pytest

import evalkit
from evalkit_adapters_rows import Rows

pytestmark = pytest.mark.known_result

ADAPTERS = """
- {kind: NumberRows, configuration: {field: id}}
- kind: TransformJSON
  configuration: {id: $.id, answer: "$['%s'].solution"}
"""
RIGHT = {
    "6b_finetuning": 286,
    "6b_verification": 515,
    "175b_finetuning": 458,
    "175b_verification": 742,
}


@pytest.mark.parametrize("model", RIGHT)
def test_an_adapter_scores_each_model(
    external_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    solutions = external_data / "gsm8k" / "example_model_solutions.jsonl"
    adapters = tmp_path / "fix.yaml"
    adapters.write_text(ADAPTERS % model, encoding="utf-8")
    result = evalkit.evaluate(
        "gsm8k", solutions, model=model, rows=Rows(adapters={"predictions": adapters})
    )
    score = result["exact-match"]
    assert score.n == 1319
    assert score.value == pytest.approx(RIGHT[model] / 1319, abs=1e-15)
    assert result.counts["scored"] == 1319
