"""That a signal ends the command, and what it had begun is cleaned up."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Make = Callable[..., Any]

METRIC = """
import time

def quits(predictions, targets):
    {code}
    return 1.0
"""
EVAL = ("eval", "sample-sentiment", "-m", "quits")


@pytest.fixture
def quits(fake_distribution: Make) -> Callable[[str], Path]:
    """Return what installs a metric with this line, and tells its file."""

    def install(code: str) -> Path:
        text = METRIC.format(code=code)
        fake = fake_distribution(text, {"evalkit.metrics": {"quits": "quits"}})
        return Path(fake.folder) / f"{fake.module}.py"

    return install


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
