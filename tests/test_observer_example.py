"""The observer that `docs/authoring/observers.md` builds is told what the page says."""

import contextlib
import inspect
import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import evalkit
from evalkit.hookspecs import ObserverSpec
from evalkit_analysis_robustness import evaluate_perturbed
from evalkit_commands_perturb import perturb_dataset

PAGE = (
    Path(__file__).parents[1].joinpath("docs/authoring/observers.md").read_text("utf-8")
)
Run = Callable[..., CompletedProcess[str]]


def block(language: str, number: int = 0) -> str:
    found = re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)
    return str(found[number])


@pytest.fixture
def observer(fake_distribution: Callable[..., Any]) -> None:
    project = tomllib.loads(block("toml"))["project"]
    entry_points = {
        group: {name: value.partition(":")[2] for name, value in names.items()}
        for group, names in project["entry-points"].items()
    }
    fake_distribution(
        block("python"), entry_points, name=project["name"], version=project["version"]
    )


@pytest.mark.usefixtures("observer")
@pytest.mark.slow
def test_it_writes_a_line_for_all_that_happens(
    run_evalkit: Run, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"

    def told(command: str, code: int) -> list[dict[str, Any]]:
        log.write_text("", encoding="utf-8")
        ended = run_evalkit(*command.split()[2:], OBSERVED=str(log))
        assert ended.returncode == code, ended.stderr
        return [*map(json.loads, log.read_text("utf-8").splitlines())]

    evaluate, rescore, perturb = block("console").splitlines()
    lines = told(evaluate, 0)
    assert [line["event"] for line in lines] == ["scored", "written"] * 2
    assert lines[0]["dataset"] == "sample-sentiment"
    assert lines[0]["model"] == "vader"
    assert lines[0]["scores"]["accuracy"] == pytest.approx(89 / 135)
    assert (lines[1]["status"], lines[1]["errors"]) == ("complete", [])
    assert (tmp_path / lines[1]["path"] / "run.json").is_file()
    scored, written = told(rescore, 0)
    assert [*scored["scores"]] == ["macro-f1"]  # the parent's accuracy is not new
    assert written["path"] != lines[3]["path"]
    (perturbed,) = told(perturb, 0)
    assert perturbed["event"] == "perturbed"
    assert 0 < perturbed["changed"]["lowercase"] <= 135
    (failed,) = told(perturb, 1)  # the file is there already
    assert failed["kind"] == "StorageError"
    (tmp_path / "one.jsonl").write_text('{"id": "1"}\n', encoding="utf-8")
    refused, written = told(f"{evaluate} -p one.jsonl", 1)
    assert refused["event"] == "refused"
    assert any("without a prediction" in reason for reason in refused["reasons"])
    assert written["status"] == "refused"
    (tmp_path / "bad.parquet").write_bytes(b"no table")
    (failed,) = told(f"{evaluate} -p bad.parquet", 1)
    assert failed["kind"] == "DataError"


def test_an_object_observes_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    exec(block("python", 1), {})
    (said,) = re.findall(r"It prints `(.*)`\.", PAGE)
    assert capsys.readouterr().out == f"{said}\n"


def test_the_page_names_all_hooks_and_their_arguments() -> None:
    rows = re.findall(r"(?m)^\| `(\w+)` \| (.*?) \|", PAGE)
    hooks = {
        name: [*inspect.signature(hook).parameters][1:]
        for name, hook in vars(ObserverSpec).items()
        if not name.startswith("_")
    }
    assert {name: re.findall(r"`(\w+)`", cell) for name, cell in rows} == hooks


@pytest.mark.slow
def test_the_one_with_a_parameter_writes_the_main_score_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page: dict[str, Any] = {"__name__": "page"}
    [code] = re.findall(
        r"(?ms)^```python\n((?:(?!```).)*?class ScoreLines.*?)^```$", PAGE
    )
    exec(code, page)
    path = tmp_path / "sentiment.txt"
    tells = page["ScoreLines"](page["ScoreLines"].Parameters(path=path))
    copies = tmp_path / "copies.jsonl"
    perturb_dataset("sample-sentiment", copies, perturbations=["lowercase"])
    copy = json.loads(copies.read_text(encoding="utf-8").splitlines()[0])
    answered = [{"id": copy["uid"], "label": "neutral"}]
    for on_missing in ("wrong", "error"):
        with contextlib.suppress(evalkit.AlignmentError):
            evaluate_perturbed(
                "sample-sentiment",
                [{"id": "sent-001", "label": "positive"}],
                perturbed=copies,
                perturbed_predictions=answered,
                on_missing=on_missing,
                observers=[tells],
            )
    [line] = path.read_text(encoding="utf-8").splitlines()
    assert line.split("\t")[:2] == ["sentiment", "sample-sentiment"]
