"""`evalkit show RUN` prints what a run folder holds."""

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]
Write = Callable[..., str]

THREE = ("positive", "negative", "positive", "positive")


@pytest.fixture(autouse=True)
def _plugins(plugins: Any) -> None:
    """All tests here use the plugins of conftest.py."""


@pytest.fixture
def evaluate(invoke: Invoke, predict: Write) -> Callable[..., Result]:
    """Evaluate labels on the tiny data set."""

    def run(
        labels: tuple[str, ...] = THREE,
        *options: str,
        metrics: tuple[str, ...] = ("accuracy",),
    ) -> Result:
        file = predict("three.jsonl", labels)
        named = [word for metric in metrics for word in ("-m", metric)]
        return invoke("eval", "tiny", "-p", file, *named, *options)

    return run


def test_a_file_of_data_is_no_run_but_its_rows_can_be_shown(
    invoke: Invoke, tmp_path: Path
) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text("{}\n")
    done = invoke("show", str(file), "-n", "3")
    assert done.exit_code == 1
    assert done.stderr.endswith(
        "is no run folder: it is a file; rows of installed data: "
        "evalkit show datasets/NAME -n 3\n"
    )


def run_folder(folder: Path) -> Path:
    [run] = folder.glob("runs/*/*/run.json")
    return run.parent


@pytest.mark.parametrize(
    "options",
    [[], ["-q"], ["-v"], ["--json"], ["--format", "csv"], ["--format", "latex", "-v"]],
)
def test_the_report_is_the_one_that_eval_printed(
    invoke: Invoke, evaluate: Callable[..., Result], options: list[str]
) -> None:
    made = evaluate(THREE, *options, metrics=("accuracy", "macro-f1"))
    shown = invoke("show", "latest", *options)
    assert shown.exit_code == 0
    assert shown.stdout == made.stdout
    assert shown.stderr == made.stderr


def test_a_run_is_named_by_path_start_of_its_id_or_latest(
    invoke: Invoke, evaluate: Callable[..., Result], tmp_path: Path
) -> None:
    evaluate()
    path = run_folder(tmp_path)
    expected = invoke("show", "latest", "-q").stdout
    for name in (str(path), path.name[-8:-3], f"{path}/run.json"):
        done = invoke("show", name, "-q")
        assert (done.exit_code, done.stdout) == (0, expected)
    shutil.move(tmp_path / "runs", tmp_path / "old")
    assert invoke("show", "latest", "-q", "-o", "old").stdout == expected
    assert invoke("show", path.name[-8:], "-q", EVALKIT_OUT="old").stdout == expected


def test_a_refused_run_is_described_by_its_counts(
    invoke: Invoke, evaluate: Callable[..., Result], tmp_path: Path
) -> None:
    assert evaluate(THREE[:2]).exit_code == 1
    done = invoke("show", "latest")
    assert done.exit_code == 0
    path = run_folder(tmp_path).relative_to(tmp_path)
    assert done.stdout == (
        "tiny: three: the predictions were refused, so there are no scores: 0 invalid, "
        f"2 missing, 0 duplicate, 0 unknown, 0 unreadable. See {path}/problems.jsonl\n"
    )
    record = json.loads(invoke("show", "latest", "--json").stdout)
    assert record["status"] == "refused"
    assert invoke("show", "latest", "--format", "csv").stdout == ""
    wrong = invoke("show", "latest", "--wrong")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert "tiny: three: the predictions were refused" in wrong.stderr


# errors


def test_an_unknown_run_is_an_error_that_names_those_that_are_there(
    invoke: Invoke, evaluate: Callable[..., Result], tmp_path: Path
) -> None:
    evaluate()
    done = invoke("show", "0f0f0f")
    assert done.exit_code == 1
    assert done.stderr.startswith("evalkit: error: there is no run '0f0f0f' in runs ")
    assert "Models here: three." in done.stderr
    done = invoke("show", "runs/tiny")
    assert done.exit_code == 1
    assert "runs/tiny is no run folder: it holds no run.json" in done.stderr
    done = invoke("show", "latest", "-o", "nowhere")
    assert done.exit_code == 1
    assert "nowhere holds no runs" in done.stderr


