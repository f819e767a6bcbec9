"""`--engine` of eval, validate and perturb, with an engine in a file of Python."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from evalkit import Registry, find_components, read_run

Invoke = Callable[..., Result]

ENGINE = '''
import pickle
from pathlib import Path

from evalkit_engines_dask.engine import Engine


class Here(Engine):
    """Calls functions itself, and notes when it is entered and left."""

    workers, parts = 2, 3

    def __enter__(self):
        with Path("log").open("a") as log:
            log.write("in ")
        self.is_running, self.store = True, str(Path("store").absolute())
        return self

    def __exit__(self, *error):
        with Path("log").open("a") as log:
            log.write("out ")
        self.is_running = False

    def submit(self, function, arguments, name, resources):
        return pickle.dumps((function, arguments))

    def gather(self, tasks, done):
        values = []
        for place, task in enumerate(tasks):
            function, arguments = pickle.loads(task)
            values.append(function(*arguments))
            done(place, values[-1])
        return values

    def cancel(self, tasks):
        pass


class Stopped(Here):
    """Is interrupted."""

    def gather(self, tasks, done):
        raise KeyboardInterrupt
'''
LABELS = ("positive", "negative", "neutral")
DATA = ("--data", "data.jsonl", "--task", "sentiment")
HERE = ("--engine", "here.py:Here")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here.py").write_text(ENGINE)
    labels = [LABELS[number % 3] for number in range(40)]
    rows = [
        {
            "uid": f"e{n}",
            "statement": f"text {n}",
            "label": label,
            "tags": ["t:a"] * (n % 2),
        }
        for n, label in enumerate(labels)
    ]
    write("data.jsonl", rows)
    for n in range(4):
        some = [
            {"id": row["uid"], "label": LABELS[0]} for row in rows[n * 10 : n * 10 + 10]
        ]
        write(f"preds-{n:05}-of-00004.jsonl", some)
    write("empty.jsonl", [])
    write("bad.jsonl", [{"id": "e1", "label": "bad"}, {"id": "x", "label": LABELS[0]}])


def write(name: str, rows: list[dict[str, Any]]) -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def entered() -> str:
    return Path("log").read_text()


def without_paths(text: str) -> list[str]:
    return [line for line in text.splitlines() if "runs/" not in line]


def test_a_report_of_shards_is_the_same_with_an_engine(invoke: Invoke) -> None:
    told = ("eval", *DATA, "-p", "preds-*.jsonl", "-m", "accuracy", "-m", "macro-f1")
    plain, done = invoke(*told), invoke(*told, *HERE)
    assert (done.exit_code, entered()) == (0, "in out ")
    assert without_paths(done.stdout) == without_paths(plain.stdout)
    assert done.stderr == plain.stderr
    runs = [read_run(path) for path in sorted(Path("runs/data").iterdir())]
    assert [run.model for run in runs] == ["preds", "preds"]
    assert runs[0].fingerprint == runs[1].fingerprint


def test_an_engine_is_entered_once_for_all_models(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_ENGINE", "here.py:Here")
    monkeypatch.setenv("EVALKIT_JOBS", "2")  # is for commands without an engine
    done = invoke("eval", *DATA, "-p", "bad.jsonl", "-p", "b=preds-*", "-q")
    assert (done.exit_code, entered()) == (1, "in out ")
    assert "accuracy" in done.stdout
    assert "39 examples without a prediction" in done.stderr


def test_an_engine_is_left_when_it_is_interrupted(invoke: Invoke) -> None:
    for verb in ("eval", "validate"):
        done = invoke(verb, *DATA, "-p", "preds-*", "--engine", "here.py:Stopped")
        assert done.exit_code != 0
    assert (entered(), Path("runs").exists()) == ("in out in out ", False)


@pytest.mark.parametrize(
    ("told", "named"),
    [
        (["-p", "preds-*", "--against", "latest"], "--against"),
        (["-p", "preds-*", "--perturbed", "copies.jsonl"], "--perturbed"),
        (["--model", "echo"], "--model without -p"),
        (["--model", "echo", "--dry-run"], "--model without -p"),
        (["-p", "preds-*", "-j", "2"], "-j"),
    ],
)
def test_what_an_engine_cannot_do_is_refused_first(
    invoke: Invoke, told: list[str], named: str
) -> None:
    done = invoke("eval", "--data", "absent.jsonl", "--task", "nli", *told, *HERE)
    assert done.exit_code == 2
    assert f"Error: {named} cannot be used with --engine" in done.stderr
    assert not Path("log").exists()


def test_an_engine_that_is_not_installed_names_its_distribution(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = find_components()
    kinds = tuple(each for each in known.extensions if each.name != "engines")
    catalog = known._replace(extensions=kinds)
    monkeypatch.setattr(Registry, "catalog", property(lambda _: catalog))
    done = invoke("validate", *DATA, "--engine", "dask")
    assert done.exit_code == 1
    assert "Install evalkit-engines-dask" in done.stderr


@pytest.mark.parametrize(
    "files",
    [
        [],
        ["bad.jsonl"],
        ["preds-*", "bad.jsonl"],
        ["empty.jsonl"],
        ["absent.jsonl"],
        ["."],
    ],
)
def test_validate_says_the_same_with_an_engine(
    invoke: Invoke, files: list[str]
) -> None:
    told = ["validate", *DATA, *(word for file in files for word in ("-p", file))]
    plain, done = invoke(*told), invoke(*told, *HERE)
    assert (done.exit_code, done.stdout) == (plain.exit_code, plain.stdout)
    assert (done.stderr, entered()) == (plain.stderr, "in out ")


def test_perturb_writes_the_same_bytes_with_an_engine(invoke: Invoke) -> None:
    told = ("perturb", *DATA, "--perturbation", "keyboard-typos", "--variants", "2")
    plain = invoke(*told, "-o", "plain.jsonl")
    done = invoke(*told, "-o", "parts.jsonl", *HERE)
    assert (done.exit_code, entered()) == (0, "in out ")
    assert Path("parts.jsonl").read_bytes() == Path("plain.jsonl").read_bytes()
    assert done.stdout == plain.stdout.replace("plain.jsonl", "parts.jsonl")
    copy = json.loads(Path("plain.jsonl").read_text().partition("\n")[0])
    with Path("data.jsonl").open("a") as data:
        data.write(
            json.dumps({"uid": copy["uid"], "statement": "x", "label": LABELS[0]})
        )
    again = invoke(*told, "-o", "again.jsonl", *HERE)
    assert (again.exit_code, Path("again.jsonl").exists()) == (1, False)
    assert f"the uid {copy['uid']!r} is taken" in again.stderr
