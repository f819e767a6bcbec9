"""Judges on the command line, declared in files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evalkit_cli.main import cli

JUDGE = """
model = "echo"
rubric = "Does the label fit?"

[prompt]
user = "{rubric} {statement} <v>{response}</v>"

[verdict]
kind = "label"
tag = "v"
values = { positive = 1, negative = 0, neutral = 0.5 }
"""

PAIR = """
model: echo
rubric: Which fits better?
prompt:
  user: "{rubric} {statement} {first} {second} [[A]]"
verdict: {kind: pair}
pair: {}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    labels = ["positive", "negative", "neutral"]
    rows = ({"id": f"sent-{n:03}", "label": labels[n % 3]} for n in range(1, 136))
    Path("said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("fits.toml").write_text(JUDGE)
    Path("better.yaml").write_text(PAIR)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["eval", "sample-sentiment", *arguments])


def record(*arguments: str) -> Any:
    done = call("-p", "said.jsonl", "--json", *arguments)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def score(run: Any, name: str) -> float:
    of_all = (s for s in run["scores"] if s["metric"] == name and s["tag"] is None)
    return float(next(s["value"] for s in of_all if s["aggregate"] is None))


@pytest.mark.slow
def test_a_file_declares_a_judge() -> None:
    run = record("--annotate", "fits.toml")
    assert score(run, "judge-rate:of=fits") == 0.5
    assert run["status"] == "complete"
    named = record("--annotate", "labels=fits.toml", "--concurrency", "2")
    assert score(named, "judge-rate:of=labels") == 0.5
    assert named["fingerprint"] != run["fingerprint"]
    limited = record("--annotate", "fits.toml", "--max-errors", "3%")
    assert limited["fingerprint"] == run["fingerprint"]


@pytest.mark.slow
def test_pairs_are_compared_with_a_run() -> None:
    first = record()
    run = record("--annotate", "better.yaml", "--against", first["fingerprint"])
    assert run["against"] == first["fingerprint"]
    assert score(run, "judge-rate:of=better") == 0.5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"echo"', '"ehco"', "fits.toml: model: there is no model 'ehco'"),
        ("{statement}", "{statemnt}", "fits.toml: prompt.user reads the field"),
        (
            '"label"',
            '"lable"',
            "fits.toml: .*verdict.kind must be 'label', .*, got 'lable'",
        ),
        ("negative = 0,", 'negative = "no",', "negative must be a valid number"),
        ("[prompt]", "[asking]\nretires = 1\n[prompt]", "did you mean 'retries'"),
        ("rubric =", "rubic =", "fits.toml: rubic: .* did you mean 'rubric'"),
        ("[prompt]", "[prompt", "fits.toml: invalid TOML"),
        ("[verdict]", "annotator = 3\n[verdict]", "fits.toml: prompt.annotator: "),
    ],
)
def test_what_is_wrong_is_named_with_its_file(old: str, new: str, message: str) -> None:
    import re

    Path("fits.toml").write_text(JUDGE.replace(old, new))
    done = call("-p", "said.jsonl", "--annotate", "fits.toml")
    assert done.exit_code == 1
    assert re.search(message, done.stderr), done.stderr
    assert not Path("runs").exists()


def test_a_judge_that_cannot_be_asked_is_named_with_its_file_and_model() -> None:
    dead = 'model = "openai:model=m,base_url=http://127.0.0.1:9/v1"'
    Path("fits.toml").write_text(JUDGE.replace('model = "echo"', dead))
    for more in ((), ("-q",)):
        done = call(
            "-p", "said.jsonl", "--annotate", "fits.toml", "--retries", "0", *more
        )
        assert done.exit_code == 1
        start = "evalkit: error: fits.toml: the judge openai:model=m,base_url="
        assert start in done.stderr
        assert "no connection" in done.stderr
    assert not Path("runs").exists()


