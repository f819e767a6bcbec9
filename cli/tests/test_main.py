"""How the command ends: exit codes, streams, encodings."""

import importlib.metadata
import json
import os
import runpy
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import click
import pytest

from evalkit_cli import main as main_module
from evalkit_cli.main import main

Run = Callable[..., CompletedProcess[str]]
SCRIPT = Path(sys.executable).with_name("evalkit")
THREE = ("positive", "negative", "positive", "positive")


def ends_with(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> str | int | None:
    monkeypatch.setattr(sys, "argv", ["evalkit", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        ([], 2),
        (["list", "observers"], 0),
        (["show", "metrics/nothing"], 1),
        (["show"], 2),
        (["--no-such-option"], 2),
    ],
)
def test_exit_codes(
    arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    assert ends_with(arguments, monkeypatch) == code
    assert "Traceback" not in capfd.readouterr().err


def test_own_warnings_are_one_line_without_a_place(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    own = Path(main_module.__file__).parent / "commands" / "show.py"

    @click.command()
    def warn() -> None:
        warnings.simplefilter("always")  # pytest takes it back after the test
        for place in (str(own), "/elsewhere/plugin.py"):
            warnings.warn_explicit("late", UserWarning, place, 7)

    monkeypatch.setitem(main_module.cli.commands, "warn", warn)
    assert ends_with(["warn"], monkeypatch) == 0
    assert capfd.readouterr().err == (
        "evalkit: warning: late\n/elsewhere/plugin.py:7: UserWarning: late\n"
    )


def test_an_interrupt_is_one_line_and_130(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def press() -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(main_module.cli.commands, "press", press)
    assert ends_with(["press"], monkeypatch) == 130
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "evalkit: interrupted; what was not finished was not written\n"
    )


def test_an_interrupt_while_options_are_read_is_130_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def press(*_: Any) -> None:
        raise KeyboardInterrupt

    command = click.Command("press", params=[click.Option(["--x"], callback=press)])
    monkeypatch.setitem(main_module.cli.commands, "press", command)
    assert ends_with(["press"], monkeypatch) == 130


@pytest.mark.parametrize("module", ["evalkit", "evalkit_cli"])
def test_the_module_can_be_run(tmp_path: Path, module: str) -> None:
    (tmp_path / "json.py").write_text("print('code of the current folder')")
    done = subprocess.run(
        [sys.executable, "-m", module, "list", "nonsense", "--json"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert b"Usage: evalkit list" in done.stderr
    assert done.stdout == b""


def test_the_module_says_where_the_command_line_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("evalkit", run_name="__main__")
    assert ended.value.code == (
        "evalkit: no installed distribution has the command `evalkit`"
    )


@pytest.mark.parametrize(
    "arguments",
    [["list"], ["list", "--json"], ["--help"], ["eval", "--help"], ["help", "eval"]],
    ids=" ".join,
)
@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_traceback(
    plugins: Any, arguments: list[str]
) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [str(SCRIPT), *arguments], stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 141


def test_a_broken_pipe_that_is_not_stdout_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def press(*_: Any) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    command = click.Command("press", params=[click.Option(["--x"], callback=press)])
    monkeypatch.setitem(main_module.cli.commands, "press", command)
    assert ends_with(["press"], monkeypatch) == 1


@pytest.mark.slow
def test_closed_stdout_is_no_traceback(plugins: Any, predict: Any) -> None:
    file = predict("three.jsonl", THREE)
    done = subprocess.run(
        f"{SCRIPT} eval tiny -p {file} -m accuracy -q >&-",
        shell=True,
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    assert len(list(Path("runs/tiny").iterdir())) == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.slow
def test_any_encoding_of_stdout_will_do(
    run_evalkit: Run, plugins: Any, write_rows: Any, encoding: str
) -> None:
    rows = [{"id": str(n), "label": label} for n, label in enumerate(THREE, start=1)]
    file = write_rows("modèle–日本.jsonl", rows)
    variables = {"PYTHONIOENCODING": encoding} if encoding != "utf-8" else {}
    arguments = ("eval", "tiny", "-p", file, "-m", "label-length")
    table = run_evalkit(*arguments, "--format", "md", **variables)
    assert (table.returncode, "Traceback" in table.stderr) == (0, False)
    done = run_evalkit(*arguments, "--json", **variables)
    assert done.returncode == 0
    assert json.loads(done.stdout)["model"] == "modèle–日本"


@pytest.mark.skipif(sys.platform != "linux", reason="file names must be UTF-8")
@pytest.mark.slow
def test_a_file_name_that_is_not_utf_8_is_no_traceback(
    run_evalkit: Run, plugins: Any, predict: Any
) -> None:
    name = os.fsdecode(b"\xffmodel.jsonl")
    Path(predict("three.jsonl", THREE)).rename(name)
    done = run_evalkit("eval", "tiny", "-p", name, "-m", "accuracy", "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["model"] == "\udcffmodel"
    [path] = Path("runs", "tiny").glob("*/run.json")
    written = json.loads(path.read_text("utf-8"))
    record.pop("scores")
    assert written == record


@pytest.mark.slow
def test_what_plugins_print_goes_to_stderr_however_they_print(
    run_evalkit: Run, fake_distribution: Callable[..., Any], plugins: Any, predict: Any
) -> None:
    fake_distribution(
        "import os, sys\n"
        "print('at import')\n"
        "sys.__stdout__.write('past the redirection\\n')\n"
        "os.write(1, b'from below\\n')\n"
        "def get_loud(predictions, targets):\n"
        "    os.system('echo from a child')\n"
        "    print('while scoring')\n"
        "    return 1.0\n",
        {"evalkit.metrics": {"loud": "get_loud"}},
    )
    file = predict("three.jsonl", THREE)
    done = run_evalkit("eval", "tiny", "-p", file, "-m", "loud", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scores"][0]["value"] == 1.0
    for text in ("at import", "past the", "from below", "from a child", "while scor"):
        assert text in done.stderr


@pytest.mark.slow
def test_the_progress_bar_is_shown_only_after_a_while(
    run_on_terminal: Callable[..., tuple[int, str]],
    fake_distribution: Callable[..., Any],
    plugins: Any,
    predict: Any,
) -> None:
    fake_distribution(
        "import time\nclass Slow:\n"
        "    def after_load(self):\n        time.sleep(1.3)\n",
        {"evalkit.observers": {"slow": "Slow"}},
    )
    file = predict("three.jsonl", THREE)
    arguments = ("eval", "tiny", "-p", file, "-m", "accuracy")
    _, shown = run_on_terminal(*arguments, "--observer", "slow", columns=100)
    assert "loading tiny" in shown
    assert shown.count("tiny (sentiment, split test): three\n") == 1
    _, quiet = run_on_terminal(*arguments, "--observer", "slow", "-q", columns=100)
    assert "loading tiny" not in quiet
    _, fast = run_on_terminal(*arguments, columns=100)
    assert "loading tiny" not in fast


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on files there")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.slow
def test_output_that_is_cut_is_an_error(tmp_path: Path, unbuffered: str) -> None:
    import resource

    with (tmp_path / "out").open("w") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "evalkit_cli", "list", "--json"],
            stdout=stream,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99)),
            text=True,
            check=False,
        )
    assert (done.returncode, (tmp_path / "out").stat().st_size) == (1, 99)
    assert done.stderr == "evalkit: error: [Errno 27] File too large\n"
