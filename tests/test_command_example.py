"""The command that `docs/commands.md` builds works as the page says."""

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import evalkit_cli.commanding

PAGE = (Path(__file__).parents[1] / "docs" / "commands.md").read_text(encoding="utf-8")
Run = Callable[..., CompletedProcess[str]]


def block(language: str, number: int = 0) -> str:
    found = re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)
    return str(found[number])


@pytest.fixture
def ranking(fake_distribution: Callable[..., Any]) -> Any:
    project = tomllib.loads(block("toml"))["project"]
    entry_points = {
        group: {name: value.partition(":")[2] for name, value in names.items()}
        for group, names in project["entry-points"].items()
    }
    made = fake_distribution(
        block("python"), entry_points, name=project["name"], version=project["version"]
    )
    (metadata,) = made.folder.glob("*/METADATA")
    text = metadata.read_text(encoding="utf-8")
    summary = f"Summary: {project['description']}"
    metadata.write_text(re.sub("Summary: .*", summary, text), encoding="utf-8")
    return made


@pytest.mark.slow
def test_the_command_of_the_page_prints_what_the_page_shows(
    run_evalkit: Run, ranking: Any
) -> None:
    assert block("text").strip() in [
        line.strip() for line in run_evalkit("--help").stdout.splitlines()
    ]
    done = run_evalkit("ranking", "sample-sentiment")
    assert (done.returncode, done.stderr) == (
        1,
        "evalkit: error: no run in runs has a score on sample-sentiment\n",
    )
    assert run_evalkit("eval", "sample-sentiment", "-q").returncode == 0
    done = run_evalkit("ranking", "sample-sentiment")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == block("text", 1)
    ranked = json.loads(run_evalkit("ranking", "sample-sentiment", "--json").stdout)
    assert [row["model"] for row in ranked] == [
        line.split()[0] for line in block("text", 1).splitlines()[1:]
    ]


def test_the_page_names_all_that_a_command_may_use() -> None:
    table = PAGE.partition("## What it may use")[2].partition("\n## ")[0]
    cells = re.findall(r"(?m)^\| (`.+?) \|", table)
    names = re.compile(r"`(\w+)(?:\(\w+\))?`")
    named = {name for cell in cells for name in names.findall(cell)}
    assert named == set(evalkit_cli.commanding.__all__)
