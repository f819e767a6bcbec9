"""That an end of the process is never taken for success."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="one process there")

Run = Callable[..., subprocess.CompletedProcess[str]]
Make = Callable[..., Any]

METRIC = """
import ctypes, os, signal, subprocess, sys, time

def quits(predictions, targets, called=[]):
    if not called:
        called.append(True)
        {code}
    return 1.0
"""
EVAL = ("eval", "sample-sentiment", "-m", "quits")
PLACE = " at {file}:7"


@pytest.fixture(autouse=True)
def _no_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a tracer there is one process, which the measuring of coverage is."""
    for name in [name for name in os.environ if name.startswith("COVERAGE_PROCESS")]:
        monkeypatch.delenv(name)


@pytest.fixture
def quits(fake_distribution: Make) -> Callable[[str], Path]:
    """Return what installs a metric with this line, and tells its file."""

    def install(code: str) -> Path:
        text = METRIC.format(code=code)
        fake = fake_distribution(text, {"evalkit.metrics": {"quits": "quits"}})
        return Path(fake.folder) / f"{fake.module}.py"

    return install


@pytest.mark.parametrize("option", [(), ("--fail-under", "quits=0.5")])
@pytest.mark.slow
def test_an_exit_of_a_plugin_is_no_success_and_is_placed(
    quits: Callable[[str], Path], run_evalkit: Run, option: tuple[str, ...]
) -> None:
    file = quits("os._exit(0)")
    done = run_evalkit(*EVAL, *option)
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"evalkit: error: its process ended with exit code 0 at {file}:7 before the "
        "command was done; a plugin or a library did that\n"
    )
    assert not [*Path().rglob("run.json")]


@pytest.mark.parametrize(
    ("code", "expected", "said"),
    [
        ("ctypes.CDLL(None)._exit(0)", 1, "ended with exit code 0 before"),
        ("ctypes.CDLL(None)._exit(7)", 7, "ended with exit code 7 before"),
        ("os._exit(7)", 7, "ended with exit code 7 at "),
        ("os.kill(os.getpid(), 9)", -9, "was killed by SIGKILL before"),
        ("ctypes.string_at(0)", -11, "was killed by SIGSEGV at "),
        ("os.abort()", -6, "was killed by SIGABRT at "),
        ("os.kill(os.getpid(), 40)", -40, "was killed by signal 40 before"),
    ],
)
@pytest.mark.slow
def test_other_ends_are_told_and_keep_their_code(
    quits: Callable[[str], Path],
    run_evalkit: Run,
    code: str,
    expected: int,
    said: str,
) -> None:
    quits(code)
    done = run_evalkit(*EVAL)
    assert done.returncode == expected
    assert f"evalkit: error: its process {said}" in done.stderr


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("os.closerange(3, 4096)", PLACE),
        pytest.param("os.closerange(0, 4096)", PLACE, marks=pytest.mark.slow),
        pytest.param(
            "[os.close(n) for n in range(3, 64) if os.path.exists(f'/dev/fd/{n}')]",
            PLACE,
            marks=pytest.mark.slow,
        ),
        ("ctypes.CDLL(None).close_range(3, 4096, 0)", ""),
    ],
)
def test_a_process_whose_files_were_closed_is_not_waited_for(
    quits: Callable[[str], Path], run_evalkit: Run, code: str, said: str
) -> None:
    file = quits(f"{code}; time.sleep(60)")
    place = said.format(file=file)
    start = time.monotonic()
    done = run_evalkit(*EVAL)
    assert time.monotonic() - start < 55
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"all files of its process were closed{place}" in done.stderr
    assert not [*Path().rglob("run.json")]


@pytest.mark.parametrize(
    "code",
    [
        "os.fork() or os._exit(0)",  # of a process of its own
        "subprocess.Popen(['sleep', '30'])",  # which holds what it got of this one
        "__import__('atexit').register(os._exit, 0)",
    ],
)
@pytest.mark.slow
def test_what_ends_beside_a_result_does_no_harm(
    quits: Callable[[str], Path], run_evalkit: Run, code: str
) -> None:
    quits(code)
    start = time.monotonic()
    out = ("-o", "kept", "--quiet")
    with Path("out").open("w") as stream:  # a pipe would wait for the other process
        done = subprocess.run(
            [Path(sys.executable).with_name("evalkit"), *EVAL, *out],
            stdout=stream,
            stderr=stream,
            check=False,
        )
    assert done.returncode == 0, Path("out").read_text()
    assert time.monotonic() - start < 25
    assert [*Path("kept").rglob("run.json")]


