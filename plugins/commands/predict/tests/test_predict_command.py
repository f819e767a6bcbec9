"""`evalkit predict`, and `evalkit eval --model`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy
import pytest
from click.testing import CliRunner, Result

from evalkit_cli.main import cli
from evalkit_models_base import Model, predict

CODE = """
import json, time
from pathlib import Path

def answer(inputs):
    return ["positive" if "!" in row["statement"] else "neutral" for row in inputs]

def response(inputs):
    return [{"label": "neutral", "prob": PROB} for _ in inputs]

def failing(inputs):
    raise ValueError("a bug")

PROB = {"positive": 0.2, "neutral": 0.5, "negative": 0.3}
"""


MARKS = """
def marks(inputs):
    Path("asked.txt").touch()
    return answer(inputs)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    Path("mine.py").write_text(CODE)
    return tmp_path


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    labels = ("positive", "negative", "neutral")
    return [
        {"uid": str(n), "statement": f"text {n}", "label": labels[n % 3]}
        for n in range(12)
    ]


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def test_answers_are_written_beside_what_made_them(folder: Path) -> None:
    words = ("predict", "sample-sentiment", "--model", "mine.py:answer")
    done = call(*words, "-o", "mine.jsonl")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "135 rows written to mine.jsonl\n"
    system = json.loads(Path("mine.system.json").read_text())
    assert system["model"]["describes"] == {"name": "mine-answer"}
    assert set(json.loads(Path("mine.job.json").read_text())) == {"examples", "seconds"}
    again = call(*words, "-o", "mine.jsonl")
    assert (again.exit_code, "mine.jsonl is there already" in again.stderr) == (1, True)
    assert call(*words, "-o", "mine.jsonl", "--overwrite").exit_code == 0
    Path("mine.jsonl").unlink()
    again = call(*words, "-o", "mine.jsonl")
    assert "mine.system.json is there already" in again.stderr


@pytest.mark.slow
def test_the_run_is_the_same_by_one_command_or_by_two(folder: Path) -> None:
    words = ("sample-sentiment", "--model", "mine.py:answer")
    assert call("predict", *words, "-o", "any-name.jsonl").exit_code == 0
    two = call("eval", "sample-sentiment", "-p", "mine-answer=any-name.jsonl", "--json")
    one = call("eval", *words, "--json")
    assert one.exit_code == 0, one.stderr
    first, second = json.loads(two.stdout), json.loads(one.stdout)
    assert first["fingerprint"] == second["fingerprint"]
    assert second["model"] == "mine-answer"
    assert second["predictions"]["system"]["model"]["function"] == "answer"
    Path("mine.py").write_text(CODE.replace("!", "?"))
    other = json.loads(call("eval", *words, "--json").stdout)
    assert other["fingerprint"] != first["fingerprint"]


def test_other_predictions_are_not_taken_for_what_a_system_said(folder: Path) -> None:
    words = ("predict", "sample-sentiment", "--model", "mine.py:answer")
    assert call(*words, "-o", "mine.jsonl").exit_code == 0
    with Path("mine.jsonl").open("a") as stream:
        stream.write("\n")
    done = call("eval", "sample-sentiment", "-p", "mine.jsonl")
    assert done.exit_code == 1
    assert "mine.system.json: tells of other predictions than mine.js" in done.stderr
    Path("mine.system.json").unlink()
    assert call("eval", "sample-sentiment", "-p", "mine.jsonl").exit_code == 0


@pytest.mark.slow
def test_several_models_are_asked_side_by_side(folder: Path) -> None:
    done = call(
        *("eval", "sample-sentiment", "--model", "mine.py:answer", "-q"),
        *("--model", "constant:answer=positive"),
    )
    assert done.exit_code == 0, done.stderr
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == ["model", "mine-answer", "mine-answer", "constant", "constant"]
    twice = call("eval", "sample-sentiment", *["--model", "mine.py:answer"] * 2)
    both = "two models are called 'mine-answer': mine.py:answer and mine.py:answer"
    assert both in " ".join(twice.stderr.split())
    named = call(
        *("eval", "sample-sentiment", "--model", "mine.py:answer"),
        *("--model-name", "best", "--json"),
    )
    assert json.loads(named.stdout)["model"] == "best"


