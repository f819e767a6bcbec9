"""Shell completion, asked for as bash does it."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., CompletedProcess[str]]
Complete = Callable[[str, int], Result]


def completed(done: Result) -> list[str]:
    assert done.exit_code == 0, done.stderr
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


COMMANDS = [
    *("adapt", "cache", "cite", "compare", "doctor", "eval", "export", "help"),
    *("host", "import", "inputs", "leaderboard"),
    *(
        "list",
        "merge",
        "new",
        "perturb",
        "plan",
        "predict",
        "publish",
        "report",
        "rescore",
    ),
    *("runs", "schema", "serve", "show", "site", "submit", "validate", "verify"),
    "work",
]


@pytest.mark.parametrize(
    ("words", "position", "expected"),
    [
        ("evalkit ", 1, COMMANDS),
        ("evalkit help ", 2, COMMANDS),
        ("evalkit help sho", 2, ["show"]),
        ("evalkit show metrics/ag", 2, ["metrics/agreement"]),
        ("evalkit eval ti", 2, ["tiny"]),
        ("evalkit eval tiny -m fai", 4, ["failing"]),
        ("evalkit eval --data x.csv --task sentim", 5, ["sentiment"]),
        ("evalkit validate ti", 2, ["tiny"]),
        ("evalkit eval tiny --model cons", 4, ["constant"]),
        ("evalkit predict tiny --model ec", 4, ["echo"]),
        ("evalkit validate --task sentim", 3, ["sentiment"]),
        ("evalkit eval tiny --observer re", 4, ["recorder"]),
        ("evalkit eval tiny --format m", 4, ["md"]),
        ("evalkit list o", 2, ["observers"]),
    ],
)
def test_names_are_completed(
    complete: Complete, plugins: Any, words: str, position: int, expected: list[str]
) -> None:
    assert completed(complete(words, position)) == expected


def test_runs_are_completed(complete: Complete, plugins: Any) -> None:
    for name in ("runs/tiny/t-m-12ab", "runs/tiny/t-m-12cd", "old/tiny/t-m-34ef"):
        Path(name).mkdir(parents=True)
        Path(name, "run.json").write_text("{}", "utf-8")
    Path("runs/tiny/t-m-12xx").mkdir()
    assert completed(complete("evalkit show 12", 2)) == ["12ab", "12cd"]
    assert completed(complete("evalkit show la", 2)) == ["latest"]
    assert completed(complete("evalkit cite ", 2)) == ["12ab", "12cd", "latest"]
    assert completed(complete("evalkit cite -o old 3", 4)) == ["34ef"]
    assert completed(complete("evalkit cite -o nowhere la", 4)) == [""]


def test_completing_imports_no_plugin(
    run_evalkit: Run, fake_distribution: Callable[..., Any]
) -> None:
    fake_distribution("1 / 0", {"evalkit.datasets": {"zz-broken": "P"}})
    done = run_evalkit(
        _EVALKIT_COMPLETE="bash_complete", COMP_WORDS="evalkit eval zz", COMP_CWORD="2"
    )
    assert (done.returncode, done.stdout) == (0, "plain,zz-broken\n")


def test_the_line_that_help_gives_prints_a_script_for_bash(run_evalkit: Run) -> None:
    usage = run_evalkit("--help").stdout
    assert '    eval "$(_EVALKIT_COMPLETE=bash_source evalkit)"\n' in usage
    script = run_evalkit(_EVALKIT_COMPLETE="bash_source").stdout
    assert "_EVALKIT_COMPLETE=bash_complete" in script


def test_names_that_a_shell_cannot_show_are_left_out(complete: Complete) -> None:
    for name in ("plain", "sly\x1b[2J"):
        folder = Path("runs", f"set\x1b[31m{name}", f"time-model-{name}")
        folder.mkdir(parents=True)
        (folder / "run.json").touch()
    assert completed(complete("evalkit cite ", 2)) == ["plain", "latest"]
