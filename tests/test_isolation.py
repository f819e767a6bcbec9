"""A broken plugin harms nobody who does not ask for it, and is named to who does."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from evalkit.catalog import find_components
from evalkit_cli.main import cli

Run = Callable[..., CompletedProcess[str]]
Make = Callable[..., Any]


class Broken(NamedTuple):
    """A plugin that does not work, and what a user must be told about it."""

    code: str
    cause: str
    kind: str = "metrics"


METRIC = "import evalkit\nclass P(evalkit.Metric):\n"

BROKEN = {
    "import-error": Broken(
        "import a_library_that_nobody_has",
        "ModuleNotFoundError: No module named 'a_library_that_nobody_has'",
    ),
    "system-exit": Broken("import sys; sys.exit()", "failed with SystemExit"),
    "syntax-error": Broken("def P(:", "SyntaxError: invalid syntax"),
    "raises-at-import": Broken(
        "print('x')\n1 / 0", "ZeroDivisionError: division by zero"
    ),
    "missing-attribute": Broken("Q = 1", "has no attribute 'P'"),
    "wrong-argument": Broken(
        METRIC + "    def compute(self, predictions, golds): return 1.0",
        "compute: there is no argument 'golds'; the hook offers: predictions, targets",
    ),
    "keyword-only": Broken(
        METRIC + "    def compute(self, *, predictions, targets): return 1.0",
        "compute: the argument 'predictions' is keyword-only",
    ),
    "misspelt-hook": Broken(
        METRIC + "    def score_exampel(self, prediction, target): return 1.0",
        "its method 'score_exampel' is no hook; did you mean 'score_example'?",
    ),
    "wrong-kind": Broken(
        "import evalkit\nclass P(evalkit.Dataset):\n    task = 'sentiment'\n"
        "    def load(self, split): return []",
        "a metric must implement compute or score_example",
    ),
    "no-plugin": Broken("P = 42", "a metric must implement compute or score_example"),
    "constructor": Broken(
        METRIC + "    def __init__(self): raise RuntimeError('no licence file')",
        "constructing it failed with RuntimeError: no licence file",
    ),
    "exits-in-constructor": Broken(
        METRIC + "    def __init__(self): raise SystemExit('bye')",
        "constructing it failed with SystemExit: bye",
    ),
    "wrong-attribute": Broken(
        METRIC + "    unit = 3\n    def score_example(self, prediction): return 1.0",
        "the attribute 'unit' must be a valid string, found 3",
    ),
    "no-answer-shape": Broken(
        "import evalkit\nfrom pydantic import BaseModel\n"
        "class P(evalkit.TaskIO):\n    Input = BaseModel\n    example = {}\n"
        "    perf_metric = 'accuracy'",
        "the attribute 'Output' is missing",
        "tasks",
    ),
    "no-task": Broken(
        "import evalkit\nclass P(evalkit.Dataset):\n"
        "    def load(self, split): return []",
        "the attribute 'task' is missing",
        "datasets",
    ),
    "watcher": Broken(
        "class P:\n    def before_load(self, file): ...",
        "before_load: there is no argument 'file'",
        "observers",
    ),
}

LOUD = """
print("LOUD at import")

def get_loud(predictions, targets):
    print("LOUD while scoring")
    return 1.0
