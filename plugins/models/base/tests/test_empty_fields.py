"""Fields of prompts that examples have no value for."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import evalkit_models_base
from evalkit.errors import DataError
from evalkit_cli.main import cli

PROMPT = {"query": "Translate: {source}"}


def predict(sources: list[Any], model: Any = "echo", **given: Any) -> Any:
    rows = [
        {"uid": str(n), "source": source, "text": "x"}
        for n, source in enumerate(sources)
    ]
    return evalkit_models_base.predict(
        data=rows, task="text-generation", model=model, **given
    )


@pytest.mark.parametrize("sources", [["", " "], [None, None], [""]])
def test_a_field_that_no_example_has_is_refused(sources: list[Any]) -> None:
    with pytest.raises(DataError, match=r"prompt: no example has a value for {source}"):
        predict(sources, prompt=PROMPT)


def test_a_field_that_most_examples_lack_is_told() -> None:
    said = "'source', which the prompt prompt names, is empty in 2 of 3 examples"
    assert said in predict(["", " ", "a"], prompt=PROMPT).notices
    assert predict(["", "b", "a"], prompt=PROMPT).notices == ()


def test_a_column_that_is_read_as_another_field_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"uid": "1", "source": "Hallo", "target": "hello"}
    Path("data.jsonl").write_text(json.dumps(row) + "\n")
    words = ["--data", "data.jsonl", "--task", "text-generation", "--model", "echo"]
    for command in ("predict", "eval"):
        call = [command, *words, "--map", "text=source", "--dry-run"]
        done = CliRunner().invoke(cli, call)
        assert done.exit_code == 1
        assert "--map text=source reads that column as 'text'" in done.stderr


def test_a_dry_run_tells_of_it_too(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    rows = [{"uid": str(n), "source": "a" * (n > 1), "text": "x"} for n in range(3)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--data", str(data), "--task", "text-generation", "--model", "echo"]
    done = CliRunner().invoke(cli, ["predict", *words, "--dry-run"])
    assert "notice: 'source', which the prompt default names, is empty" in done.stderr
