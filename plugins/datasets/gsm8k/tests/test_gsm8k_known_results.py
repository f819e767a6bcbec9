"""GSM8K: the publisher's own problems, and its four models' solutions."""

import functools
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

import evalkit

pytestmark = pytest.mark.known_result

FOLDER = Path(__file__).parents[1]
ROOT = FOLDER.parents[2]
MODELS = {
    "6b_finetuning": {"right": 286, "equal": 284, "unparsed": 4},
    "6b_verification": {"right": 515, "equal": 513, "unparsed": 1},
    "175b_finetuning": {"right": 458, "equal": 457, "unparsed": 5},
    "175b_verification": {"right": 742, "equal": 737, "unparsed": 1},
}
ROWS_BY_STEPS = [18, 65, 357, 364, 290, 138, 57, 21, 9]
RIGHT_BY_STEPS = [7, 31, 266, 234, 142, 42, 14, 4, 2]

every_model = pytest.mark.parametrize("model", MODELS)


@pytest.fixture
def folder(external_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point to the publisher's files."""
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    return external_data / "gsm8k"


@functools.cache
def read(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text("utf-8").removesuffix("\n").split("\n")
    return [json.loads(line) for line in lines]


def solutions(folder: Path, model: str) -> list[dict[str, Any]]:
    return [row[model] for row in read(folder / "example_model_solutions.jsonl")]


@functools.cache
def evaluated(folder: Path, model: str) -> evalkit.Result:
    responses = [
        {"id": str(number), "answer": solution["solution"]}
        for number, solution in enumerate(solutions(folder, model), start=1)
    ]
    return evalkit.evaluate("gsm8k", responses[::-1], model=model)


@every_model
def test_right_ones_are_counted_over_all_1319(folder: Path, model: str) -> None:
    result = evaluated(folder, model)
    score = result["exact-match"]
    assert score.n == 1319
    assert score.value == pytest.approx(MODELS[model]["right"] / 1319, abs=1e-15)
    interval = stats.binomtest(MODELS[model]["right"], 1319).proportion_ci(
        method="wilson"
    )
    assert score.ci == pytest.approx((interval.low, interval.high), abs=1e-12)
    assert +Counter(result.counts) == {
        "examples": 1319,
        "predictions": 1319,
        "scored": 1319,
        "unparsed": MODELS[model]["unparsed"],
    }
    assert result.status == "complete"


@every_model
def test_every_row_agrees_with_the_publishers_verdict(folder: Path, model: str) -> None:
    examples = evaluated(folder, model).examples
    assert examples is not None
    right = (examples["pred"] == examples["answer"]).fill_null(False).to_list()
    assert right == [row["is_correct"] for row in solutions(folder, model)]
    assert sum(right) == MODELS[model]["right"]


@every_model
def test_plain_string_equality_would_give_less(folder: Path, model: str) -> None:
    problems = read(folder / "test.jsonl")
    equal = sum(
        re.findall(r"A: ?(.*)$", row["solution"])
        == re.findall(r"#### ?(.*)$", problem["answer"])
        for problem, row in zip(problems, solutions(folder, model), strict=True)
    )
    assert equal == MODELS[model]["equal"]


@every_model
def test_unparsed_responses_are_those_without_a_marker(
    folder: Path, model: str
) -> None:
    examples = evaluated(folder, model).examples
    assert examples is not None
    unparsed = [row["id"] for row in examples.to_dicts() if row["pred"] is None]
    assert unparsed == [
        str(number)
        for number, row in enumerate(solutions(folder, model), start=1)
        if "A:" not in row["solution"]
    ]
    assert len(unparsed) == MODELS[model]["unparsed"]


def test_rows_and_right_ones_by_steps(folder: Path) -> None:
    scores = {s.tag: s for s in evaluated(folder, "175b_verification").scores}
    tags = [f"steps:{steps}" for steps in range(9)]
    assert set(scores) == {None, *tags}
    assert [scores[tag].n for tag in tags] == ROWS_BY_STEPS
    for tag, rows, right in zip(tags, ROWS_BY_STEPS, RIGHT_BY_STEPS, strict=True):
        assert scores[tag].value == pytest.approx(right / rows, abs=1e-12)


def test_steps_count_the_calculations_of_the_worked_answer(folder: Path) -> None:
    examples = evaluated(folder, "6b_finetuning").examples
    assert examples is not None
    problems = read(folder / "test.jsonl")
    assert examples["tags"].to_list() == [
        [f"steps:{len(re.findall('<<', problem['answer']))}"] for problem in problems
    ]
    assert Counter(tag for tags in examples["tags"] for tag in tags) == {
        f"steps:{steps}": rows for steps, rows in enumerate(ROWS_BY_STEPS)
    }


def test_file_is_the_published_one(folder: Path) -> None:
    (notice,) = evaluated(folder, "175b_verification").notices
    assert notice.startswith(
        "1 response counted as wrong, as no answer could be extracted"
    )


def test_solutions_are_in_the_order_of_the_problems(folder: Path) -> None:
    rows = evalkit.Registry().load("datasets", "gsm8k").plugin.load("test")
    solved = read(folder / "example_model_solutions.jsonl")
    assert [row["uid"] for row in rows] == [str(line) for line in range(1, 1320)]
    assert [row["question"] for row in rows] == [row["question"] for row in solved]


@pytest.mark.slow
def test_readme_shows_the_real_output(folder: Path, tmp_path: Path) -> None:
    page = (FOLDER / "README.md").read_text("utf-8")
    transcripts = re.findall(r"^```console\n\$ ([^\n]+)\n(.*?)^```", page, re.M | re.S)
    assert len(transcripts) == 2
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    name = "example_model_solutions.jsonl"
    (tmp_path / name).symlink_to(folder / name)
    scripts = str(Path(sys.executable).parent)
    for command, expected in transcripts:
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env={
                **os.environ,
                "PATH": os.pathsep.join([scripts, os.environ["PATH"]]),
                "EVALKIT_OFFLINE": "1",
            },
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        shown = "\n".join(line.rstrip() for line in done.stdout.splitlines())
        parts = (re.escape(part) for part in expected.rstrip().split("..."))
        assert re.fullmatch(".*".join(parts), shown.rstrip(), re.DOTALL), shown
