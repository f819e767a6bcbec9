"""The samples ``sample-nli`` and ``sample-qa`` and the predictions beside them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "evalkit_datasets_samples"
SCRIPTS = ROOT / "scripts"
SYSTEMS = [
    ("sample-nli", "overlap"),
    ("sample-nli", "rules"),
    ("sample-qa", "overlap"),
    ("sample-qa", "typed"),
]


def read(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines and check its outer form."""
    content = path.read_bytes().decode("utf-8")
    assert content.endswith("\n")
    assert not content.startswith("\ufeff")
    return [json.loads(line) for line in content[:-1].split("\n")]


def data(name: str) -> list[dict[str, Any]]:
    """Read the rows of a data set."""
    return read(PACKAGE / "data" / f"{name}.jsonl")


def accepted(row: dict[str, Any]) -> list[str]:
    """List the acceptable answers of a question."""
    answer = row["answer"]
    return answer if isinstance(answer, list) else [answer]


def words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


def test_every_acceptable_answer_is_in_its_passage() -> None:
    rows = data("sample-qa")
    for row in rows:
        answers = accepted(row)
        assert len(set(answers)) == len(answers) > 0
        for answer in answers:
            assert answer.strip()
            assert answer in row["context"], (row["uid"], answer)
    assert sum(len(accepted(row)) >= 2 for row in rows) >= 15


@pytest.mark.parametrize(("name", "system"), SYSTEMS)
def test_predictions_are_what_the_script_writes(
    name: str, system: str, tmp_path: Path
) -> None:
    task = name.removeprefix("sample-")
    result = subprocess.run(
        [sys.executable, str(SCRIPTS / f"predict_{task}_{system}.py"), "--check"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert result.returncode == 0, result.stderr
