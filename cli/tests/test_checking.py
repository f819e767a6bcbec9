"""`evalkit list --check`."""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from evalkit import Component
from evalkit_cli.commands.checking import check_components

pytestmark = pytest.mark.slow  # each starts processes

Invoke = Callable[..., Result]
Make = Callable[..., Any]

DATASET = {"evalkit.datasets": {"lost": "D"}}
HEALTHY = "class P:\n    def before_load(self): ...\n"


def check(fake: Any, timeout: float = 30) -> str | None:
    component = Component("observers", "it", f"{fake.module}:P", fake.name, "1.2.3")
    [outcome] = check_components([component], timeout)
    assert outcome.component == component
    return outcome.problem


def install(make: Make, code: str) -> Any:
    return make(code, {"evalkit.observers": {"it": "P"}}, name="checked")


def test_only_healthy_plugins_exit_0(invoke: Invoke, fake_distribution: Make) -> None:
    install(fake_distribution, HEALTHY)
    done = invoke("list", "observers", "--check")
    assert done.exit_code == 0
    assert done.stdout.startswith("ok      observers/it (checked 1.2.3)  0.")


def test_json_names_the_problem_of_each(
    invoke: Invoke, fake_distribution: Make
) -> None:
    install(fake_distribution, "print('{')\nraise ImportError('no quantum')")
    done = invoke("list", "observers", "--check", "--json")
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert [row["id"] for row in report["components"]] == ["observers/it"]
    assert "ImportError: no quantum" in report["components"][0]["problem"]
    assert report["problems"] == []


def test_broken_metadata_fails_the_check_too(
    invoke: Invoke, fake_distribution: Make
) -> None:
    fake_distribution("", {"evalkit.observers": {"No!": "x"}}, name="rude")
    done = invoke("list", "observers", "--check")
    assert done.exit_code == 1
    assert "warning: rude: observers/No!: not a legal name" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="signals without a name")
def test_a_process_that_dies_at_import_is_broken(fake_distribution: Make) -> None:
    fake = install(fake_distribution, "import os, signal; os.kill(os.getpid(), 40)")
    cause = "its process was killed by signal 40 while it was loaded"
    assert check(fake) == f"observers/it (checked 1.2.3): {cause}"


def test_what_a_plugin_prints_hides_no_outcome(fake_distribution: Make) -> None:
    noisy = "import sys; sys.stderr.write('no end of line'); sys.stdin.read()\n"
    assert check(install(fake_distribution, noisy + HEALTHY)) is None


