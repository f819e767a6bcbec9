"""Plugins in files that no package holds, named on the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

Run = Callable[..., CompletedProcess[str]]

FILE = '''
import evalkit
from pydantic import BaseModel


class Text(BaseModel):
    uid: str
    text: str


class Said(BaseModel):
    id: str
    mood: str


class Mood(evalkit.TaskIO):
    """The mood of a text."""

    Input, Output, labels = Text, Said, ("glad", "sad")
    answer_field, perf_metric = "mood", "accuracy"
    perturb_fields = ("text",)
    example = {"uid": "1", "text": "Hooray"}


class Texts(evalkit.Dataset):
    """Two texts."""

    task = Mood
    splits = ("test",)

    def load(self, split):
        rows = [("1", "Hooray", "glad"), ("2", "Alas", "sad")]
        return [{"uid": uid, "text": text, "mood": mood} for uid, text, mood in rows]


@evalkit.metric(bounds=(0, 1), higher_is_better=True)
def get_glad(predictions, targets):
    return sum(said == "glad" for said in predictions) / len(predictions)


def get_sad(predictions, targets):
    return 1 - get_glad(predictions, targets)


class Louder(evalkit.Perturbation):
    """Shouts."""

    families, version, label_effect = ("robustness",), "1", {"*": "invariant"}

    def perturb(self, text):
        return text.upper()
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(FILE, encoding="utf-8")
    said = [{"id": "1", "mood": "glad"}, {"id": "2", "mood": "glad"}]
    lines = "".join(json.dumps(each) + "\n" for each in said)
    (tmp_path / "said.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def record(done: CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def test_all_of_an_evaluation_may_be_in_a_file(folder: Path, run_evalkit: Run) -> None:
    words = ("eval", "own.py:Texts", "-p", "said.jsonl", "-m", "own.py:get_glad")
    found = record(run_evalkit(*words, "--json"))
    (score,) = (each for each in found["scores"] if each["tag"] is None)
    assert (score["metric"], score["value"]) == ("glad", 1.0)
    used = {each["id"]: each for each in found["components"]}
    for name in ("datasets/texts", "tasks/mood", "metrics/glad"):
        assert used[name]["source_sha256"]
    assert used["metrics/glad"]["distribution"] == "given as a file of Python"


def test_the_bytes_of_the_file_are_in_the_id_and_its_folder_is_not(
    folder: Path, run_evalkit: Run
) -> None:
    def run_id(file: str) -> str:
        words = ("eval", f"{file}:Texts", "-p", "said.jsonl", "-m", f"{file}:get_glad")
        found: str = record(run_evalkit(*words, "--json"))["run_id"]
        return found

    first = run_id("own.py")
    (folder / "below").mkdir()
    shutil.copy("own.py", "below/own.py")
    assert run_id("below/own.py") == first
    Path("below/own.py").write_text(FILE + "\n# changed\n", encoding="utf-8")
    assert run_id("below/own.py") != first


def test_a_file_perturbs(folder: Path, run_evalkit: Run) -> None:
    words = ("perturb", "own.py:Texts", "--perturbation", "own.py:Louder")
    done = run_evalkit(*words, "-o", "copies.jsonl")
    assert done.returncode == 0, done.stderr
    lines = Path("copies.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["HOORAY", "ALAS"]


def test_a_stored_run_is_scored_anew_and_says_that_the_file_is_needed(
    folder: Path, run_evalkit: Run
) -> None:
    words = ("eval", "own.py:Texts", "-p", "said.jsonl", "-m", "own.py:get_glad")
    record(run_evalkit(*words, "--json"))
    done = run_evalkit("rescore", "latest", "-m", "own.py:get_sad", "--json")
    assert "sad" in {each["metric"] for each in record(done)["scores"]}
    verified = run_evalkit("verify", "latest")
    assert "given as a file of Python when the run was made" in verified.stdout
