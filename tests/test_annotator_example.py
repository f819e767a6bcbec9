"""The annotator that `docs/authoring/annotators.md` builds does what the page says."""

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from evalkit_testing import check_annotator, check_metric

PAGE = (
    Path(__file__)
    .parents[1]
    .joinpath("docs/authoring/annotators.md")
    .read_text("utf-8")
)
Run = Callable[..., CompletedProcess[str]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)


def block(language: str) -> str:
    return blocks(language)[0]


@pytest.fixture
def annotator(
    fake_distribution: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    project = tomllib.loads(block("toml"))["project"]
    entry_points = {
        group: {name: value.partition(":")[2] for name, value in names.items()}
        for group, names in project["entry-points"].items()
    }
    fake_distribution(
        block("python"), entry_points, name=project["name"], version=project["version"]
    )


@pytest.mark.usefixtures("annotator")
@pytest.mark.slow
def test_a_program_judges(run_evalkit: Run) -> None:
    show, evaluate, verify = (
        line.split()[2:] for line in block("console").splitlines()
    )
    shown = run_evalkit(*show)
    assert "Has a program judge a response" in shown.stdout, shown.stderr
    ended = run_evalkit(*evaluate, "--json")
    assert ended.returncode == 0, ended.stderr
    record, _ = json.loads(ended.stdout)
    (told,) = record["columns"]
    assert (told["name"], told["rows"]) == ("program-judge", 5)
    assert told["details"]["asked"] == 5
    assert told["columns"] == ["program-judge.approved"]
    (score,) = [s for s in record["scores"] if s["tag"] is None and not s["aggregate"]]
    assert (score["n"], record["errors"]) == (5, [])
    again, _ = json.loads(run_evalkit(*evaluate, "--json").stdout)
    assert again["columns"][0]["details"]["asked"] == 5
    assert again["fingerprint"] == record["fingerprint"]
    verified = run_evalkit(*verify)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    listed = run_evalkit("list", "annotators", "--check")
    assert "\nok      annotators/program-judge" in listed.stdout, listed.stderr


@pytest.mark.usefixtures("annotator")
def test_the_tests_of_the_page_hold() -> None:
    _, evaluation, conformance = blocks("python")
    exec(evaluation, {})
    found: dict[str, Any] = {}
    exec(conformance, found)
    options = found["pytest_evalkit_options"]
    check_annotator("program-judge", **options("annotators", "program-judge"))
    check_metric("approval", max_examples=2, **options("metrics", "approval"))