def test_models_of_one_name_are_refused_before_any_is_asked(folder: Path) -> None:
    for name in ("asked", "other"):
        Path(f"{name}.py").write_text(f"{CODE}\n{MARKS}")
        Path(name).mkdir()
        Path(name, "mine.py").write_text(f"{CODE}\n{MARKS}")
    models = ("--model", "asked/mine.py:marks", "--model", "other/mine.py:marks")
    refused = call("eval", "sample-sentiment", *models)
    assert refused.exit_code == 2
    said = " ".join(refused.stderr.split())
    assert "asked/mine.py:marks and other/mine.py:marks" in said
    assert "--model-name" in said
    assert not Path("asked.txt").exists()
    secret = ("--model", "openai:model=m,api_key_variable=AKIA01")
    shown = call("eval", "sample-sentiment", *secret, *secret)
    assert "two models are called 'm'" in shown.stderr
    assert "AKIA01" not in shown.stderr
    once = call("eval", "sample-sentiment", "--model", "asked.py:marks", "-q")
    assert (once.exit_code, Path("asked.txt").exists()) == (0, True)


@pytest.mark.slow
def test_several_data_sets_are_asked_about(folder: Path) -> None:
    Path("both.py").write_text("def answer(inputs): return ['neutral'] * len(inputs)\n")
    several = ("sample-nli", "sample-sentiment")
    models = ("--model", "both.py:answer", "--model", "constant:answer=neutral")
    done = call("eval", *several, *models, "--json")
    assert done.exit_code == 0, done.stderr
    records = json.loads(done.stdout)
    assert [(each["dataset"], each["model"]) for each in records] == [
        (name, model) for name in several for model in ("both-answer", "constant")
    ]
    alone = call("eval", "sample-nli", *models[:2], "--json")
    assert json.loads(alone.stdout)["fingerprint"] == records[0]["fingerprint"]
    Path("copies.jsonl").touch()
    for wrong, message in (
        (("sample-nli", "sample-nli", *models), "sample-nli is named twice"),
        ((*several, "-p", "x.jsonl"), "-p names predictions on one data set"),
        ((*several, *models[:2], "--perturbed", "copies.jsonl"), "a single data set"),
        ((*several, "--data", "x.jsonl"), "name a data set"),
        ((*several, "--predictions-dir", "."), "--predictions-dir"),
    ):
        refused = call("eval", *wrong)
        assert (refused.exit_code, message in refused.stderr) == (2, True), wrong
    unknown = call("eval", "sample-nli", "sample-nlo", "--model", "mine.py:failing")
    assert (unknown.exit_code, "did you mean sample-nli" in unknown.stderr) == (1, True)