def test_nothing_of_the_current_folder_is_run(
    fake_distribution: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("json", "subprocess", "evalkit", "polars"):
        code = f"open({str(tmp_path / 'was_run')!r}, 'w')\n"
        (tmp_path / f"{module}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    assert check(install(fake_distribution, HEALTHY)) is None
    assert not (tmp_path / "was_run").exists()


FAKE = """
import json, os, sys
json.dumps = lambda *_, **__: "true"
for descriptor in (1, 2):
    os.write(descriptor, b"0\\n0.1\\n")
print("evalkit-check: [null, 0.1]", file=sys.stderr, flush=True)
sys.stdout.write("x" * 3_000_000)
"""


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)", "1 / 0"])
def test_a_fake_report_of_a_plugin_is_none(fake_distribution: Make, end: str) -> None:
    problem = check(install(fake_distribution, FAKE + end))
    assert problem is not None
    assert problem.startswith("observers/it (checked 1.2.3): ")


def test_a_plugin_that_writes_to_every_descriptor_is_named(
    fake_distribution: Make,
) -> None:
    code = """
import os
for descriptor in range(100):
    try:
        os.write(descriptor, b"ok\\n0.1\\n")
    except OSError:
        pass
"""
    ended = "its process ended with exit code 0 while it was loaded"
    problem = check(install(fake_distribution, code + HEALTHY))
    assert problem == f"observers/it (checked 1.2.3): {ended}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("code", ["", "time.sleep(60)", "os._exit(3)"])
def test_what_a_plugin_started_ends_with_it(
    fake_distribution: Make, tmp_path: Path, code: str
) -> None:
    started = tmp_path / "pid"
    forking = f"""
import os, pathlib, time
pid = os.fork()
if not pid:
    time.sleep(60)
pathlib.Path({str(started)!r}).write_text(str(pid))
{code}
"""
    problem = check(install(fake_distribution, forking + HEALTHY), timeout=5)
    assert (problem is None) == (code == "")
    assert not _is_running(int(started.read_text()))


def _is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    for _ in range(100):  # killed at once, and reaped by another process when it can
        try:
            if status.read_text().rpartition(")")[2].split()[0] == "Z":
                return False
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return False
        time.sleep(0.05)
    return True


NAMING = """
import evalkit
from pydantic import BaseModel


class Text(BaseModel):
    uid: str


class Said(BaseModel):
    id: str
    mood: str


class P(evalkit.TaskIO):
    Input, Output = Text, Said
    answer_field = "mood"
    perf_metric = "METRIC"
    extract = None
    example = {"uid": "1"}
"""


@pytest.mark.parametrize(
    ("metric", "extract", "begins", "told"),
    [
        ("accuracy", None, "ok", ""),
        ("acuracy", None, "ok", "there is no metric 'acuracy'; did you mean accuracy"),
        ("length", None, "ok", "it is disabled by EVALKIT_DISABLE_PLUGINS"),
        ("accuracy", "last-word", "ok", "stage 1: there is no adapter 'last-word'"),
    ],
)
def test_what_a_task_names_and_cannot_be_used_is_told(
    invoke: Invoke,
    fake_distribution: Make,
    metric: str,
    extract: str | None,
    begins: str,
    told: str,
) -> None:
    code = NAMING.replace("METRIC", metric).replace("None", repr(extract))
    fake_distribution(code, {"evalkit.tasks": {"it": "P"}}, name="checked")
    disabled = {"EVALKIT_DISABLE_PLUGINS": "metrics/length"}
    done = invoke("list", "tasks", "--check", "--search", "checked", **disabled)
    assert done.exit_code == 0
    assert done.stdout.startswith(begins)
    names = "note: checked: tasks/it names what cannot be used here: "
    assert (names in done.stderr) == bool(told)
    assert told in done.stderr


def test_a_task_that_says_its_extractors_wrongly_is_broken(
    invoke: Invoke, fake_distribution: Make
) -> None:
    code = NAMING.replace("METRIC", "accuracy").replace("None", "'final-number:last'")
    fake_distribution(code, {"evalkit.tasks": {"it": "P"}}, name="checked")
    done = invoke("list", "tasks", "--check", "--search", "checked")
    assert done.exit_code == 1
    assert done.stdout.startswith(
        "broken  tasks/it (checked 1.2.3): extract: stage 1 (final-number): the "
        "configuration is wrong: language: "
    )


def test_with_a_file_its_plugins_alone_are_checked(
    invoke: Invoke, fake_distribution: Make
) -> None:
    install(fake_distribution, "1 / 0")
    Path("own.py").write_text(
        "import evalkit\n\n\nclass Own(evalkit.Metric):\n"
        "    bounds = 1\n\n    def score_example(self, prediction):\n"
        "        return 1.0\n"
    )
    done = invoke("list", "--plugin", "own.py", "--check")
    assert done.exit_code == 1
    (line,) = done.stdout.splitlines()
    assert line.startswith("broken  metrics/own (given as a file of Python)")


def require(fake: Any, requirement: str) -> None:
    (info,) = fake.folder.glob("*.dist-info")
    with (info / "METADATA").open("a", encoding="utf-8") as file:
        file.write(f"Requires-Dist: {requirement}\n")


@pytest.mark.parametrize(
    ("requirement", "code", "told"),
    [
        ("evalkit-core>=0.1", 0, ""),
        ("Evalkit_Tasks_Text", 0, ""),
        ("polars", 0, 'note: checked: its metadata do not require evalkit-core; add "'),
        (
            "evalkit>=1",
            0,
            "note: checked: it requires 'evalkit', which is another project; "
            "evalkit's distribution is evalkit-core",
        ),
    ],
)
def test_a_distribution_must_require_evalkit_core(
    invoke: Invoke, fake_distribution: Make, requirement: str, code: int, told: str
) -> None:
    require(install(fake_distribution, HEALTHY), requirement)
    done = invoke("list", "observers", "--check")
    assert done.exit_code == code
    assert told in done.stderr
    assert bool(told) == bool(done.stderr)


def test_a_data_set_without_its_task_is_broken(
    invoke: Invoke, fake_distribution: Make
) -> None:
    code = "import evalkit\nclass D(evalkit.Dataset):\n    task = 'sentimnet'\n"
    fake_distribution(code + "    def load(self): ...\n", DATASET, name="lost")
    done = invoke("list", "datasets", "--check", EVALKIT_ALLOW_PLUGINS="lost")
    assert done.exit_code == 1
    assert done.stdout.startswith(
        "broken  datasets/lost (lost 1.2.3) is of the task 'sentimnet': there is no"
    )