@pytest.mark.slow
def test_a_wrong_end_stays_wrong(
    quits: Callable[[str], Path], run_evalkit: Run
) -> None:
    quits("__import__('atexit').register(os._exit, 0)")
    assert run_evalkit(*EVAL, "--fail-under", "quits=2").returncode == 3


@pytest.mark.slow
def test_the_child_ends_with_its_parent_also_in_c_code(
    quits: Callable[[str], Path], tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    # ctypes.PyDLL keeps the lock of Python, so that no Python code runs meanwhile
    quits(
        f"open({str(note)!r}, 'w').write(str(os.getpid())); "
        "open('ready', 'w').close(); ctypes.PyDLL(None).sleep(60)"
    )
    script = Path(sys.executable).with_name("evalkit")
    process = subprocess.Popen([script, *EVAL], cwd=tmp_path)
    end = time.monotonic() + 60
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    child = int(note.read_text())
    assert child != process.pid
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    for _ in range(200):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{child}/stat").read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("it goes on")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.slow
def test_a_signal_reaches_the_work(
    quits: Callable[[str], Path], tmp_path: Path, number: signal.Signals
) -> None:
    quits("open('ready', 'w').close(); time.sleep(60)")
    script = Path(sys.executable).with_name("evalkit")
    process = subprocess.Popen(
        [script, *EVAL],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        # nohup ignores hang-ups for all that it starts
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    end = time.monotonic() + 60
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(number)
    _, error = process.communicate(timeout=30)
    assert process.returncode == -number
    assert "its process" not in error


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.slow
def test_a_signal_leaves_no_temporary_file(
    quits: Callable[[str], Path], tmp_path: Path, number: signal.Signals
) -> None:
    quits("open('ready', 'w').close(); time.sleep(60)")
    (tmp_path / "temporary").mkdir()
    row = b'{"id": "1", "label": "positive"}\n'
    process = subprocess.Popen(
        [Path(sys.executable).with_name("evalkit"), *EVAL, "-p", "-"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    assert process.stdin is not None
    process.stdin.write(row)
    process.stdin.flush()
    end = time.monotonic() + 60
    while not list((tmp_path / "temporary").glob("*/*")):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == -number
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(
    ("code", "expected", "said"),
    [
        # the forked process is ended, and has no say
        ("os.fork()", 0, ""),
        ("os.fork() and os._exit(0)", 1, "ended with exit code 0 at {file}:5 before"),
        ("sys.exit = lambda code: None", 1, "ended with exit code 1 before"),
    ],
)
def test_only_the_process_of_the_command_says_that_it_is_done(
    fake_distribution: Make, run_evalkit: Run, code: str, expected: int, said: str
) -> None:
    text = f"import click, os, sys\n@click.command()\ndef quits():\n    1\n    {code}\n"
    fake = fake_distribution(text, {"evalkit.commands": {"quits": "quits"}})
    file = Path(fake.folder) / f"{fake.module}.py"
    done = run_evalkit("quits")
    assert done.returncode == expected, done.stderr
    assert "Traceback" not in done.stderr
    assert "closed" not in done.stderr
    assert said.format(file=file) in done.stderr


FORKS = """
import os
import evalkit


class Forks(evalkit.Metric):
    \"\"\"Forks at its first call, and both processes come back from it.\"\"\"

    bounds = (0, 1)
    forked = False

    def score_example(self, prediction):
        if not self.forked:
            self.forked = True
            os.fork()
        return 1.0
"""


def test_a_process_that_a_hook_forks_does_not_go_on_with_the_evaluation(
    fake_distribution: Make, run_evalkit: Run
) -> None:
    fake = fake_distribution(FORKS, {"evalkit.metrics": {"forks": "Forks"}})
    done = run_evalkit("eval", "sample-sentiment", "-m", "forks", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 2  # printed once, of two models
    where = f"{Path(fake.folder) / fake.module}.py:15"
    told = f"a process that a plugin forked ({where}) came back from it, and was ended"
    assert done.stderr.count(told) == 1


def test_processes_of_multiprocessing_do_their_work(
    fake_distribution: Make, run_evalkit: Run
) -> None:
    code = FORKS.replace(
        "os.fork()",
        "import multiprocessing as m; "
        "print(m.get_context('fork').Pool(2).map(abs, [-1, 2]))",
    )
    fake_distribution(code, {"evalkit.metrics": {"forks": "Forks"}})
    done = run_evalkit("eval", "sample-sentiment", "-m", "forks", "-q")
    assert done.returncode == 0, done.stderr
    assert "[1, 2]" in done.stdout + done.stderr
    assert "was ended" not in done.stderr