@pytest.mark.slow
def test_copies_are_asked_about_too(folder: Path) -> None:
    lower = ("perturb", "sample-sentiment", "--perturbation", "lowercase")
    assert call(*lower, "-o", "low.jsonl").exit_code == 0
    words = ("eval", "sample-sentiment", "--model", "mine.py:answer")
    done = call(*words, "--perturbed", "low.jsonl", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["perturbed"][0]["predictions"]["system"]["model"]["function"]
    part = call(*words, "--perturbed", "low.jsonl", "-n", "10", "--json")
    assert part.exit_code == 0, part.stderr
    assert json.loads(part.stdout)["perturbed"][0]["counts"]["examples"] == 10


def test_the_prompts_extractor_is_used_unless_the_user_names_one(folder: Path) -> None:
    asked = call("eval", "sample-sentiment", "--model", "echo", "--json")
    found = json.loads(asked.stdout)
    assert [each["kind"] for each in found["extraction"]["stages"]] == ["labels"]
    assert found["predictions"]["system"]["extract"] == "labels"
    shown = call("show", "latest").stdout + call("show", "latest").stderr
    assert "asked echo by the prompt 'default'" in shown
    own = call(
        *("eval", "sample-sentiment", "--model", "echo", "--json"),
        *("--extract", "regex:Sentiment"),
    )
    found = json.loads(own.stdout)
    assert [each["kind"] for each in found["extraction"]["stages"]] == ["regex"]


def test_a_dry_run_asks_nothing(folder: Path) -> None:
    done = call("predict", "sample-nli", "--model", "echo", "--dry-run")
    assert done.exit_code == 0, done.stderr
    assert "request 3:" in done.stdout
    assert "Context: Marta sprinted down" in done.stdout
    assert "90 requests, about " in done.stderr
    assert not (folder / "cache").exists()
    found = call("predict", "sample-nli", "--model", "echo", "--dry-run", "--json")
    assert json.loads(found.stdout)["requests"] == 90


def test_a_dry_run_of_an_evaluation_asks_and_scores_nothing(folder: Path) -> None:
    Path("mine.py").write_text(f"{CODE}\n{MARKS}")
    both = ("--model", "echo", "--model", "mine.py:marks", "--fail-under", "accuracy=1")
    sets = ("sample-nli", "sample-sentiment")
    found = call("eval", *sets, *both, "--limit", "5", "--dry-run", "--json")
    assert found.exit_code == 0, found.stderr
    plans = json.loads(found.stdout)
    assert [each["title"] for each in plans] == [
        f"{model} on {name}" for name in sets for model in ("echo", "mine.py:marks")
    ]
    one = call(
        "predict", "sample-nli", *both[:2], "--limit", "5", "--dry-run", "--json"
    )
    assert json.loads(one.stdout).items() <= plans[0].items()
    shown = call("eval", *sets, *both, "--limit", "5", "--dry-run")
    assert "echo on sample-nli: request 1:" in shown.stdout
    assert shown.stderr.count("; nothing was asked\n") == 4
    assert not {"asked.txt", "runs", "cache"} & {each.name for each in folder.iterdir()}
    refused = call("eval", "sample-nli", "--dry-run")
    assert "give --model" in refused.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("predict sample-nli --model echo", 2, "either -o FILE or --dry"),
        ("predict sample-nli -o x.jsonl", 2, "Missing option '--model'"),
        ("predict sample-nli --model echo -o x.csv", 1, "written as JSON lines"),
        (
            "predict sample-nli --model echo -o no/x.jsonl",
            1,
            "no: there is no such folder",
        ),
        ("predict sample-nli --model ekko -o x.jsonl", 1, "there is no model 'ekko'"),
        (
            "predict sample-nli --model none.py:f -o x.jsonl",
            1,
            "none.py: cannot be read: No such file or directory",
        ),
        (
            "predict sample-nli --model mine.py:none -o x.jsonl",
            1,
            "mine.py: there is no 'none' in it; it has answer",
        ),
        (
            "predict sample-sentiment --model mine.py:failing -o x.jsonl",
            1,
            "predict failed for the input 'sent-001' with ValueError: a bug (mine.py:",
        ),
        (
            "predict sample-nli --model echo -o x.jsonl --max-errors x",
            2,
            "'x' is neither a whole number nor a share",
        ),
        (
            "predict sample-nli --model echo -o x.jsonl --generate hot",
            2,
            "'hot' is no KEY=VALUE",
        ),
        (
            "predict sample-nli --model echo -o x.jsonl --generate heat=1",
            1,
            "default, with --generate: there is no key 'generate.heat'",
        ),
        (
            "predict sample-nli --model echo -o x.jsonl --prompt other",
            1,
            "tasks/nli has no prompt 'other'; it has 'default'",
        ),
        (
            "eval sample-nli --model nobody",
            1,
            "to name the model of a file, add -p FILE",
        ),
        ("eval sample-nli --model-name x", 2, "for a model that is asked"),
        (
            "eval sample-nli --model echo --perturbed x.jsonl --replications 2",
            2,
            "leave out --trials and --replications",
        ),
        (
            "predict sample-nli --model echo --shots 2 --dry-run",
            1,
            "default: shots.source is missing",
        ),
    ],
)
def test_wrong_words_are_refused(words: str, code: int, message: str) -> None:
    done = call(*words.split())
    assert (done.exit_code, message in done.stderr) == (code, True), done.stderr
    assert not Path("x.jsonl").exists()


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--concurrency", ("--concurrency", "3")),
        ("--retries", ("--retries", "5")),  # the default, and yet asked for
        ("--timeout", ("--timeout", "3")),
        ("--max-errors", ("--max-errors", "3")),
        ("--requests-per-minute", ("--requests-per-minute", "3")),
        ("--tokens-per-minute", ("--tokens-per-minute", "3")),
        ("--token-limit", ("--token-limit", "3")),
        ("--cost-limit", ("--cost-limit", "3")),
        ("--no-cache", ("--no-cache",)),
        ("--cache", ("--cache",)),
        ("--prompt", ("--prompt", "default")),
        ("--generate", ("--generate", "max_tokens=3")),
        ("--shots", ("--shots", "3")),
        ("--trials", ("--trials", "1")),
        ("--replications", ("--replications", "3")),
        ("--price", ("--price", "input=1,output=2")),
    ],
)
def test_options_of_asking_are_refused_where_nobody_is_asked(
    option: str, words: tuple[str, ...]
) -> None:
    files = ("-p", "x.jsonl"), ("-p", "x.jsonl", "--model", "x"), ()
    for given in (*files, ("--predictions-dir", ".")):
        name = () if "--predictions-dir" in given else ("sample-sentiment",)
        done = call("eval", *name, *given, *words)
        assert done.exit_code == 2, done.stderr
        assert f"Error: {option} is for a model that is asked" in done.stderr
    says_what_is_asked = {"--prompt", "--generate", "--shots", "--trials", "--price"}
    if option in says_what_is_asked | {"--replications"}:
        return
    asked = ("predict", "sample-nli", "--model", "echo", "--dry-run")
    done = call(*asked, *words)
    assert done.exit_code == 2, done.stderr
    assert f"Error: {option} means nothing with --dry-run" in done.stderr


