"""`evalkit eval --predictions-dir`: one model on many data sets."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]

SETS = """
import evalkit


class Reviews(evalkit.Dataset):
    task = "sentiment"

    def load(self, split):
        return [
            {"uid": n, "statement": "x", "label": "positive", "tags": ["t"]}
            for n in range(4)
        ]


class Answers(evalkit.Dataset):
    task = "qa"

    def load(self, split):
        return [{"uid": "1", "context": "a b", "question": "c", "answer": "a"}]
"""


@pytest.fixture(autouse=True)
def _plugins(fake_distribution: Callable[..., Any]) -> None:
    names = {"reviews-a": "Reviews", "reviews-b": "Reviews", "answers": "Answers"}
    fake_distribution(SETS, {"evalkit.datasets": names}, name="sets")
    fake_distribution("1 / 0", {"evalkit.datasets": {"broken": "X"}}, name="brk")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "my-model"
    folder.mkdir()
    return folder


def labels(*given: str) -> str:
    rows = [{"id": n, "label": label} for n, label in enumerate(given)]
    return "".join(json.dumps(row) + "\n" for row in rows)


GOOD = labels(*["positive"] * 4)
HALF = labels("positive", "positive", "negative", "neutral")
ANSWER = '{"id": "1", "answer": "a"}\n'


def fill(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name.replace('_', '-')}.jsonl").write_text(text, encoding="utf-8")


def test_all_data_sets_with_a_file_are_evaluated(invoke: Invoke, folder: Path) -> None:
    fill(folder, reviews_a=GOOD, reviews_b=HALF, answers=ANSWER)
    done = invoke("eval", "--predictions-dir", str(folder), "-m", "accuracy", "--json")
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    records = json.loads(done.stdout)
    assert [(r["dataset"], r["model"], r["predictions"]["name"]) for r in records] == [
        ("answers", "my-model", "answers.jsonl"),
        ("reviews-a", "my-model", "reviews-a.jsonl"),
        ("reviews-b", "my-model", "reviews-b.jsonl"),
    ]
    assert [r["scores"][0]["value"] for r in records] == [1.0, 1.0, 0.5]
    for record in records:
        [run] = Path("runs", record["dataset"]).glob(
            f"*-{record['fingerprint'][:8]}/run.json"
        )
        written = json.loads(run.read_text("utf-8"))
        record.pop("scores")
        assert written == record


def test_a_written_data_set_is_found_by_its_name(
    invoke: Invoke, folder: Path, tmp_path: Path
) -> None:
    model = (
        "import pydantic\nclass A(pydantic.BaseModel):\n    id: int\n    label: str\n"
    )
    (tmp_path / "a.py").write_text(model)
    (tmp_path / "a.jsonl").write_text(HALF)
    (folder / "notes").mkdir()
    written = str(folder / "reviews-a")
    schema = ("--schema", f"{tmp_path / 'a.py'}:A")
    invoke("schema", "write", str(tmp_path / "a.jsonl"), "-o", written, *schema)
    done = invoke("eval", "--predictions-dir", str(folder), "-m", "accuracy", "--json")
    (record,) = json.loads(done.stdout)
    assert (record["dataset"], record["scores"][0]["value"]) == ("reviews-a", 0.5)


def test_a_task_leaves_the_other_data_sets_out(invoke: Invoke, folder: Path) -> None:
    fill(folder, reviews_a=GOOD, reviews_b=HALF, answers=ANSWER)
    arguments = ("eval", "--task", "sentiment", "--predictions-dir", str(folder))
    done = invoke(*arguments, "--json", "--model", "best")
    assert [r["dataset"] for r in json.loads(done.stdout)] == ["reviews-a", "reviews-b"]
    assert {r["model"] for r in json.loads(done.stdout)} == {"best"}
    assert done.stderr == (
        "left out, as named after no data set of the task sentiment: answers.jsonl\n"
    )
    assert invoke(*arguments, "--json", "-q").stderr == ""


def test_files_of_no_data_set_are_named(invoke: Invoke, folder: Path) -> None:
    fill(folder, reviews_a=GOOD, notes="x")
    (folder / "README.md").write_text("x")
    (folder / ".hidden").write_text("x")
    (folder / "reviews-b").mkdir()
    done = invoke("eval", "--predictions-dir", str(folder))
    assert done.exit_code == 0
    assert done.stderr == (
        "left out, as named after no data set that is installed: .hidden, README.md, "
        "notes.jsonl\n"
    )
    for number in range(6):
        (folder / f"z{number}.txt").write_text("x")
    many = invoke("eval", "--predictions-dir", str(folder)).stderr
    assert many.endswith(": .hidden, README.md, notes.jsonl, z0.txt, z1.txt, …\n")


def test_only_data_sets_with_a_file_are_imported(invoke: Invoke, folder: Path) -> None:
    fill(folder, reviews_a=GOOD)
    for task in ((), ("--task", "sentiment")):
        done = invoke("eval", "--predictions-dir", str(folder), *task)
        assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.parametrize("task", [(), ("--task", "sentiment")])
@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("broken", GOOD, "ZeroDivisionError"),
        ("reviews_b", GOOD + "{", "1 row left out, as it cannot be read"),
        ("reviews_b", GOOD[:40], "reviews-b.jsonl: "),
    ],
)
def test_one_broken_file_or_data_set_does_not_lose_the_others(
    invoke: Invoke, folder: Path, task: tuple[str, ...], name: str, text: str, said: str
) -> None:
    fill(folder, reviews_a=GOOD, **{name: text})
    done = invoke("eval", "--predictions-dir", str(folder), "-v", *task)
    assert "reviews-a" in done.stdout
    assert "100 %" in done.stdout
    if text == GOOD + "{":  # a line more than needed is a notice
        assert (done.exit_code, said in done.stdout) == (0, True)
    elif name == "broken":
        assert (done.exit_code, said in done.stderr) == (1, True)
        assert f"evalkit: error: {folder}/broken.jsonl: " in done.stderr
    else:
        assert done.exit_code == 1
        assert "the predictions of my-model were refused" in done.stderr


def test_any_format_will_do(invoke: Invoke, folder: Path) -> None:
    (folder / "reviews-a.jsonl.gz").write_bytes(gzip.compress(GOOD.encode()))
    (folder / "reviews-b.csv").write_text("id,label\n0,positive\n1,positive\n")
    (folder / "answers.txt").write_text("a\n")
    done = invoke(
        *("eval", "--predictions-dir", str(folder), "--on-missing", "wrong"),
        *("-m", "accuracy", "--json"),
    )
    values = [r["scores"][0]["value"] for r in json.loads(done.stdout)]
    assert values == [1.0, 1.0, 0.5]


def test_two_files_of_one_data_set_are_refused(invoke: Invoke, folder: Path) -> None:
    fill(folder, reviews_a=GOOD)
    (folder / "reviews-a.csv").write_text("id,label\n")
    done = invoke("eval", "--predictions-dir", str(folder))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        f"evalkit: error: {folder}: reviews-a.csv and reviews-a.jsonl are both "
        "predictions for reviews-a\n"
    )


@pytest.mark.parametrize(
    ("task", "wanted"),
    [
        ((), "data set that is installed"),
        (("--task", "nli"), "data set of the task nli"),
    ],
)
def test_a_folder_without_a_file_that_counts_is_refused(
    invoke: Invoke, folder: Path, task: tuple[str, ...], wanted: str
) -> None:
    fill(folder, **({"reviews_a": GOOD} if task else {"other": GOOD}))
    done = invoke("eval", "--predictions-dir", str(folder), *task)
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"{folder}: no file is named after a {wanted}; it has " in done.stderr


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ("absent", 1, "absent: cannot be read: No such file or directory"),
        ("zz://bucket/m", 1, "zz://bucket/m: zz:// is read and written by no"),
        ("file.jsonl", 2, "is a file"),
    ],
)
def test_what_is_no_folder_is_told(
    invoke: Invoke, tmp_path: Path, given: str, code: int, said: str
) -> None:
    (tmp_path / "file.jsonl").write_text(GOOD)
    done = invoke("eval", "--predictions-dir", given)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr


def test_an_unknown_task_is_told_the_nearest(invoke: Invoke, folder: Path) -> None:
    fill(folder, reviews_a=GOOD)
    done = invoke("eval", "--predictions-dir", str(folder), "--task", "sentimant")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "no task 'sentimant'; did you mean sentiment?" in done.stderr


@pytest.mark.parametrize("name", [".", "./", "{folder}/", "../my-model"])
def test_the_model_is_called_after_the_folder(
    invoke: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    fill(folder, reviews_a=GOOD)
    monkeypatch.chdir(folder)
    given = name.format(folder=folder)
    done = invoke("eval", "--json", EVALKIT_PREDICTIONS_DIR=given)
    assert json.loads(done.stdout)[0]["model"] == "my-model"


@pytest.mark.slow
def test_several_data_sets_are_shown_in_one_table(invoke: Invoke, folder: Path) -> None:
    fill(folder, reviews_a=GOOD, reviews_b=HALF, answers=ANSWER)
    arguments = ("eval", "--predictions-dir", str(folder), "-m", "accuracy")
    done = invoke(*arguments, "-q")
    assert (done.exit_code, done.stderr) == (0, "")
    cells = [line.split() for line in done.stdout.splitlines()]
    assert cells[0] == ["dataset", "model", "metric", "score", "95", "%", "CI", "n"]
    assert [(row[0], row[1], row[2], row[3], row[-1]) for row in cells[1:]] == [
        ("answers", "my-model", "accuracy", "100", "1"),
        ("reviews-a", "my-model", "accuracy", "100", "4"),
        ("reviews-b", "my-model", "accuracy", "50", "4"),
    ]
    talk = invoke(*arguments).stdout
    assert "reviews-b: 4 of 4 examples scored, every row accounted for\n" in talk
    assert talk.count(": run folder: runs/") == 3
    markdown = invoke(*arguments, "--format", "md")
    assert markdown.stdout.startswith("| dataset | model | metric | score |")
    assert "reviews-b: 4 of 4 examples scored" in markdown.stderr
    verbose = invoke(*arguments, "-v").stdout
    assert "answers (qa, split test): my-model" in verbose
    assert "By tag: not shown: 1 tag with fewer than 10 examples (--min-n); " in verbose


def test_coverage_is_shown_where_rows_were_left_out(
    invoke: Invoke, folder: Path
) -> None:
    fill(folder, reviews_a=GOOD, reviews_b=labels("positive"))
    arguments = ("eval", "--predictions-dir", str(folder), "-m", "accuracy", "-q")
    shown = invoke(*arguments, "--on-missing", "skip").stdout
    assert "coverage" in shown.splitlines()[0]
    assert "25.0%" in shown.splitlines()[2]
    assert "25 to 100" in shown.splitlines()[2]


def test_csv_has_a_column_for_the_data_set(invoke: Invoke, folder: Path) -> None:
    fill(folder, reviews_a=GOOD, reviews_b=HALF)
    arguments = ("eval", "--predictions-dir", str(folder), "-m", "accuracy")
    done = invoke(*arguments, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(r["dataset"], r["model"], r["tag"], r["value"]) for r in rows] == [
        ("reviews-a", "my-model", "", "1.0"),
        ("reviews-a", "my-model", "t", "1.0"),
        ("reviews-b", "my-model", "", "0.5"),
        ("reviews-b", "my-model", "t", "0.5"),
    ]
    (folder / "reviews-b.jsonl").unlink()
    alone = invoke(*arguments, "--format", "csv").stdout
    assert alone.startswith("model,metric,")


def test_a_selection_holds_for_every_data_set(invoke: Invoke, folder: Path) -> None:
    fill(folder, reviews_a=GOOD, reviews_b=HALF)
    arguments = ("eval", "--predictions-dir", str(folder), "--json")
    records = json.loads(invoke(*arguments, "-n", "2").stdout)
    assert [r["counts"]["examples"] for r in records] == [2, 2]
    assert [r["status"] for r in records] == ["partial", "partial"]
