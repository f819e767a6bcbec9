"""`rescore`, `merge` and `verify` work from run folders alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from edited_runs import forge, read_everything, write_record

from evalkit_cli.main import cli
from evalkit_cli.options.completion import complete_runs

from .test_run_schema import problems

Invoke = Callable[..., Result]
Write = Callable[..., str]

THREE = ("positive", "negative", "positive", "positive")


@pytest.fixture(autouse=True)
def _plugins(plugins: Any) -> None:
    """All tests here use the plugins of conftest.py."""


@pytest.fixture
def made(invoke: Invoke, predict: Write, tmp_path: Path) -> Path:
    """Make a run of accuracy, and delete its predictions."""
    file = predict("three.jsonl", THREE)
    done = invoke("eval", "tiny", "-p", file, "-m", "accuracy", "-q")
    assert done.exit_code == 0, done.stderr
    (tmp_path / file).unlink()
    return only_run(tmp_path)


def only_run(folder: Path) -> Path:
    [run] = folder.glob("runs/*/*/run.json")
    return run.parent


def scores_of(record: Any) -> dict[str, Any]:
    return {
        score["metric"]: score["value"]
        for score in record["scores"]
        if score["tag"] is score["aggregate"] is None
    }


# rescore


def test_a_metric_is_added_in_a_new_run(invoke: Invoke, made: Path) -> None:
    before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    done = invoke("rescore", made.name[-8:-2], "-m", "macro-f1", "-j", "2")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "tiny (sentiment, split test): three"
    # F1: positive 2*2/(2+3), negative 1, neutral 0
    assert lines[4].split()[:3] == ["macro-f1", "60", "%"]
    new_id = lines[-1].split()[2].rstrip(",")
    assert lines[-1] == f"new run {new_id}, parent {made.name[-8:]}"
    [new] = made.parent.glob(f"*-{new_id}")
    record = read_everything(new)
    assert record["parent"].startswith(made.name[-8:])
    assert scores_of(record) == {"accuracy": 0.75, "macro-f1": pytest.approx(0.6)}
    assert problems(record) == []
    after = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("latest",), 2, "name a metric (-m NAME)"),
        (("latest", "-m", "accuracy"), 1, "holds accuracy already"),
        (("latest", "-m", "acuracy"), 1, "there is no metric 'acuracy'"),
        (("nothing", "-m", "macro-f1"), 1, "there is no run 'nothing'"),
        (("latest", "-m", "macro-f1", "-j", "0"), 2, "Invalid value for '-j'"),
    ],
)
@pytest.mark.slow
def test_wrong_rescoring_says_why(
    invoke: Invoke, made: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    done = invoke("rescore", *arguments)
    assert done.exit_code == code
    assert words in done.stderr
    assert "Traceback" not in done.output


# merge


@pytest.fixture
def parts(invoke: Invoke, predict: Write, tmp_path: Path) -> list[str]:
    """Make a run of each half of the data."""
    file = predict("three.jsonl", THREE)
    found = []
    for topic in ("film", "food"):
        done = invoke(
            *("eval", "tiny", "-p", file, "-m", "accuracy", "-m", "macro-f1"),
            *("--filter", f"topic={topic}", "--json"),
        )
        found.append(json.loads(done.stdout)["fingerprint"])
    return found


@pytest.mark.slow
def test_parts_become_the_whole(
    invoke: Invoke, parts: list[str], predict: Write, tmp_path: Path
) -> None:
    done = invoke("merge", *parts, "-v")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    merged_id = lines[-1].split()[2].rstrip(",")
    first, second = (part[:8] for part in sorted(parts))
    assert lines[-1] == f"new run {merged_id}, merged from {first}, {second}"
    [path] = (tmp_path / "runs" / "tiny").glob(f"*-{merged_id}/run.json")
    merged = read_everything(path.parent)
    assert problems(merged) == []
    assert merged["merged"] == sorted(parts)
    # nobody knows that these parts are all there is
    assert merged["status"] == "partial"
    assert "notice: the parts hold only some examples of their data; there may be " in (
        done.stdout
    )
    assert "unselected" not in merged["counts"]
    file = predict("three.jsonl", THREE)
    arguments = ("eval", "tiny", "-p", file, "-m", "accuracy", "-m", "macro-f1")
    whole = json.loads(invoke(*arguments, "--json").stdout)
    names = ("metric", "tag", "aggregate", "n")
    numbers = ("value", "se", "ci_low", "ci_high", "p_value")

    def told(record: Any) -> Any:
        return {
            tuple(score[name] for name in names): [score[name] for name in numbers]
            for score in record["scores"]
        }

    expected = told(whole)
    assert told(merged).keys() == expected.keys()
    for key, values in told(merged).items():
        assert values == pytest.approx(expected[key], abs=1e-12), key


def test_a_merged_run_gets_the_names_it_is_given(
    invoke: Invoke, parts: list[str]
) -> None:
    done = invoke(
        "merge", *parts, "--dataset", "all-of-it", "--model", "ours", "--json"
    )
    record = json.loads(done.stdout)
    assert (record["dataset"], record["model"]) == ("all-of-it", "ours")


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_runs_are_wrong_usage(
    invoke: Invoke, parts: list[str], count: int
) -> None:
    done = invoke("merge", *parts[:count])
    assert done.exit_code == 2
    assert "name at least two runs" in done.stderr


# verify


def test_a_run_agrees_with_itself(invoke: Invoke, made: Path) -> None:
    record = read_everything(made)
    done = invoke("verify", "latest")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines == [
        f"three ({made.name[-8:]}): {len(record['scores'])} scores computed again, "
        "all the same within 1e-9",
        "no version and no source code that was compared has changed",
        "the data is what it was",
        "the predictions were not compared: no file of them was given",
    ]
    assert len(record["scores"]) == 4  # all, two tags, and their mean
    quiet = invoke("verify", made.name[-8:], "-q", "-j", "2").stdout.splitlines()
    assert quiet == done.stdout.splitlines()[:1]
    found = json.loads(invoke("verify", str(made), "--json").stdout)
    assert found == {
        "run_id": made.name[-8:],
        "scores": 4,
        "differences": [],
        "unverified": {},
        "changes": [],
        "data": "same",
        "unchecked": [],
        "agrees": True,
        "model": "three",
        "predictions": "not compared: no file of them was given",
    }


def test_predictions_are_compared_with_those_of_the_run(
    invoke: Invoke, made: Path, predict: Write
) -> None:
    same = predict("again.jsonl", THREE)
    done = invoke("verify", "latest", "-p", same)
    assert done.exit_code == 0, done.output
    assert "the predictions are what they were" in done.stdout.splitlines()
    other = predict("other.jsonl", THREE[:2])
    done = invoke("verify", "latest", "--predictions", other)
    assert done.exit_code == 1
    assert (
        "the predictions are not those that the run was made from"
        in done.stdout.splitlines()
    )
    done = invoke("verify", "latest", "-p", "nowhere.jsonl")
    assert done.exit_code == 1
    assert "nowhere.jsonl" in done.stderr


def rewrite(run: Path, change: Callable[[Any], None]) -> None:
    record = read_everything(run)
    change(record)
    write_record(run, record)
    forge(run)


def test_other_numbers_are_shown_and_fail(invoke: Invoke, made: Path) -> None:
    def change(record: Any) -> None:
        record["scores"][0]["value"] = 0.8
        record["scores"][1]["ci_low"] = None

    rewrite(made, change)
    done = invoke("verify", "latest")
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[0] == (
        f"three ({made.name[-8:]}): 4 scores computed again, 2 of them with other "
        "numbers"
    )
    rows = [line.split() for line in lines[2:5]]
    assert rows[0] == ["metric", "of", "field", "stored", "computed"]
    assert rows[1] == ["accuracy", "all", "examples", "value", "0.8", "0.75"]
    assert rows[2][:4] == ["accuracy", "topic:film", "ci_low", "–"]
    assert (
        "no version and no source code that was compared has changed: the run folder "
        "may have been edited"
    ) in lines
    found = json.loads(invoke("verify", "latest", "--json").stdout)
    assert found["agrees"] is False
    assert [row["field"] for row in found["differences"]] == ["value", "ci_low"]


# all three


@pytest.mark.parametrize("name", ["rescore", "merge", "verify"])
def test_runs_are_completed_and_help_has_examples(
    invoke: Invoke, made: Path, name: str
) -> None:
    command = cli.commands[name]
    [argument] = [p for p in command.params if p.param_type_name == "argument"]
    context = command.make_context(name, [], resilient_parsing=True)
    items = argument.shell_complete(context, made.name[-8:-5])
    assert [item.value for item in items] == [made.name[-8:]]
    assert complete_runs(context, argument, "la")[0].value == "latest"
    shown = invoke(name, "--help").stdout
    assert f"\n    evalkit {name} " in shown
    assert "Exit codes:" in shown


@pytest.mark.parametrize("name", ["rescore", "merge", "verify"])
@pytest.mark.slow
def test_plugins_that_print_do_not_spoil_json(
    invoke: Invoke, fake_distribution: Callable[..., Any], predict: Write, name: str
) -> None:
    fake_distribution(
        "def get_loud(predictions, targets):\n    print('hello')\n    return 1.0\n",
        {"evalkit.metrics": {"loud": "get_loud", "louder": "get_loud"}},
        name="loud",
    )
    file = predict("three.jsonl", THREE)
    runs = []
    for topic in ("film", "food"):
        done = invoke(
            *("eval", "tiny", "-p", file, "-m", "loud", "--json"),
            *("--filter", f"topic={topic}"),
        )
        runs.append(json.loads(done.stdout)["fingerprint"])
    arguments = {
        "rescore": (runs[0], "-m", "louder"),
        "merge": runs,
        "verify": runs[:1],
    }[name]
    done = invoke(name, *arguments, "--json")
    assert isinstance(json.loads(done.stdout), dict)
    assert "hello" in done.stderr
