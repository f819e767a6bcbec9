"""`evalkit validate`: what is found, and how it ends."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Invoke = Callable[..., Result]
Write = Callable[..., str]

RIGHT = ("positive", "negative", "neutral", "positive")
BAD = [
    {"id": "1", "label": "positive", "note": "x"},
    {"id": "1", "label": "negative"},
    {"id": "2", "label": "angry"},
    {"id": "99", "label": "positive"},
    "not json",
    {"id": "3", "label": 7},
]
STATUSES = [
    ("duplicate", 2, "1"),
    ("invalid", 3, "2"),
    ("unknown", 4, "99"),
    ("unreadable", 5, None),
    ("invalid", 6, "3"),
    ("missing", None, "4"),
]


@pytest.fixture(autouse=True)
def _plugins(plugins: Any) -> None:
    """All tests here use the plugins of conftest.py."""


@pytest.fixture
def right(predict: Write) -> str:
    return predict("right.jsonl", RIGHT)


@pytest.fixture
def bad(write_rows: Write) -> str:
    return write_rows("bad.jsonl", BAD)


def test_sound_predictions_are_ok(invoke: Invoke, right: str) -> None:
    done = invoke("validate", "tiny", "-p", right)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "tiny (sentiment, split test): right",
        "  examples             4",
        "  predictions          4",
        "  scored               4",
        "  invalid              0",
        "  missing              0",
        "  duplicate            0",
        "  unknown              0",
        "  unreadable           0",
        "  unparsed             0",
        "ok",
    ]
    assert not Path("runs").exists()


def test_every_kind_of_problem_is_counted_and_shown(invoke: Invoke, bad: str) -> None:
    done = invoke("validate", "datasets/tiny", "-p", f"mine={bad}")
    assert (done.exit_code, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "tiny (sentiment, split test): mine"
    counts = dict(line.split() for line in lines[1:10])
    assert counts == {
        "examples": "4",
        "predictions": "6",
        "scored": "1",
        "invalid": "2",
        "missing": "1",
        "duplicate": "1",
        "unknown": "1",
        "unreadable": "1",
        "unparsed": "0",
    }
    assert lines[10:] == [
        "line 5: unreadable: (line): must be JSON (Expecting value: column 1), found "
        "'not json'",
        "line 4: unknown '99': id: must be the id of an example, found '99'",
        "line 2: duplicate '1': id: must be given once; line 1 is used, found '1'",
        "line 3: invalid '2': label: must be one of positive, negative, neutral, found "
        "'angry'",
        "line 6: invalid '3': label: must be a valid string, found 7",
        "missing '4'",
        "notice: 1 row with the key 'note', which the task sentiment does not declare; "
        "the key was left out",
        "notice: 1 row left out, as no example has its id",
        "notice: 1 row left out, as it cannot be read",
        "an evaluation would refuse this: 1 example without a prediction (--on-missing "
        "wrong|skip); 2 invalid predictions (--on-invalid wrong|skip); 1 prediction "
        "with a repeated id (--on-duplicate first|last; "
        "_replication_ tells replications apart)",
    ]


@pytest.mark.slow
def test_quiet_prints_only_problems(invoke: Invoke, right: str, bad: str) -> None:
    done = invoke("validate", "tiny", "-p", bad, "-q")
    assert done.exit_code == 1
    assert len(done.stdout.splitlines()) == len(STATUSES)
    assert done.stdout.startswith("line 5: unreadable")
    assert invoke("validate", "tiny", "-p", right, "-q").stdout == ""
    assert invoke("validate", "tiny", "-p", right, EVALKIT_QUIET="1").stdout == ""


def test_policies_decide_whether_it_is_ok_and_change_no_count(
    invoke: Invoke, bad: str
) -> None:
    options = ("--on-missing", "skip", "--on-invalid", "wrong")
    strict = json.loads(invoke("validate", "tiny", "-p", bad, "--json").stdout)
    first = invoke("validate", "tiny", "-p", bad, *options, "--json")
    assert first.exit_code == 1
    assert json.loads(first.stdout)["refusals"] == [
        "1 prediction with a repeated id (--on-duplicate first|last; "
        "_replication_ tells replications apart)"
    ]
    done = invoke(
        *("validate", "tiny", "-p", bad, *options, "--json"),
        EVALKIT_ON_DUPLICATE="first",
    )
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert (found["ok"], found["refusals"]) == (True, [])
    assert found["counts"] == strict["counts"]
    assert found["notices"][-3:] == [
        "1 missing example left out of the scores",
        "2 invalid examples counted as wrong",
        "1 row with a repeated id; of each id the first row counts",
    ]


def test_json_holds_counts_reasons_and_the_first_problems(
    invoke: Invoke, bad: str
) -> None:
    done = invoke("validate", "tiny", "-p", bad, "--json")
    assert (done.exit_code, done.stderr) == (1, "")
    found = json.loads(done.stdout)
    assert list(found) == [
        *("ok", "dataset", "task", "split", "model", "counts", "refusals"),
        *("notices", "first_problems"),
    ]
    assert (found["ok"], found["dataset"], found["task"], found["split"]) == (
        False,
        "tiny",
        "sentiment",
        "test",
    )
    shown = [(p["status"], p["line"], p["id"]) for p in found["first_problems"]]
    assert shown == STATUSES[:5]
    assert found["first_problems"][1]["violations"] == [
        {
            "field": "label",
            "rule": "must be one of positive, negative, neutral",
            "value": "angry",
        }
    ]


def test_the_problems_file_has_all_of_them_in_the_order_of_the_file(
    invoke: Invoke, bad: str, tmp_path: Path
) -> None:
    invoke("validate", "tiny", "-p", bad, "--problems", "p.jsonl")
    text = (tmp_path / "p.jsonl").read_text("utf-8")
    found = [json.loads(line) for line in text.splitlines()]
    assert [(p["status"], p["line"], p["id"]) for p in found] == STATUSES
    invoke("eval", "tiny", "-p", bad)
    [run] = tmp_path.glob("runs/tiny/*/problems.jsonl")
    assert run.read_text("utf-8") == text


def test_many_problems_are_all_written_and_the_first_few_shown(
    invoke: Invoke, write_rows: Write, tmp_path: Path
) -> None:
    rows = [{"id": f"no-{number}", "label": "positive"} for number in range(5000)]
    file = write_rows("far.jsonl", rows)
    done = invoke("validate", "tiny", "-p", file, "--problems", "p.jsonl")
    assert done.stdout.count(": unknown 'no-") == 5
    assert "… and 4995 more unknown, see p.jsonl\n" in done.stdout
    found = (tmp_path / "p.jsonl").read_text("utf-8").splitlines()
    ids = [json.loads(line)["id"] for line in found]
    assert ids == [*(row["id"] for row in rows), "1", "2", "3", "4"]
    without = invoke("validate", "tiny", "-p", file).stdout
    assert "… and 4995 more unknown; --problems FILE has them all\n" in without


def test_sound_predictions_leave_an_empty_problems_file(
    invoke: Invoke, right: str, tmp_path: Path
) -> None:
    (tmp_path / "p.jsonl").write_text("old\n", encoding="utf-8")
    done = invoke("validate", "tiny", "-p", right, "--problems", "p.jsonl")
    assert done.exit_code == 0
    assert (tmp_path / "p.jsonl").read_bytes() == b""


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no/such/p.jsonl", "No such file or directory"),
        ("/dev/full", "No space left on device"),
    ],
)
def test_a_problems_file_that_cannot_be_written_is_told(
    invoke: Invoke, bad: str, path: str, reason: str
) -> None:
    done = invoke("validate", "tiny", "-p", bad, "--problems", path)
    assert done.exit_code == 1
    assert done.stderr == f"evalkit: error: {path}: cannot be written: {reason}\n"


def test_a_value_that_is_no_unicode_is_written_and_shown(
    invoke: Invoke, tmp_path: Path
) -> None:
    (tmp_path / "odd.jsonl").write_bytes(
        b'{"id": "1", "label": "\\ud800"}\n{"id": "2", "label": "\xff"}\n'
    )
    done = invoke("validate", "tiny", "-p", "odd.jsonl", "--problems", "p.jsonl")
    assert done.exit_code == 1
    assert "line 1: unreadable" in done.stdout
    found = (tmp_path / "p.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["line"] for line in found] == [1, 2, *[None] * 4]


def test_the_data_alone_is_checked_without_predictions(invoke: Invoke) -> None:
    done = invoke("validate", "tiny")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == (
        "tiny (sentiment, split test)\n  examples             4\nok\n"
    )
    found = json.loads(invoke("validate", "tiny", "--json", "-n", "2").stdout)
    assert (found["ok"], found["model"], found["counts"]) == (
        True,
        None,
        {"examples": 2},
    )


def test_broken_data_exits_1_and_names_the_rows(
    invoke: Invoke, write_rows: Write
) -> None:
    rows = [
        {"uid": 1, "statement": "x", "label": "positive"},
        {"uid": 2, "label": "positive"},
    ]
    file = write_rows("set.jsonl", rows)
    done = invoke("validate", "--data", file, "--task", "sentiment")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "set.jsonl: 1 of 2 examples break the input of the task sentiment" in (
        done.stderr
    )
    assert "line 2 (uid '2'): statement: is required" in done.stderr


@pytest.mark.slow
def test_several_models_are_reported_one_after_the_other(
    invoke: Invoke, right: str, bad: str, tmp_path: Path
) -> None:
    arguments = ("validate", "tiny", "-p", right, "-p", f"b={bad}")
    done = invoke(*arguments, "--problems", "p.jsonl")
    assert done.exit_code == 1
    assert [line for line in done.stdout.splitlines() if "split test" in line] == [
        "tiny (sentiment, split test): right",
        "tiny (sentiment, split test): b",
    ]
    assert len((tmp_path / "p.jsonl").read_text("utf-8").splitlines()) == len(STATUSES)
    both = json.loads(invoke(*arguments, "--json").stdout)
    assert [(each["model"], each["ok"]) for each in both] == [
        ("right", True),
        ("b", False),
    ]


def test_a_selection_is_checked_alone(invoke: Invoke, bad: str) -> None:
    done = invoke("validate", "tiny", "-p", bad, "--filter", "uid=4", "--json")
    counts = json.loads(done.stdout)["counts"]
    assert (counts["examples"], counts["missing"], counts["unselected"]) == (1, 1, 4)
    assert counts["predictions"] == counts["unknown"] + counts["unreadable"] == 2
    shown = invoke("validate", "tiny", "-p", bad, "--filter", "uid=4").stdout
    assert "  unselected           4\n" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name a data set"),
        (("tiny", "-p", "x.jsonl", "-p", "x.jsonl"), "two models are called 'x'"),
        (("tiny", "--on-missing", "maybe"), "'maybe' is not one of"),
        (
            ("tiny", "--filter", "genre"),
            "--filter 'genre' is not of the form KEY=VALUE",
        ),
        (("tiny", "--task", "sentiment"), "--task is for a file of examples"),
        (("tiny", "--problems", "."), "is a directory"),
        (("tiny", "-n", "0"), "0 is not in the range x>=1"),
    ],
)
def test_wrong_usage_exits_2(
    invoke: Invoke, arguments: tuple[str, ...], said: str
) -> None:
    done = invoke("validate", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tyny",), "no data set 'tyny'; did you mean tiny?"),
        (("tiny", "-p", "no.jsonl"), "no.jsonl: there is no such file"),
        (("tiny", "--split", "train"), "no split 'train'; it has test"),
        (("tiny", "--filter", "a=b"), "neither a column nor a facet 'a'"),
        (("tiny", "-p", "zz://b/x.jsonl"), "zz://b/x.jsonl: zz:// is read and"),
    ],
)
def test_an_error_exits_1_without_a_traceback(
    invoke: Invoke, arguments: tuple[str, ...], said: str
) -> None:
    done = invoke("validate", *arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("evalkit: error: ")
    assert said in done.stderr


def test_what_a_plugin_prints_is_kept_from_the_output(
    invoke: Invoke, fake_distribution: Any
) -> None:
    fake_distribution(
        """
        import evalkit

        class Loud(evalkit.Dataset):
            task = "sentiment"

            def load(self, split):
                print("loading!")
                return [{"uid": "1", "statement": "x", "label": "positive"}]
        """,
        {"evalkit.datasets": {"loud": "Loud"}},
    )
    done = invoke("validate", "loud", "--json")
    assert json.loads(done.stdout)["counts"] == {"examples": 1}
    assert "loading!" in done.stderr


def test_one_unreadable_file_of_several_loses_no_other(
    invoke: Invoke, right: str, bad: str, tmp_path: Path
) -> None:
    written = tmp_path / "problems.jsonl"
    gone = str(tmp_path / "gone.jsonl")
    options = ("-p", gone, "-p", bad, "-p", right, "--problems", str(written))
    done = invoke("validate", "tiny", *options, "--json")
    assert done.exit_code == 1
    assert done.stderr == f"evalkit: error: {gone}: there is no such file\n"
    assert [report["model"] for report in json.loads(done.stdout)] == ["bad", "right"]
    rows = [json.loads(line) for line in written.read_text().splitlines()]
    assert [row["model"] for row in rows] == ["bad"] * len(STATUSES)
    assert [(row["status"], row["line"], row["id"]) for row in rows] == STATUSES


@pytest.mark.parametrize("command", ["validate", "eval"])
def test_errors_call_the_standard_input_by_its_name(
    invoke: Invoke, command: str
) -> None:
    done = invoke(command, "tiny", "-p", "-", input="positive\n")
    assert done.exit_code == 1
    assert done.stderr.startswith("evalkit: error: standard input: plain lines are ")
