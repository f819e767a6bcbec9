"""`evalkit list --check`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from evalkit import Component
from evalkit_cli.commands.checking import check_components

Invoke = Callable[..., Result]
Make = Callable[..., Any]

HEALTHY = "class P:\n    def before_load(self): ...\n"


def check(fake: Any, timeout: float = 30) -> str | None:
    component = Component("observers", "it", f"{fake.module}:P", fake.name, "1.2.3")
    [(found, problem)] = check_components([component], timeout)
    assert found == component
    return problem


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
    assert fine == "ok      observers/fine (good 1.2.3)"
    assert broken.startswith("broken  observers/it (bad 1.2.3): importing fake_")
    assert broken.endswith("failed with ZeroDivisionError: division by zero")


def test_only_healthy_plugins_exit_0(invoke: Invoke, fake_distribution: Make) -> None:
    install(fake_distribution, HEALTHY)
    done = invoke("list", "observers", "--check")
    assert (done.exit_code, done.stdout) == (
        0,
        "ok      observers/it (checked 1.2.3)\n",
    )


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