@pytest.mark.parametrize(
    ("name", "hint"),
    [("f1", "Did you mean metrics/f1?"), ("no such thing", "there is no run")],
)
def test_what_is_neither_plugin_nor_run_is_wrong_usage(
    invoke: Invoke, name: str, hint: str
) -> None:
    done = invoke("show", name)
    assert done.exit_code == 2
    assert f"{name!r} is not of the form KIND/NAME" in done.stderr
    assert hint in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--wrong"],
        ["--confusion"],
        ["--tag", "x"],
        ["-m", "accuracy"],
        ["-n", "3"],
        ["--format", "md"],
    ],
)
def test_options_of_runs_are_refused_for_plugins(
    invoke: Invoke, options: list[str]
) -> None:
    done = invoke("show", "metrics/accuracy", *options)
    assert done.exit_code == 2
    assert "is about a run, and metrics/accuracy is a plugin." in done.stderr


@pytest.mark.parametrize("view", ["--wrong", "--confusion"])
def test_a_run_without_examples_says_so(
    invoke: Invoke, evaluate: Callable[..., Result], view: str
) -> None:
    evaluate(THREE, "--no-examples")
    done = invoke("show", "latest", view)
    assert done.exit_code == 1
    assert "made with --no-examples" in done.stderr


# --wrong


TWO = ("negative", "negative", "positive", "positive")


def test_wrong_answers_as_json_and_csv(
    invoke: Invoke, evaluate: Callable[..., Result], tmp_path: Path
) -> None:
    evaluate(TWO)
    found = json.loads(invoke("show", "latest", "--wrong", "-n", "1", "--json").stdout)
    assert found == {
        "run_id": run_folder(tmp_path).name[-8:],
        "metric": "accuracy",
        "best": 1.0,
        "tag": None,
        "n": 4,
        "wrong": 2,
        "examples": [
            {
                "id": "1",
                "answer": "positive",
                "pred": "negative",
                "score": 0.0,
                "tags": ["topic:film"],
                "note": None,
            }
        ],
    }
    shown = invoke("show", "latest", "--wrong", "--format", "csv").stdout
    assert list(csv.reader(io.StringIO(shown))) == [
        ["id", "answer", "prediction", "score", "tags", "note"],
        ["1", "positive", "negative", "0.0", '["topic:film"]', ""],
        ["3", "neutral", "positive", "0.0", '["topic:food"]', ""],
    ]


def test_a_metric_can_be_chosen_and_without_one_answers_are_compared(
    invoke: Invoke, evaluate: Callable[..., Result]
) -> None:
    evaluate(TWO, metrics=("label-length", "macro-f1"))
    done = invoke("show", "latest", "--wrong")
    assert done.stdout.splitlines()[:4] == [
        "2 of 4 examples have a prediction other than the answer",
        "",
        "id  answer    prediction  tags",
        "1   positive  negative    topic:film",
    ]
    done = invoke("show", "latest", "--wrong", "-m", "macro-f1")
    assert done.exit_code == 1
    assert "it has them of: label-length" in done.stderr
    done = invoke("show", "latest", "--wrong", "-m", "label-length")
    assert "does not say whether higher is better" in done.stderr


# --confusion


def test_confusion_as_json_and_csv_with_what_has_no_answer(
    invoke: Invoke, evaluate: Callable[..., Result], tmp_path: Path
) -> None:
    evaluate(TWO[:3], "--on-missing", "wrong")
    found = json.loads(invoke("show", "latest", "--confusion", "--json").stdout)
    labels = ["positive", "negative", "neutral"]
    assert found == {
        "run_id": run_folder(tmp_path).name[-8:],
        "tag": None,
        "labels": labels,
        "predicted": labels,
        "counts": [[0, 1, 0], [0, 1, 0], [1, 0, 0]],
        "no_answer": [1, 0, 0],
    }
    shown = invoke("show", "latest", "--confusion", "--format", "csv").stdout
    assert list(csv.reader(io.StringIO(shown))) == [
        ["answer", *labels, "no answer", "total"],
        ["positive", "0", "1", "0", "1", "2"],
        ["negative", "0", "1", "0", "0", "1"],
        ["neutral", "1", "0", "0", "0", "1"],
        ["total", "1", "2", "0", "1", "4"],
    ]
    header = invoke("show", "latest", "--confusion").stdout.splitlines()[2]
    assert header.split("  ")[-2:] == ["no answer", "total"]