"""

DIES = {
    "dies-politely": ("import os; os._exit(0)", "ended with exit code 0"),
    "dies": ("import os; os._exit(3)", "ended with exit code 3"),
    "crashes": (
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "was killed by SIGSEGV",
    ),
}


def install(make: Make, name: str) -> None:
    broken = BROKEN[name]
    entry_points = {f"evalkit.{broken.kind}": {name: "P"}}
    make(broken.code, entry_points, name=f"broken-{name}", version="6.6.6")


@pytest.fixture
def every_broken_plugin(fake_distribution: Make) -> None:
    for name in BROKEN:
        install(fake_distribution, name)
    for name, (code, _) in DIES.items():
        fake_distribution(code, {"evalkit.metrics": {name: "P"}}, name=f"broken-{name}")
    fake_distribution(LOUD, {"evalkit.metrics": {"loud": "get_loud"}}, name="loud")


@pytest.mark.usefixtures("every_broken_plugin")
@pytest.mark.slow
def test_healthy_plugins_work_beside_all_broken_ones(run_evalkit: Run) -> None:
    for arguments in (("--help",), ("list", "--help"), ("eval", "--help")):
        done = run_evalkit(*arguments)
        assert (done.returncode, done.stderr) == (0, "")

    done = run_evalkit("list", "-v")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split() for line in done.stdout.splitlines() if line]
    listed = {words[0]: words[1:3] for words in lines}
    for name, broken in BROKEN.items():
        if broken.kind != "observers":
            assert listed[f"{broken.kind}/{name}"] == [f"broken-{name}", "6.6.6"]
    assert "metrics/accuracy" in listed

    done = run_evalkit("eval", "sample-sentiment", "--json")
    assert done.returncode == 0, done.stderr
    assert [record["status"] for record in json.loads(done.stdout)] == ["complete"] * 2


@pytest.mark.parametrize("name", BROKEN)
def test_using_a_broken_plugin_names_it_and_its_cause(
    name: str, fake_distribution: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    install(fake_distribution, name)
    broken = BROKEN[name]
    arguments = {
        "metrics": ("eval", "sample-sentiment", "-m", name),
        "datasets": ("eval", name),
        "tasks": ("show", f"tasks/{name}"),
        "observers": ("eval", "sample-sentiment", "-m", "accuracy", "--observer", name),
    }[broken.kind]
    # in this process: that the script ends in the same way is tested once, below
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert f"{broken.kind}/{name} (broken-{name} 6.6.6)" in done.stderr
    assert broken.cause in done.stderr
    assert "evalkit: error: " in done.stderr
    assert "Traceback" not in done.stderr


def test_the_script_names_a_broken_plugin_too(
    run_evalkit: Run, fake_distribution: Make
) -> None:
    install(fake_distribution, "raises-at-import")
    done = run_evalkit("eval", "sample-sentiment", "-m", "raises-at-import")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "metrics/raises-at-import (broken-raises-at-import 6.6.6)" in done.stderr
    assert BROKEN["raises-at-import"].cause in done.stderr
    assert "evalkit: error: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("every_broken_plugin")
def test_a_check_names_every_broken_plugin_and_only_those(run_evalkit: Run) -> None:
    # each distribution has a process: ours are imported in the tests of the doctor
    ours = {"evalkit-metrics-classification", "evalkit-tasks-text"}
    broken = {f"broken-{name}" for name in (*BROKEN, *DIES)}
    allowed = ",".join([*ours, *broken, "loud"])
    done = run_evalkit("list", "--check", EVALKIT_ALLOW_PLUGINS=allowed)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    *each, empty, last = done.stdout.splitlines()
    lines = {line.split()[1]: line for line in each}
    assert (empty, last[:12]) == ("", f"broken, of {len(lines)}"[:12])
    causes = {
        f"{broken.kind}/{name}": (f"(broken-{name} 6.6.6)", broken.cause)
        for name, broken in BROKEN.items()
    }
    for name, (_, cause) in DIES.items():
        causes[f"metrics/{name}"] = (f"(broken-{name} 1.2.3)", cause)
    broken_lines = {i for i, line in lines.items() if line.startswith("broken")}
    assert broken_lines == causes.keys()
    for component, (distribution, cause) in causes.items():
        line = lines[component]
        assert line.startswith(f"broken  {component} {distribution}")
        assert cause in line
    healthy = {i for i, line in lines.items() if line.startswith("ok ")}
    found = find_components().components
    shown = {each.id for each in found if each.distribution in ours}
    assert healthy == {*shown, "metrics/loud"}


@pytest.mark.slow
def test_a_check_cuts_a_plugin_that_sleeps(
    run_evalkit: Run, fake_distribution: Make
) -> None:
    entry_points = {"evalkit.observers": {"sleeps": "P"}}
    fake_distribution("import time; time.sleep(600)", entry_points, name="sleepy")
    done = run_evalkit("list", "observers", "--check", "--timeout", "1")
    assert done.returncode == 1
    assert done.stdout == (
        "broken  observers/sleeps (sleepy 1.2.3): was not loaded within 1 seconds\n"
    )


@pytest.mark.slow
def test_a_plugin_that_prints_does_not_spoil_json(
    run_evalkit: Run, fake_distribution: Make
) -> None:
    fake_distribution(LOUD, {"evalkit.metrics": {"loud": "get_loud"}})
    done = run_evalkit("eval", "sample-sentiment", "-m", "loud", "--json")
    assert done.returncode == 0, done.stderr
    assert [record["headline"] for record in json.loads(done.stdout)] == ["loud"] * 2
    assert "LOUD at import" in done.stderr
    assert "LOUD while scoring" in done.stderr
