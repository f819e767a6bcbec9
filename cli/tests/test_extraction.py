"""`--extract` of `eval` and `validate`, and `show --unparsed`."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evalkit_cli.main import cli

_TEXTS = ["Answer: positive", "It is **negative**.", "I cannot tell.", ""]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    labels = ["positive", "negative", "neutral", "neutral"]
    rows = [
        {"uid": str(n), "statement": "x", "label": label, "tags": [f"n:{n % 2}"]}
        for n, label in enumerate(labels)
    ]
    said = [{"id": str(n), "label": text} for n, text in enumerate(_TEXTS)]
    for name, each in (("data.jsonl", rows), ("said.jsonl", said)):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in each))


def _run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, arguments)


_DATA = ("--data", "data.jsonl", "--task", "sentiment", "-p", "said.jsonl")


@pytest.mark.usefixtures("files")
def test_answers_are_taken_out_and_the_others_listed() -> None:
    found = _run("eval", *_DATA, "--extract", "labels")
    assert found.exit_code == 0, found.output
    counts = "4 responses, 4 different, 1 empty, 1 unparsed"
    assert f"answers taken out by labels: {counts}" in " ".join(found.output.split())
    listed = json.loads(_run("show", "latest", "--unparsed", "--json").output)
    assert (listed["n"], listed["unparsed"]) == (4, 2)
    assert listed["examples"][0] == {
        "id": "2",
        "replication": None,
        "status": "unparsed",
        "response": "I cannot tell.",
        "reason": "labels: no option is named",
    }
    table = _run("show", "latest", "--unparsed", "--tag", "n:1").output
    assert table.startswith("1 of 2 responses with the tag n:1 has no answer")
    lines = _run("show", "latest", "--unparsed", "--format", "csv").stdout.splitlines()
    assert lines[0] == "id,replication,status,response,reason"
    assert len(lines) == 3


@pytest.mark.usefixtures("files")
def test_a_run_is_rescored_by_other_extractors() -> None:
    _run("eval", *_DATA, "--extract", "boxed|labels")
    data = ("eval", *_DATA[:-2], "-p", "latest")
    made = json.loads(_run(*data, "--extract", "labels", "--json").stdout)
    assert made["extraction"]["ok"] == 2
    accuracy = [each for each in made["scores"] if each["metric"] == "accuracy"]
    assert accuracy[0]["value"] == 0.5
    refused = _run("rescore", "latest")
    assert refused.exit_code == 2
    assert "name a metric (-m NAME)" in refused.output


@pytest.mark.usefixtures("files")
def test_the_variable_of_eval_does_not_change_what_rescore_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVALKIT_EXTRACT", "labels")
    before = json.loads(_run("eval", *_DATA, "--json").stdout)
    monkeypatch.setenv("EVALKIT_EXTRACT", "boxed")
    made = json.loads(_run("rescore", "latest", "-m", "macro-recall", "--json").stdout)
    assert made["extraction"] == before["extraction"]
    assert len(made["scores"]) > len(before["scores"])


@pytest.mark.usefixtures("files")
def test_a_refusal_names_the_extractor_that_would_do() -> None:
    refused = _run("eval", *_DATA)
    assert refused.exit_code == 1
    assert "--extract labels reads 2" in refused.output
    assert _run("validate", *_DATA, "--extract", "labels").exit_code == 0


@pytest.mark.usefixtures("files")
def test_wrong_use_names_the_stage() -> None:
    for extract, message in (
        ("strip|lables", "stage 2: there is no adapter 'lables'; did you mean labels?"),
        ("choice", "stage 1 (choice): the task sentiment has no choices"),
        ("regex:(?<=a)b", "stage 1 (regex): the pattern '(?<=a)b' cannot be used"),
    ):
        found = _run("eval", *_DATA, "--extract", extract)
        assert found.exit_code == 1
        assert message in f"{found.output}{found.exception or ''}"


@pytest.mark.usefixtures("files")
def test_a_user_is_warned_first_where_most_responses_were_not_read() -> None:
    found = _run("eval", *_DATA, "--extract", "after:Anwer:|labels", "-q")
    lines = found.stderr.splitlines()
    assert found.exit_code == 0
    assert "4 of 4 responses by after:Anwer:|labels" in lines[0]
    assert "after: the cue is not there; they count as wrong" in lines[0]
    assert lines[1].endswith("such as that to '0': 'Answer: positive'")
    assert " -p " in lines[2]
    data = ("eval", *_DATA[:-2], "-p", "latest")
    again = _run(*data, "--extract", "after:Anser:|labels", "-q")
    assert "4 of 4 responses by after:Anser:|labels" in again.stderr.splitlines()[0]
    asked = _run("eval", *_DATA, "--extract", "after:Anwer:|labels", "--no-examples")
    assert "4 of 4 responses" in asked.stderr
    assert "Answer: positive" not in asked.stderr


@pytest.mark.usefixtures("files")
def test_nobody_is_warned_where_half_were_read() -> None:
    assert _run("eval", *_DATA, "--extract", "labels", "-q").stderr == ""