@pytest.mark.parametrize("others", [10, 11])
def test_many_other_predictions_share_a_column(
    invoke: Invoke, write_rows: Write, others: int
) -> None:
    gold = [{"uid": str(n), "statement": "x", "label": "a"} for n in range(others)]
    data = write_rows("data.jsonl", gold)
    rows = [{"id": str(n), "label": f"other-{n}"} for n in range(others)]
    file = write_rows("odd.jsonl", rows)
    task = ("--task", "text-classification")
    assert invoke("eval", "--data", data, *task, "-p", file).exit_code == 0
    header, row = invoke("show", "latest", "--confusion").stdout.splitlines()[2:4]
    if others == 10:
        assert len(header.split()) == len(row.split()) == 13
    else:
        assert header.split("  ")[-2:] == ["11 others", "total"]
        assert row.split() == ["a", "0", "11", "11"]
    shown = json.loads(invoke("show", "latest", "--confusion", "--json").stdout)
    assert len(shown["predicted"]) == 1 + others


def test_free_text_has_no_confusion(invoke: Invoke) -> None:
    assert invoke("eval", "sample-qa", "-q").exit_code == 0
    done = invoke("show", "latest", "--confusion")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "evalkit: error: the answers of this run are no labels, so that there is "
        "nothing to confuse\n"
    )


def test_ratings_have_no_confusion(invoke: Invoke, tmp_path: Path) -> None:
    data, said = tmp_path / "d.jsonl", tmp_path / "p.jsonl"
    data.write_text('{"uid": "1", "text": "a"}\n{"uid": "2", "text": "b"}\n')
    said.write_text('{"id": "1", "ratings": [1, 2]}\n{"id": "2", "ratings": [3, 3]}\n')
    words = ("eval", str(data), "--task", "rating", "-p", str(said), "-q")
    assert invoke(*words).exit_code == 0
    done = invoke("show", "latest", "--confusion")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "no example of this run has a label as its answer" in done.stderr


@pytest.mark.known_result
@pytest.mark.slow
def test_confusion_of_tweeteval_is_the_known_one(
    invoke: Invoke, external_data: Path
) -> None:
    predictions = external_data / "tweeteval-sentiment" / "predictions.txt"
    folder = {"EVALKIT_DATA_DIR": str(external_data)}
    arguments = (
        "eval",
        "tweeteval-sentiment",
        "-p",
        str(predictions),
        "-m",
        "accuracy",
    )
    assert invoke(*arguments, **folder).exit_code == 0
    done = invoke("show", "latest", "--confusion")
    assert done.stdout == (
        "tweeteval-sentiment, predictions: answers by predictions\n"
        "\n"
        "answer    negative  neutral  positive  total\n"
        "negative      3146      773        53   3972\n"
        "neutral       1265     4047       625   5937\n"
        "positive        56      628      1691   2375\n"
        "total         4467     5448      2369  12284\n"
    )
    found = json.loads(invoke("show", "latest", "--confusion", "--json").stdout)
    assert found["counts"] == [[3146, 773, 53], [1265, 4047, 625], [56, 628, 1691]]


def test_several_runs_are_for_other_commands(invoke: Invoke) -> None:
    done = invoke("show", "gpt", "roberta", "bert")
    assert done.exit_code == 2
    assert "gpt and roberta are two things to show; `evalkit compare`" in done.stderr
    assert "No such option" in invoke("show", "gpt", "--nothing").stderr