def test_a_dry_run_says_what_it_may_cost() -> None:
    words = ("predict", "sample-nli", "--model", "echo", "--dry-run")
    done = call(*words, "--price", "input=1,output=10,currency=EUR")
    assert done.stderr == (
        "90 requests, about 6,446 tokens of input, at most 1,440 of output, about "
        "0.006446 for the input, at most 0.0144 for the output (EUR); nothing was "
        "asked\n"
    )


@pytest.mark.parametrize(
    ("served", "name"),
    [
        ("llama3:8b", "llama3-8b"),
        ("http://127.0.0.1:8080/predict", "127.0.0.1-8080/predict"),
        ("a@b=c", "a-b-c"),
        ("meta/Llama-3.1", "meta/Llama-3.1"),
    ],
)
def test_a_served_name_means_nothing_else_in_runs(
    served: str, name: str, rows: list[dict[str, Any]]
) -> None:
    class Named(Model):
        def describe(self) -> dict[str, str]:
            return {"name": served}

        def predict(self, inputs: Any) -> list[str]:
            return ["neutral"] * len(inputs)

    found = predict(data=rows, task="sentiment", model=Named())
    assert found.model == name
    assert found.system["model"]["describes"]["name"] == served


SLOW = """
import asyncio, signal, sys
from evalkit_models_base import Model, predict, text_reply

# a shell has what runs in its background ignore it
signal.signal(signal.SIGINT, signal.default_int_handler)

class Slow(Model):
    abilities = ("text",)
    concurrency = 2
    uses_network = True

    def describe_request(self, request):
        return request.model_dump(mode="json")

    async def ask(self, request):
        await asyncio.sleep(0.02)
        print("asked", file=sys.stderr, flush=True)
        return text_reply("neutral")

predict("sample-sentiment", Slow()).save("slow.jsonl")
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.slow
def test_a_process_that_was_killed_goes_on_where_it_was(
    folder: Path, sent: signal.Signals
) -> None:
    Path("slow.py").write_text(SLOW)
    command = [sys.executable, "slow.py"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for _ in range(40):
        process.stderr.readline()
    os.kill(process.pid, sent)
    started = time.monotonic()
    process.communicate(timeout=20)
    assert time.monotonic() - started < 10
    assert not Path("slow.jsonl").exists()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    asked = done.stderr.count("asked")
    # the last ones of the killed process may have been answered and not kept
    assert 135 - 40 - 4 <= asked <= 135 - 40 + 6
    assert len(Path("slow.jsonl").read_text().splitlines()) == 135


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("predict", "-o", "x.jsonl"), "the replies so far are not kept"),
        (("eval", "--no-cache"), "the replies so far are not kept"),
    ],
)
@pytest.mark.slow
def test_an_interrupt_says_what_became_of_the_replies(
    folder: Path, words: tuple[str, ...], said: str
) -> None:
    Path("slow.py").write_text(CODE_OF_SLOW)
    command = [sys.executable, "-m", "evalkit_cli", words[0], "sample-sentiment"]
    process = subprocess.Popen(
        [*command, "--model", "slow.py:answer", *words[1:]],
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not Path("asked.txt").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=20)
    assert process.returncode == 130
    assert told.startswith("evalkit: interrupted; what was not finished")
    assert said in told.splitlines()[1]
    assert not Path("x.jsonl").exists()


CODE_OF_SLOW = """
import time
from pathlib import Path

