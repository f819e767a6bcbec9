"""`--data`, `--task`, `--limit`, `--filter` and `--split` of `evalkit eval`."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]
Write = Callable[..., str]

RIGHT = ("positive", "negative", "neutral", "positive")


@pytest.fixture(autouse=True)
def _plugins(plugins: Any) -> None:
    """All tests here use the plugins of conftest.py."""


@pytest.fixture
def right(predict: Write) -> str:
    return predict("right.jsonl", RIGHT)


def record_of(done: Result, code: int = 0) -> Any:
    assert done.exit_code == code, done.stderr
    return json.loads(done.stdout)


ROWS = [
    {"uid": number, "statement": f"text {number}", "label": label, "tags": [tag]}
    for number, (label, tag) in enumerate(
        [("positive", "len:1"), ("negative", "len:2"), ("positive", "len:2")], start=1
    )
]


@pytest.mark.parametrize(
    ("file", "given", "name"),
    [
        ("set.jsonl", ("--data", "set.jsonl"), "set"),
        ("set.jsonl", ("set.jsonl",), "set"),
        ("set", ("--data", "set"), "set"),
        ("set", ("./set",), "set"),
        ("tiny", ("--data", "tiny"), "tiny"),
        ("My set (v2).jsonl", ("--data", "My set (v2).jsonl"), "my-set-v2"),
        ("a@b:c=d.jsonl", ("--data", "a@b:c=d.jsonl"), "a-b-c-d"),
        ("-x.jsonl", ("--data=-x.jsonl",), "x"),
        ("datasets/set.jsonl", ("datasets/set.jsonl",), "set"),
        ("datasets/set", ("--data", "datasets/set"), "set"),
    ],
)
def test_a_file_of_any_name_is_scored(
    invoke: Invoke,
    write_rows: Write,
    right: str,
    tmp_path: Path,
    file: str,
    given: tuple[str, ...],
    name: str,
) -> None:
    (tmp_path / "datasets").mkdir()
    write_rows(file, ROWS)
    base = ("--task", "sentiment", "-p", right, "-m", "accuracy", "--json")
    record = record_of(invoke("eval", *given, *base, "--filter", "uid=1"))
    assert (record["dataset"], record["task"]) == (name, "sentiment")
    assert record["scores"][0]["value"] == 1.0
    assert record["counts"]["unselected"] == 2


def test_data_and_task_have_variables(
    invoke: Invoke, write_rows: Write, predict: Write
) -> None:
    write_rows("set.jsonl", ROWS)
    predict("p.jsonl", ["positive"] * 3)
    variables = {"EVALKIT_DATA": "set.jsonl", "EVALKIT_TASK": "sentiment"}
    record = record_of(invoke("eval", "-p", "p.jsonl", "--json", **variables))
    assert record["dataset"] == "set"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--data set.jsonl", "say which task it is of with --task NAME"),
        ("tiny --data set.jsonl --task sentiment", "name a data set"),
        ("--task sentiment", "name a data set"),
        ("tiny --task sentiment", "--task is for a file of examples or for"),
        ("tiny --task nli", "the data set tiny knows its own"),
        ("tiny -n 0", "0 is not in the range x>=1"),
        ("tiny -n many", "'many' is not a valid integer"),
        ("tiny --filter label", "--filter 'label' is not of the form KEY=VALUE"),
        ("tiny --filter =x", "--filter '=x' is not of the form KEY=VALUE"),
        ("tiny --predictions-dir .", "give it without a data set"),
        ("--data set.jsonl --predictions-dir .", "give it without a data set"),
    ],
)
def test_wrong_usage_exits_2(
    invoke: Invoke, write_rows: Write, right: str, arguments: str, said: str
) -> None:
    write_rows("set.jsonl", ROWS)
    done = invoke("eval", *shlex.split(arguments), "-p", right)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--data no.jsonl --task sentiment", "no.jsonl: there is no such file"),
        ("--data . --task sentiment", "is a folder, not a file"),
        ("--data empty.jsonl --task sentiment", "has no examples"),
        ("--data set.jsonl --task sentimen", "did you mean sentiment?"),
        ("--data zz://b/x.jsonl --task nli", "zz://b/x.jsonl: zz:// is read and"),
        ("zz://b/x --task nli", "zz://b/x: zz:// is read and written by no"),
        ("tiny -o zz://b/runs", "zz://b/runs: zz:// is read and written by no"),
        ("tiny -p zz://b/x.jsonl", "zz://b/x.jsonl: zz:// is read and"),
        ("tiny -p m=zz://b/x.jsonl", "zz://b/x.jsonl: zz:// is read and"),
        ("tiny -p zz://b/y=26/x.jsonl", "zz://b/y=26/x.jsonl: zz:// is read and"),
        ("tiny --filter topic=sport", "no example is left by the filter topic=sport"),
        ("tiny --filter gnre=x", "it has label, statement, tags, topic, uid, tag for"),
    ],
)
def test_an_error_exits_1_without_a_traceback(
    invoke: Invoke, write_rows: Write, right: str, arguments: str, said: str
) -> None:
    write_rows("set.jsonl", ROWS)
    Path("empty.jsonl").write_bytes(b"")
    given = shlex.split(arguments)
    predictions = () if "-p" in given else ("-p", right)
    done = invoke("eval", *given, *predictions)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("evalkit: error: ")
    assert said in done.stderr
    assert sorted(path.name for path in Path.cwd().iterdir() if path.is_dir()) in (
        [],
        ["distributions"],
    )


def test_a_file_ships_no_predictions(invoke: Invoke, write_rows: Write) -> None:
    write_rows("set.jsonl", ROWS)
    done = invoke("eval", "--data", "set.jsonl", "--task", "sentiment")
    assert done.exit_code == 2
    assert "set.jsonl ships no predictions; give some with" in done.stderr


@pytest.mark.parametrize(
    ("options", "n", "value"),
    [
        (("-n", "1"), 1, 1.0),
        (("--limit", "3"), 3, 2 / 3),
        (("--limit", "99"), 4, 0.75),
        (("--filter", "topic=food"), 2, 0.5),
        (("--filter", "tag=topic:food"), 2, 0.5),
        (("--filter", "topic=food", "--filter", "topic=film"), 4, 0.75),
        (("--filter", "topic=food", "--filter", "label=neutral"), 1, 0.0),
        (("--filter", "statement=a good film"), 1, 1.0),
        (("--filter", "topic=food", "-n", "1"), 1, 0.0),
    ],
)
@pytest.mark.slow
def test_a_part_of_the_data_makes_a_partial_run_and_exits_0(
    invoke: Invoke, predict: Write, options: tuple[str, ...], n: int, value: float
) -> None:
    file = predict("three.jsonl", ("positive", "negative", "positive", "positive"))
    arguments = ("eval", "tiny", "-p", file, "-m", "accuracy", *options)
    record = record_of(invoke(*arguments, "--json"))
    assert (record["status"], record["errors"]) == ("partial", [])
    score = record["scores"][0]
    assert (score["n"], score["value"], score["coverage"]) == (
        n,
        pytest.approx(value),
        1.0,
    )
    counts = record["counts"]
    assert counts["predictions"] == counts["scored"] == n
    assert counts["unselected"] == 4 - n
    shown = invoke(*arguments).stdout
    plural = "example" if n == 1 else "examples"
    assert f": only {n} {plural} evaluated: " in shown


def test_the_limit_has_a_variable(invoke: Invoke, right: str) -> None:
    arguments = ("eval", "tiny", "-p", right, "--json")
    by_variable = record_of(invoke(*arguments, EVALKIT_LIMIT="2"))
    assert by_variable["selection"] == {"limit": 2, "filters": {}}
    by_option = record_of(invoke(*arguments, "-n", "2"))
    assert by_option["fingerprint"] == by_variable["fingerprint"]


def test_a_metric_that_fails_on_the_part_exits_1(invoke: Invoke, right: str) -> None:
    arguments = ("eval", "tiny", "-p", right, "-m", "failing", "--json", "-n")
    assert record_of(invoke(*arguments, "2"))["errors"] == []
    [error] = record_of(invoke(*arguments, "3"), code=1)["errors"]
    assert "no neutral, please" in error


def test_an_equals_sign_in_a_value_stays(invoke: Invoke, right: str) -> None:
    done = invoke("eval", "tiny", "-p", right, "--filter", "statement=a=b")
    assert "no example is left by the filter statement=a=b" in done.stderr


def test_examples_of_a_file_are_clustered_by_columns_that_are_named(
    invoke: Invoke, write_rows: Write, predict: Write
) -> None:
    rows = [
        {
            "uid": n,
            "statement": f"text {n}",
            "label": "positive",
            "text_id": n // 4,
            "writer": n % 2,
        }
        for n in range(1, 13)
    ]
    predictions = predict("said.jsonl", ["positive", "negative", "positive"] * 4)
    file = write_rows("set.jsonl", rows)
    arguments = ("--data", file, "--task", "sentiment", "-p", predictions)
    evaluation = ("eval", *arguments, "-m", "accuracy", "--json")

    def clusters(*options: str, **variables: str) -> tuple[list[str], int]:
        record = record_of(invoke(*evaluation, *options, **variables))
        return record["cluster"], record["scores"][0]["n_clusters"]

    assert clusters() == ([], None)
    assert clusters("--cluster", "text_id") == (["text_id"], 4)
    both = (["text_id", "writer"], 7)
    assert clusters("--cluster", "text_id, writer") == both
    assert clusters(EVALKIT_CLUSTER="text_id,writer") == both
    done = invoke(*evaluation, "--cluster", "nowhere")
    assert done.exit_code == 1
    assert "--cluster names the column 'nowhere', which the data does" in done.stderr
    done = invoke("validate", *arguments, "--cluster", "text_id,")
    assert done.exit_code == 2
