from typing import Any

import click
import pytest

from evalkit_cli import main as main_module
from evalkit_cli.printing.defects import DEFECT, TRACEBACK_VARIABLE


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no")


class Panic(BaseException):
    """Like the one of polars, which is no Exception."""


def run(
    error: BaseException,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, str]:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(main_module.cli, "main", fail)
    # a command of a plugin that another test ran in this process
    monkeypatch.setattr(main_module.cli, "running", None)
    with pytest.raises(SystemExit) as ended:
        main_module.main()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert isinstance(ended.value.code, int)
    return ended.value.code, printed.err


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (RuntimeError("first\nsecond"), "RuntimeError: first"),
        (Panic("index out of bounds"), "Panic: index out of bounds"),
        (KeyError(), "KeyError"),
        (Unprintable(), "Unprintable: its text cannot be shown: ValueError"),
        (ValueError("\x1b[31mred"), "ValueError: \\x1b[31mred"),
    ],
)
def test_a_defect_is_one_line_and_how_to_report_it(
    error: BaseException,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv(TRACEBACK_VARIABLE, raising=False)
    code, printed = run(error, monkeypatch, capsys)
    assert code == DEFECT
    first, second, *_ = printed.splitlines()
    assert first == f"evalkit: defect: {line}"
    assert TRACEBACK_VARIABLE in second
    assert "evalkit-core" in second


def test_the_traceback_is_printed_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(TRACEBACK_VARIABLE, "1")
    _, printed = run(RuntimeError("x"), monkeypatch, capsys)
    assert printed.startswith("Traceback (most recent call last):")
    assert "RuntimeError: x" in printed


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), main_module.INTERRUPTED),
        (click.UsageError("wrong"), 2),
        (OSError(28, "No space left on device"), 1),
        (MemoryError(), 1),
        (SystemExit(5), 5),
    ],
)
def test_what_is_no_defect_is_not_called_one(
    error: BaseException,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found, printed = run(error, monkeypatch, capsys)
    assert found == code
    assert "defect" not in printed


BROKEN = """
import evalkit

def deeper():
    raise LookupError("no model")

class Failing(evalkit.Metric):
    def score_example(self, prediction):
        deeper()

class Unbuilt(evalkit.Metric):
    def __init__(self):
        deeper()

    def score_example(self, prediction): ...
"""


@pytest.mark.parametrize("name", ["failing", "unbuilt"])
@pytest.mark.parametrize("way", ["option", "variable", "neither"])
@pytest.mark.slow
def test_the_plugins_own_traceback_is_shown_where_it_is_asked_for(
    run_evalkit: Any, fake_distribution: Any, name: str, way: str
) -> None:
    names = {"failing": "Failing", "unbuilt": "Unbuilt"}
    fake = fake_distribution(BROKEN, {"evalkit.metrics": names})
    asked = ("--traceback",) if way == "option" else ()
    variables = {TRACEBACK_VARIABLE: "1" if way == "variable" else ""}
    done = run_evalkit(*asked, "eval", "sample-sentiment", "-m", name, **variables)
    assert done.returncode == 1
    line = BROKEN.splitlines().index('    raise LookupError("no model")') + 1
    assert f"LookupError: no model ({fake.module}.py:{line})" in (
        done.stdout + done.stderr
    )
    assert ("Traceback (most recent call last)" in done.stderr) == (way != "neither")
    assert ("in deeper\n    raise LookupError" in done.stderr) == (way != "neither")