@pytest.mark.slow
def test_a_run_that_lacks_a_verdict_is_found_by_its_name_and_said_so() -> None:
    Path("fits.toml").write_text(JUDGE.replace("positive = 1, ", ""))
    done = call("-p", "said.jsonl", "--annotate", "fits.toml")
    assert "45 without judge-rate:of=fits; the run is partial" in done.stdout
    shown = CliRunner().invoke(cli, ["show", "said"])
    assert "partial: a metric did not score all responses" in shown.stderr
    assert "judge-rate:of=fits" in shown.stdout
    board = CliRunner().invoke(cli, ["leaderboard"])
    assert "partial, as a metric did not score all responses" in board.output
    call("-p", "other=said.jsonl", "--limit", "5")
    assert CliRunner().invoke(cli, ["show", "other"]).exit_code == 2


def test_what_a_judge_will_hardly_say_is_warned_of_before_it_is_asked() -> None:
    text = JUDGE.replace("{response}</v>", "{response}</v> or <v>negative</v>")
    Path("fits.toml").write_text(text.replace("neutral = 0.5", "strange = 0.5"))
    done = call("-p", "said.jsonl", "--annotate", "fits.toml", "--limit", "1")
    said = (
        "evalkit: warning: fits.toml: verdict.values: 'positive', 'strange' stand nei"
    )
    assert said in done.stderr
    assert "fits: no verdict is 'strange' or 'positive'" not in done.stdout
    Path("better.yaml").write_text(PAIR.replace("[[A]]", "A"))
    done = call("-p", "said.jsonl", "--annotate", "better.yaml")
    assert "verdict.marks: '[[A]]', '[[B]]', '[[C]]' stand neither" in done.stderr


@pytest.mark.slow
def test_a_dry_run_shows_what_would_be_asked_and_asks_nothing() -> None:
    dead = """prices = { input = 2, output = 4 }
model = "openai:model=m,base_url=http://127.0.0.1:9/v1"
generate = { max_tokens = 10 }"""
    Path("fits.toml").write_text(JUDGE.replace('model = "echo"', dead))
    arguments = ("-p", "said.jsonl", "--annotate", "fits.toml", "--dry-run")
    done = call(*arguments)
    assert done.exit_code == 0, done.output
    assert "Does the label fit?" in done.stdout
    assert done.stdout.count("request") == 3
    assert "fits: 135 requests about 135 responses of which no verdict" in done.stderr
    assert "at most 1,350 of output" in done.stderr
    assert not Path("runs").exists()
    plan = json.loads(call(*arguments, "--json").stdout)
    assert plan["output_cost_most"] == 1350 * 4 / 1e6
    assert call("-p", "said.jsonl", "--dry-run").exit_code == 2


def test_a_dry_run_asks_no_annotator_that_is_no_judge(
    fake_distribution: Callable[..., Any],
) -> None:
    code = """
import evalkit, pathlib
class Asks(evalkit.Annotator):
    version = "1"
    columns = ("seen",)
    metrics = ()
    def annotate_example(self, prediction):
        pathlib.Path("asked").touch()
        return evalkit.Annotation({"seen": prediction})
class Seen(evalkit.Metric):
    columns = ("asks.seen",)
    bounds = (0, 1)
    def score_example(self, fields):
        return 1.0
"""
    points = {"evalkit.annotators": {"asks": "Asks"}, "evalkit.metrics": {"sn": "Seen"}}
    fake_distribution(code, points, name="asking")
    Path("asks.toml").write_text('annotator = "asks"')
    given = ("-p", "said.jsonl", "--annotate", "fits.toml", "--dry-run")
    done = call(*given, "-m", "sn")
    assert "fits: 135 requests about 135 responses" in done.stderr, done.output
    refused = call(*given, "--annotate", "asks.toml")
    assert refused.exit_code == 2
    assert "asks.toml declares the annotator 'asks'" in refused.stderr
    assert not Path("asked").exists()


def test_two_files_of_one_name_are_refused() -> None:
    done = call(
        "-p", "said.jsonl", "--annotate", "fits.toml", "--annotate", "fits.toml"
    )
    assert done.exit_code == 2
    assert "write NAME=fits.toml" in done.stderr


def test_what_is_no_declaration_is_refused() -> None:
    Path("list.json").write_text("[]")
    done = call("-p", "said.jsonl", "--annotate", "list.json")
    assert done.exit_code == 1
    assert "list.json: it must hold an object" in done.stderr
    assert "no_file.toml" in call("--annotate", "no_file.toml").stderr