def answer(inputs):
    Path("asked.txt").touch()
    time.sleep(0.5)
    return ["neutral"] * len(inputs)
"""


def test_what_is_unknown_beside_the_model_is_not_called_a_model(folder: Path) -> None:
    done = call("eval", "no-model-set", "--model", "echo")
    assert done.exit_code == 1
    assert "no-model-set" in done.stderr
    assert "add -p FILE" not in done.stderr


def test_a_file_of_python_may_hold_data_classes_and_does_not_end_evalkit() -> None:
    Path("typed.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "@dataclass\n"
        "class Said:\n"
        "    text: str\n"
        "def answer(inputs):\n"
        "    return [Said('neutral').text for _ in inputs]\n"
    )
    words = ("predict", "sample-sentiment", "-o", "typed.jsonl")
    done = call(*words, "--model", "typed.py:answer")
    assert (done.exit_code, Path("typed.jsonl").exists()) == (0, True)
    Path("ending.py").write_text("raise SystemExit(0)\n")
    done = call(*words, "--overwrite", "--model", "ending.py:answer")
    assert done.exit_code == 1
    assert "ending.py: running it failed with SystemExit" in done.stderr


def test_answers_of_numpy_and_halves_of_characters_are_written() -> None:
    rows = [{"uid": "1", "statement": "x", "label": "neutral"}]

    def answer(inputs: Any) -> list[Any]:
        return [{"label": "half \ud83d", "conf": numpy.float32(0.5)} for _ in inputs]

    predicted = predict(data=rows, task="sentiment", model=answer)
    predicted.save("mine.jsonl")
    found = json.loads(Path("mine.jsonl").read_bytes())
    assert found == {"id": "1", "label": "half \ud83d", "conf": 0.5}


def test_texts_that_end_an_answer_may_be_tags() -> None:
    model = "echo"
    for given, stop in (("</s>", ["</s>"]), ("a/</b>/c", ["a", "</b>", "c"])):
        done = call(
            *("predict", "sample-sentiment", "--model", model, "--dry-run", "--json"),
            *("--generate", f"stop={given}"),
        )
        assert json.loads(done.stdout)["first"][0]["stop"] == stop
    done = call(
        *("predict", "sample-sentiment", "--model", model, "--dry-run"),
        *("--generate", "stop=//"),
    )
    assert (done.exit_code, "holds an empty text" in done.stderr) == (2, True)


def test_copies_are_asked_about_with_one_model() -> None:
    done = call(
        *("eval", "sample-sentiment", "--model", "mine.py:failing"),
        *("--model", "mine.py:answer", "--perturbed", "copies.jsonl"),
    )
    assert (done.exit_code, "ask one at a time" in done.stderr) == (2, True)


def test_what_should_be_known_of_asking_is_told_by_both_commands(folder: Path) -> None:
    rows = [
        {"uid": str(n), "statement": f"text {n}", "label": "neutral"} for n in range(3)
    ]
    shots = [{**rows[0], "uid": "a"}, {**rows[0], "uid": "b", "statement": "Fine."}]
    for name, lines in (("data.jsonl", rows), ("shots.jsonl", shots)):
        Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    prompt = {"query": "{statement}", "cue": "Label:", "extract": "labels"}
    prompt |= {"shots": {"source": "shots.jsonl", "count": 1}}
    Path("prompt.json").write_text(json.dumps(prompt))
    words = ("--data", "data.jsonl", "--task", "sentiment", "--model", "echo")
    told = "1 example of 'shots.jsonl' not shown, being asked too, by their id or text"
    asked = call("predict", *words, "--prompt", "prompt.json", "-o", "echo.jsonl")
    assert told in asked.stderr
    done = call("eval", *words, "--prompt", "prompt.json", "-m", "accuracy")
    assert (done.exit_code, done.stderr.count(told)) == (0, 1), done.stderr


@pytest.mark.parametrize(
    ("words", "statement"),
    [
        (("--map", "statement=text"), "mapped"),
        (("--adapter", "data=adapters.yaml"), "raw"),
        ((), "raw"),
    ],
)
@pytest.mark.slow
def test_what_is_asked_is_what_is_scored(
    words: tuple[str, ...], statement: str
) -> None:
    rows = [
        {"uid": str(n), "statement": "raw", "text": "mapped", "label": "neutral"}
        for n in range(3)
    ]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    Path("shown.jsonl").write_text(
        json.dumps({**rows[0], "uid": "s", "statement": "shown", "text": "seen"})
    )
    drop = "- {kind: Drop, configuration: {fields: [text]}}\n"
    Path("adapters.yaml").write_text(drop)
    Path("asked.py").write_text(
        "import json\n"
        "def answer(inputs):\n"
        "    with open('asked.jsonl', 'a') as stream:\n"
        "        for row in inputs: print(json.dumps(row), file=stream)\n"
        "    return ['neutral'] * len(inputs)\n"
    )
    given = ("--data", "rows.jsonl", "--task", "sentiment", *words)
    one = call("eval", *given, "--model", "asked.py:answer", "--json")
    assert one.exit_code == 0, one.stderr
    lines = Path("asked.jsonl").read_text().splitlines()
    assert [json.loads(line)["statement"] for line in lines] == [statement] * 3
    done = call("predict", *given, "--model", "asked.py:answer", "-o", "asked-2.jsonl")
    assert done.exit_code == 0, done.stderr
    two = call("eval", *given, "-p", "asked-answer=asked-2.jsonl", "--json")
    assert (
        json.loads(one.stdout)["fingerprint"] == json.loads(two.stdout)["fingerprint"]
    )
    prompt = {"query": "{statement}", "shots": {"source": "shown.jsonl", "count": 1}}
    Path("prompt.json").write_text(json.dumps(prompt))
    asked = ("--model", "echo", "--prompt", "./prompt.json", "--dry-run", "--json")
    shown = json.loads(call("predict", *given, *asked).stdout or "{}")
    assert statement in json.dumps(shown["first"])


@pytest.mark.slow
def test_adapters_of_copies_are_those_that_are_scored(folder: Path) -> None:
    lower = ("perturb", "sample-sentiment", "--perturbation", "lowercase")
    assert call(*lower, "-o", "low.jsonl").exit_code == 0
    copies = [json.loads(line) for line in Path("low.jsonl").read_text().splitlines()]
    renamed = [
        {"text" if name == "statement" else name: v for name, v in row.items()}
        for row in copies
    ]
    Path("text.jsonl").write_text("\n".join(map(json.dumps, renamed)))
    Path("back.yaml").write_text("- {kind: Rename, configuration: {text: statement}}\n")
    words = ("eval", "sample-sentiment", "--model", "mine.py:answer", "--json")
    plain = call(*words, "--perturbed", "low.jsonl")
    adapted = call(
        *words, "--perturbed", "text.jsonl", "--adapter", "perturbed=back.yaml"
    )
    assert adapted.exit_code == 0, adapted.stderr
    first, second = (json.loads(each.stdout) for each in (plain, adapted))
    assert first["scores"] == second["scores"]
    assert first["perturbed"][0]["counts"] == second["perturbed"][0]["counts"]


@pytest.mark.parametrize(
    ("model", "meant"),
    [
        ("mine:answer", "did you mean mine.py:answer?"),
        ("sub.mine:answer", "did you mean sub/mine.py:answer?"),
        ("./sub/mine:answer", "did you mean sub/mine.py:answer?"),
        ("other:answer", "FILE.py:FUNCTION, as other.py:answer"),
        ("ekho:x", "there is no model 'ekho'; did you mean echo?"),
        ("openai:tiny", "did you mean openai:model=tiny?"),
        ("openai:a,base_url=b", "did you mean openai:model=a,base_url=b?"),
        ("constant:neutral", "did you mean constant:answer=neutral?"),
        ("openai:model=a,base_ur=b", "did you mean base_url?"),
    ],
)
def test_what_may_be_meant_by_a_model_is_said(
    folder: Path, model: str, meant: str
) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "mine.py").write_text(CODE)
    done = call("predict", "sample-nli", "--model", model, "-o", "x.jsonl")
    assert (done.exit_code, meant in done.stderr) == (1, True), done.stderr


@pytest.mark.slow
def test_a_run_is_the_same_by_whatever_name_its_prompt_has(folder: Path) -> None:
    shot = {"uid": "shot", "statement": "Fine!", "label": "positive"}
    ids = []
    for name in ("a", "b"):
        prompt = {
            "query": "{statement}",
            "cue": "Is it?",
            "shots": {"source": f"{name}-shots.jsonl", "count": 1},
        }
        Path(f"{name}-shots.jsonl").write_text(json.dumps(shot))
        Path(f"{name}.json").write_text(json.dumps(prompt))
        words = ("eval", "sample-sentiment", "--model", "echo", "--limit", "3")
        done = call(*words, "--prompt", f"{name}.json", "--extract", "labels", "--json")
        assert done.exit_code == 0, done.stderr
        found = json.loads(done.stdout)
        ids.append(found["fingerprint"])
    assert found["predictions"]["system"]["prompt"]["name"] == "b.json"
    assert ids[0] == ids[1]
    text = Path("b.json").read_text().replace("Is it?", "It is?")
    Path("b.json").write_text(text)
    changed = call(*words, "--prompt", "b.json", "--extract", "labels", "--json")
    assert json.loads(changed.stdout)["fingerprint"] != ids[0]


@pytest.mark.slow
def test_several_data_sets_and_models_are_asked_at_once(folder: Path) -> None:
    sets = ("sample-nli", "sample-sentiment")
    one = ("--model", "constant:answer=neutral")
    done = call("predict", *sets, *one, "-o", "constant")
    assert done.exit_code == 0, done.stderr
    assert "135 rows written to constant/sample-sentiment.jsonl\n" in done.stderr
    scored = call("eval", "--predictions-dir", "constant", "--json")
    assert [each["dataset"] for each in json.loads(scored.stdout)] == [*sets]
    again = call("predict", *sets, *one, "-o", "constant")
    assert "constant/sample-nli.jsonl is there already" in again.stderr
    both = ("--model", "echo", *one, "--limit", "2", "-o", "both", "--json")
    found = json.loads(call("predict", *sets, *both).stdout)
    assert [(each["file"], each["rows"]) for each in found] == [
        (f"both/{model}/{name}.jsonl", 2)
        for model in ("echo", "constant")
        for name in sets
    ]
    alone = call("predict", sets[0], *one, "-o", "alone.jsonl", "-q")
    assert alone.exit_code == 0
    same = Path("alone.jsonl").read_bytes()
    assert Path("constant/sample-nli.jsonl").read_bytes() == same


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "echo", "-o", "x.jsonl"), "x.jsonl is called like a file"),
        (("--model", "echo", "-o", "mine.py"), "mine.py is no folder"),
        (("--model", "echo", "--model", "echo", "-o", "x"), "both echo on sample-nli"),
    ],
)
def test_places_that_do_not_do_are_refused_before_asking(
    folder: Path, words: tuple[str, ...], said: str
) -> None:
    done = call("predict", "sample-nli", "sample-sentiment", *words)
    assert (done.exit_code, said in done.stderr) == (1, True), done.stderr
    assert not (folder / "x").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "--model", "openai:model=m,api_key_variable=SECRET01,tiny"),
        ("predict", "--model", "openai:model=m,api_key=SECRET01,api_key=SECRET01"),
        ("predict", "--model", "openai:tiny,api_key_variable=SECRET01"),
        ("predict", "--model", "openai:model=m,api_key_variable=SECRET01", "--dry-run"),
        ("eval", "--model", "openai:model=m,api_key_variable=SECRET01", "--dry-run"),
        ("eval", "--model", "openai:model=m,api_key_variable=SECRET01"),
    ],
)
def test_a_key_in_the_name_of_a_model_is_never_shown(
    folder: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_TRACEBACK", "1")
    more = () if words[0] == "eval" or "--dry-run" in words else ("-o", "x.jsonl")
    sets = (
        ("sample-nli", "sample-sentiment") if "--dry-run" in words else ("sample-nli",)
    )
    for shown in ((), ("--json",)):
        done = call(*words, *sets, *more, *shown)
        assert done.output
        assert "SECRET01" not in done.output
    assert not [p for p in folder.rglob("*.js*") if "SECRET01" in p.read_text()]


def test_the_kind_of_a_model_is_said_or_the_models_own(folder: Path) -> None:
    words = ("predict", "sample-nli", "--model", "echo", "--limit", "1")
    base = call(*words, "--model-kind", "base", "-o", "base.jsonl")
    assert base.exit_code == 0, base.stderr
    assert json.loads(Path("base.system.json").read_text())["model"]["kind"] == "base"
    assert call(*words, "-o", "x.jsonl").exit_code == 0
    assert "kind" not in json.loads(Path("x.system.json").read_text())["model"]
    assert call(*words, "--model-kind", "chat", "-o", "y.jsonl").exit_code == 2


def test_a_prompt_asks_several_times_but_for_copies(folder: Path) -> None:
    prompt = {"query": "{statement}", "extract": "labels", "replications": 2}
    Path("prompt.json").write_text(json.dumps(prompt))
    lower = ("perturb", "sample-sentiment", "--perturbation", "lowercase")
    assert call(*lower, "-o", "low.jsonl").exit_code == 0
    words = ("eval", "sample-sentiment", "--model", "echo", "--prompt", "prompt.json")
    words += ("--limit", "4", "--dry-run", "--json")
    assert json.loads(call(*words).stdout)["requests"] == 8
    both = json.loads(call(*words, "--perturbed", "low.jsonl").stdout)
    assert [each["requests"] for each in both] == [4, 4]
