"""`evalkit compare`: which runs, what is printed, and how it ends."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from evalkit_analysis_compare import ComparedScore, Comparison
from evalkit_cli.printing.comparison_report import print_comparison

Invoke = Callable[..., Result]
Write = Callable[..., str]

RIGHT = ("positive", "negative", "neutral", "positive")
WRONG = ("negative", "negative", "neutral", "negative")


@pytest.fixture(autouse=True)
def _plugins(plugins: Any) -> None:
    """All tests here use the plugins of conftest.py."""


@pytest.fixture
def runs(invoke: Invoke, predict: Write) -> tuple[str, str]:
    """Score two models on the data set `tiny`, and give the runs' ids."""
    ids = []
    for name, labels in (("right", RIGHT), ("wrong", WRONG)):
        path = predict(f"{name}.jsonl", labels)
        done = invoke("eval", "tiny", "-p", path, "--json")
        assert done.exit_code == 0, done.stderr
        ids.append(json.loads(done.stdout)["fingerprint"])
    return ids[0], ids[1]


def compared(invoke: Invoke, *arguments: str) -> Any:
    done = invoke("compare", *arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_table_sentence_and_tags(invoke: Invoke, runs: tuple[str, str]) -> None:
    done = invoke("compare", *runs, "--metric", "accuracy", "--min-n", "1")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "right against wrong"
    assert lines[2].split() == [
        *("metric", "n", "right", "wrong", "difference", "95", "%", "CI", "wins"),
        *("losses", "ties", "p", "detectable"),
    ]
    assert lines[3].split()[:5] == ["accuracy", "4", "100", "50", "+50"]
    assert lines[5] == (
        "accuracy: undecided: too few examples differ for the test to show a "
        "difference (p = .25)"
    )
    assert lines[7] == "accuracy by tag, worst for right first:"
    assert "adjusted p" in lines[9]
    assert [line.split()[0] for line in lines[10:12]] == ["topic:film", "topic:food"]
    assert lines[13] == (
        "On no tag was a difference shown at 0.05, adjusted for 2 comparisons."
    )


def test_json_has_every_row_and_the_mid_p_value(
    invoke: Invoke, runs: tuple[str, str]
) -> None:
    record = compared(invoke, *runs, "--min-n", "1")
    assert [run["run_id"] for run in record["runs"]] == [run[:8] for run in runs]
    metrics = {row["metric"] for row in record["rows"]}
    assert {"accuracy", "macro-f1"} <= metrics
    (row,) = (
        row
        for row in record["rows"]
        if row["metric"] == "accuracy" and row["tag"] is None
    )
    assert (row["wins"], row["losses"], row["ties"]) == (2, 0, 2)
    assert (row["p_value"], row["p_method"]) == (0.25, "mcnemar-mid")
    tags = {row["tag"] for row in record["rows"]}
    assert tags == {None, "topic:film", "topic:food"}
    untagged = compared(invoke, *runs, "--no-tags")
    assert {row["tag"] for row in untagged["rows"]} == {None}
    larger = compared(invoke, *runs)
    assert larger["rows"] == untagged["rows"]
    assert larger["notices"] == [
        "2 tags with fewer than 10 examples not compared (--min-n)"
    ]


def test_runs_are_found_by_path_prefix_and_latest(
    invoke: Invoke, runs: tuple[str, str]
) -> None:
    by_id = compared(invoke, *runs)
    [path] = map(str, Path("runs/tiny").glob(f"*-{runs[0][:8]}"))
    assert compared(invoke, path, runs[1])["rows"] == by_id["rows"]
    assert compared(invoke, runs[0][:8], runs[1][:8])["rows"] == by_id["rows"]
    newest = compared(invoke, runs[0], "latest")["runs"][1]
    assert newest["run_id"] == runs[1][:8]
    Path("runs").rename("elsewhere")
    assert compared(invoke, *runs, "-o", "elsewhere")["rows"] == by_id["rows"]
    missing = invoke("compare", *runs)
    assert missing.exit_code == 1
    assert "no run" in missing.stderr


def test_other_examples_are_refused_and_named(
    invoke: Invoke, predict: Write, runs: tuple[str, str]
) -> None:
    path = predict("half.jsonl", RIGHT[:2])
    done = invoke("eval", "tiny", "-p", path, "-n", "2", "--json")
    part = json.loads(done.stdout)["fingerprint"]
    done = invoke("compare", runs[0], part)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "2 examples only in right" in done.stderr
    assert "such as '3', '4'" in done.stderr
    assert "--common" in done.stderr
    arguments = ("compare", runs[0], part, "--common", "--metric", "accuracy")
    done = invoke(*arguments, "-v")
    assert done.exit_code == 0
    assert "left out; 2 compared" in done.stdout
    assert "4 notices (-v shows all), such as: " in invoke(*arguments).stdout
    assert "notice" not in invoke(*arguments, "-q").stdout


def test_other_answers_are_refused_and_named(
    invoke: Invoke, write_rows: Write, predict: Write
) -> None:
    ids = []
    for label in ("positive", "negative"):
        rows = [
            {"uid": "1", "statement": "fine", "label": label},
            {"uid": "2", "statement": "bad", "label": "negative"},
        ]
        data = write_rows(f"{label}.jsonl", rows)
        path = predict("p.jsonl", ["positive", "negative"])
        done = invoke("eval", data, "--task", "sentiment", "-p", path, "--json")
        assert done.exit_code == 0, done.stderr
        ids.append(json.loads(done.stdout)["fingerprint"])
    done = invoke("compare", *ids, "--common")
    assert done.exit_code == 1
    assert "have different answers to 1 example, such as '1'" in done.stderr
    assert "('positive' and 'negative')" in done.stderr


@pytest.mark.parametrize("table_format", ["md", "latex"])
@pytest.mark.slow
def test_tables_alone_go_to_stdout(
    invoke: Invoke, runs: tuple[str, str], table_format: str
) -> None:
    done = invoke("compare", *runs, "-m", "accuracy", "--format", table_format)
    assert done.exit_code == 0
    assert "undecided" not in done.stdout
    assert "accuracy: undecided: " in done.stderr


def test_csv_has_every_row_in_full_precision(
    invoke: Invoke, runs: tuple[str, str]
) -> None:
    done = invoke("compare", *runs, "--format", "csv")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    record = compared(invoke, *runs)
    assert len(rows) == len(record["rows"])
    assert float(rows[0]["difference"]) == record["rows"][0]["difference"]
    assert rows[0]["tag"] == ""


@pytest.mark.slow
def test_verbose_gives_every_metric_for_every_tag(
    invoke: Invoke, runs: tuple[str, str]
) -> None:
    short, long = (
        invoke("compare", *runs, "--min-n", "1", *more).stdout
        for more in ((), ("--verbose",))
    )
    assert short.count("by tag, worst for") == 1
    assert long.count("by tag, worst for") == 2


def test_quiet_leaves_the_conclusion(invoke: Invoke, runs: tuple[str, str]) -> None:
    shown = invoke("compare", *runs, "--min-n", "1", "-m", "accuracy", "-q").stdout
    assert len(shown.splitlines()) == 6
    assert "by tag" not in shown


def test_what_is_shown_is_possible_and_agrees(
    invoke: Invoke, predict: Write, runs: tuple[str, str]
) -> None:
    record = compared(invoke, *runs, "--min-n", "1")
    rows = [ComparedScore(**row) for row in record["rows"] if not row["tag"]]
    rows.sort(key=lambda row: row.metric)
    # an interval beyond what is possible, a difference that is lost in rounding, and a
    # detectable difference that there cannot be
    strange = rows[0]._replace(
        value_a=0.794,
        value_b=0.746,
        difference=0.048,
        ci_low=-0.3,
        ci_high=1.25,
        smallest_detectable=1.2,
    )
    comparison = Comparison(record, [strange], {"accuracy": 1.0})
    printed = CliRunner().invoke(_printer(comparison)).stdout.splitlines()
    cells = re.split(r"\s{2,}", printed[3])
    assert cells[:6] == ["accuracy", "4", "79.4", "74.6", "+4.8", "[-30, +100]"]
    assert cells[-1] == "–"


def _printer(comparison: Comparison) -> click.Command:
    @click.command()
    def show() -> None:
        print_comparison(comparison, "table", verbose=False, quiet=True)

    return show


@pytest.mark.slow
def test_only_the_worst_tags_are_shown(invoke: Invoke) -> None:
    done = invoke("eval", "sample-nli", "--json")
    ids = [record["fingerprint"] for record in json.loads(done.stdout)]
    arguments = ("compare", *ids, "-m", "accuracy")
    short, long = (invoke(*arguments, *more).stdout for more in ((), ("-v",)))
    assert "not shown: 6 more tags (-v); --format csv shows all\n" in short
    assert short.count("phenomenon:") == 2
    assert "not shown" not in long
    assert long.count("phenomenon:") == 3


@pytest.mark.slow
def test_tags_with_a_difference_are_named(invoke: Invoke, write_rows: Write) -> None:
    rows = [
        {"uid": str(n), "statement": "x", "label": "positive", "tags": ["t"]}
        for n in range(30)
    ]
    data = write_rows("data.jsonl", rows)
    ids = []
    for name, label in (("good", "positive"), ("bad", "negative")):
        found = [{"id": str(n), "label": label if n else "positive"} for n in range(30)]
        path = write_rows(f"{name}.jsonl", found)
        done = invoke("eval", data, "--task", "sentiment", "-p", path, "--json")
        ids.append(json.loads(done.stdout)["fingerprint"])
    done = invoke("compare", *ids, "-m", "accuracy")
    assert "t: good is better than bad by 96.7 points" in done.stdout


def test_three_runs_are_two_tables(invoke: Invoke, predict: Write, runs: Any) -> None:
    path = predict("third.jsonl", WRONG[::-1])
    done = invoke("eval", "tiny", "-p", path, "--json")
    third = json.loads(done.stdout)["fingerprint"]
    shown = invoke("compare", *runs, third, "--no-tags").stdout
    assert "right against wrong" in shown
    assert "right against third" in shown
    assert "wrong against third" not in shown
    best = "not distinguishable from the best, by all pairs: right, wrong, third"
    assert f"accuracy: {best}" in shown.splitlines()
    record = compared(invoke, *runs, third, "--all-pairs", "-m", "accuracy")
    pairs = {(row["model_a"], row["model_b"]) for row in record["rows"]}
    assert pairs == {("right", "wrong"), ("right", "third"), ("wrong", "third")}
    assert record["all_pairs"] is True
    assert record["best"] == {"accuracy": ["right", "wrong", "third"]}
    (row,) = (
        row
        for row in record["rows"]
        if row["tag"] is None and row["model_b"] == "wrong"
    )
    assert (row["p_value"], row["p_adjusted"], row["family_size"]) == (0.25, 0.75, 3)
    assert row["ci_low_adjusted"] < row["ci_low"]


def test_a_metric_without_a_value_is_a_dash(invoke: Invoke, predict: Write) -> None:
    ids = []
    for name, labels in (("one", RIGHT), ("two", WRONG)):
        path = predict(f"{name}.jsonl", labels)
        chosen = ("--filter", "answer=neutral")  # the only one that it fails for
        done = invoke("eval", "tiny", "-p", path, "-m", "failing", "--json", *chosen)
        ids.append(json.loads(done.stdout)["fingerprint"])
    done = invoke("compare", *ids)
    assert done.exit_code == 0
    assert "–" in done.stdout
    assert "not compared: " in done.stdout


@pytest.mark.parametrize("arguments", [(), ("latest",)])
def test_fewer_than_two_runs_are_wrong_usage(
    invoke: Invoke, arguments: tuple[str, ...]
) -> None:
    done = invoke("compare", *arguments)
    assert done.exit_code == 2
    assert "at least two runs" in done.stderr


def test_clusters_are_counted(invoke: Invoke) -> None:
    done = invoke("eval", "sample-qa", "--json")
    ids = [record["fingerprint"] for record in json.loads(done.stdout)]
    done = invoke("compare", *ids)
    assert done.exit_code == 0, done.stderr
    assert " clusters)" in done.stdout


# names of models


def test_names_of_models_mean_their_newest_runs_and_it_is_said_which(
    invoke: Invoke, predict: Write, runs: tuple[str, str]
) -> None:
    by_id = compared(invoke, *runs)
    done = invoke("compare", "right", "wrong", "--json")
    assert json.loads(done.stdout)["rows"] == by_id["rows"]
    first, second = done.stderr.splitlines()
    for line, name, run in ((first, "right", runs[0]), (second, "wrong", runs[1])):
        assert line.startswith(f"evalkit: {name} is runs/tiny/2")
        assert f"Z-{name}-{run[:8]} (tiny, evaluated 2" in line
    again = invoke("eval", "tiny", "-p", "right.jsonl", "--seed", "7", "--json")
    newest = json.loads(again.stdout)["fingerprint"]
    done = invoke("compare", "right@tiny", runs[1], "--no-tags")
    [line] = done.stderr.splitlines()
    assert line.startswith("evalkit: right@tiny is runs/tiny/")
    assert f"{newest[:8]} (tiny, eval" in line
    assert line.endswith("UTC, the newest of 2 complete runs)")
    assert invoke("compare", "right", runs[1], "-q").stderr == ""


def test_names_that_mean_runs_on_other_data_say_how_to_name_them(
    invoke: Invoke, write_rows: Write, runs: tuple[str, str]
) -> None:
    answers = [{"id": str(n), "answer": "xq"} for n in (1, 2)]
    other = write_rows("right.jsonl", answers)
    assert invoke("eval", "questions", "-p", other).exit_code == 0
    done = invoke("compare", "right", "wrong")
    assert done.exit_code == 1
    assert "task: qa and sentiment; dataset: questions and tiny" in done.stderr
    assert "MODEL@DATASET names a run of one dataset" in done.stderr
    assert invoke("compare", "right@tiny", "wrong").exit_code == 0


# --fail-if-worse


@pytest.fixture
def good_and_bad(invoke: Invoke, write_rows: Write) -> None:
    """Score two models on 40 examples, 10 of which only `good` has right."""
    rows = [{"uid": str(n), "statement": "x", "label": "positive"} for n in range(40)]
    data = write_rows("data.jsonl", rows)
    for name, wrong in (("good", 0), ("bad", 10)):
        labels = ["negative"] * wrong + ["positive"] * (40 - wrong)
        found = [{"id": str(n), "label": label} for n, label in enumerate(labels)]
        path = write_rows(f"{name}.jsonl", found)
        options = ("-m", "accuracy", "-m", "label-length")
        done = invoke("eval", data, "--task", "sentiment", "-p", path, *options)
        assert done.exit_code == 0, done.stderr


@pytest.mark.usefixtures("good_and_bad")
def test_a_first_run_that_is_worse_exits_with_3(invoke: Invoke) -> None:
    gate = ("-m", "accuracy", "--fail-if-worse", "-q")
    done = invoke("compare", "bad", "good", *gate)
    assert done.exit_code == 3
    assert done.stdout == invoke("compare", "bad", "good", *gate[:2], "-q").stdout
    [line] = done.stderr.splitlines()
    assert line.startswith(
        "evalkit: not met: accuracy: good is better than bad by 25.0 "
    )
    assert invoke("compare", "bad", "good", *gate, "--json").exit_code == 3
    done = invoke("compare", "good", "bad", *gate)
    assert (done.exit_code, done.stderr) == (0, "")
    assert invoke("compare", "bad", "good", "-m", "accuracy").exit_code == 0


@pytest.mark.usefixtures("good_and_bad")
def test_the_margin_says_by_how_much_it_must_be_worse(invoke: Invoke) -> None:
    gate = ("compare", "bad", "good", "-m", "accuracy", "--fail-if-worse", "--json")
    [row] = json.loads(invoke(*gate).stdout)["rows"]
    high = row["ci_high"]
    assert -0.25 < high < -0.05
    done = invoke(*gate, "--margin", f"{-high - 1e-6}")
    assert done.exit_code == 3
    assert "; more than the margin of 0." in done.stderr
    assert invoke(*gate, "--margin", f"{-high + 1e-6}").exit_code == 0


@pytest.mark.usefixtures("good_and_bad")
def test_what_cannot_be_judged_never_passes_in_silence(invoke: Invoke) -> None:
    gate = ("compare", "good", "bad", "--fail-if-worse", "--no-tags", "-q")
    done = invoke(*gate)
    assert done.exit_code == 0
    assert done.stderr == (
        "evalkit: warning: --fail-if-worse: label-length of good and bad is not "
        "judged: it is not known whether higher is better\n"
    )
    done = invoke(*gate, "-m", "label-length")
    assert done.exit_code == 1
    assert "evalkit: error: --fail-if-worse: no score could be judged" in done.stderr
