"""What the tests of odd distributions share."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

Run = Callable[..., CompletedProcess[str]]
Make = Callable[..., Any]

OURS = "evalkit-metrics-classification"
METRIC = """
import evalkit

class Constant(evalkit.Metric):
    def score_example(self, prediction):
        return 1.0
"""


def report(run_here: Run, **variables: str) -> dict[str, Any]:
    done = run_here("list", "--json", **variables)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def error(run_here: Run, *arguments: str, **variables: str) -> str:
    done = run_here(*arguments, **variables)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    return done.stderr.partition("evalkit: error: ")[2].rstrip("\n")


def info(fake: Any) -> Path:
    [folder] = fake.folder.glob("*.dist-info")
    return Path(folder)


def require(fake: Any, requirement: str) -> None:
    with (info(fake) / "METADATA").open("a", encoding="utf-8") as file:
        file.write(f"Requires-Dist: {requirement}\n")
