"""`evalkit list --check`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from evalkit import Component
from evalkit_cli.commands.checking import SLOW, Outcome, check_components

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


def test_healthy_and_broken_plugins_are_told_apart(
    invoke: Invoke, fake_distribution: Make
) -> None:
    fake_distribution(HEALTHY, {"evalkit.observers": {"fine": "P"}}, name="good")
    fake_distribution("1 / 0", {"evalkit.observers": {"it": "P"}}, name="bad")
    done = invoke("list", "observers", "--check")
    assert done.exit_code == 1
    fine, broken = done.stdout.splitlines()
    assert re.fullmatch(r"ok      observers/fine \(good 1\.2\.3\)  \d+\.\d\d s", fine)
    assert broken.startswith("broken  observers/it (bad 1.2.3): importing fake_")
    expected = r".*failed with ZeroDivisionError: division by zero \(fake_\w+\.py:\d+\)"
    assert re.fullmatch(expected, broken)


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


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("import os; os._exit(0)", "its process ended with exit code 0"),
        ("import os; os._exit(7)", "its process ended with exit code 7"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            "its process was killed by SIGSEGV",
        ),
        pytest.param(
            "import os, signal; os.kill(os.getpid(), 40)",
            "its process was killed by signal 40",
            marks=pytest.mark.skipif(
                sys.platform != "linux", reason="signals without a name"
            ),
        ),
    ],
)
def test_a_process_that_dies_at_import_is_broken(
    fake_distribution: Make, code: str, cause: str
) -> None:
    fake = install(fake_distribution, code)
    expected = f"observers/it (checked 1.2.3): {cause} while it was loaded"
    assert check(fake) == expected


def test_a_plugin_that_sleeps_is_cut_short(fake_distribution: Make) -> None:
    fake = install(fake_distribution, "import time; time.sleep(60)")
    problem = check(fake, timeout=0.5)
    assert problem == "observers/it (checked 1.2.3): was not loaded within 0.5 seconds"


def test_what_a_plugin_prints_hides_no_outcome(fake_distribution: Make) -> None:
    noisy = "import sys; sys.stderr.write('no end of line'); sys.stdin.read()\n"
    assert check(install(fake_distribution, noisy + HEALTHY)) is None


def test_observers_are_checked_with_all_others(
    invoke: Invoke, fake_distribution: Make
) -> None:
    install(fake_distribution, "1 / 0")
    done = invoke("list", "--check", EVALKIT_ALLOW_PLUGINS="checked")
    assert done.exit_code == 1
    assert done.stdout.startswith("broken  observers/it (checked 1.2.3): importing ")


def test_a_slow_import_is_told_with_what_to_do() -> None:
    component = Component("metrics", "it", "m:M", "dist", "1")
    assert Outcome(component, None, SLOW / 2).remark is None
    assert Outcome(component, "broken").remark is None
    assert Outcome(component, None, 3.21).remark == (
        "metrics/it (dist 1): importing it took 3.2 s; import large libraries where "
        "they are first used"
    )


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
            1,
            "warning: checked: it requires 'evalkit>=1', which is another project; "
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


TASK = """
import evalkit
import polars as pl
from pydantic import BaseModel

class Row(BaseModel):
    uid: str

class Said(BaseModel):
    id: str
    label: str
    sure: float | None = None

class P(evalkit.TaskIO):
    Input, Output, example = Row, Said, {"uid": "1"}
    labels = ("yes", "no")
    answer_field, perf_metric = "label", "accuracy"

    def verify_response(self, response, labels):
        if response["label"] not in labels:
            return [evalkit.Violation("label", "must be known", response["label"])]
        assert response.get("sure", 0) <= 1

    def verify_columns(self, responses, labels):
        known = pl.col("label").is_in(labels)
        return responses.select(x=RULE).to_series()
"""


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('known & ~(pl.col("sure") > 1).fill_null(False)', ""),
        ("known & False", ""),
        ("known", "for which verify_response says: (response): `assert response.get("),
        ('~(pl.col("sure") > 1)', "for which verify_response says: label: must be kn"),
        ("known.cast(int)", "verify_columns must return a polars Series of one bool"),
    ],
)
def test_columns_that_accept_what_rows_refuse_are_found(
    invoke: Invoke, fake_distribution: Make, rule: str, said: str
) -> None:
    code = TASK.replace("RULE", rule)
    fake_distribution(code, {"evalkit.tasks": {"it": "P"}}, name="columns")
    done = invoke("list", "tasks", "--check", EVALKIT_ALLOW_PLUGINS="columns")
    assert done.exit_code == bool(said)
    if said:
        assert "broken  tasks/it (columns 1.2.3): verify_columns " in done.stdout
        assert said in done.stdout


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


def test_a_problem_fits_on_a_screen(invoke: Invoke, fake_distribution: Make) -> None:
    install(fake_distribution, "raise ValueError('x' * 9000 + 'the end')")
    done = invoke("list", "observers", "--check")
    assert len(done.stdout) < 2100
    assert "characters left out)" in done.stdout
    assert "the end (fake_" in done.stdout
