"""Runs evalkit's commands and looks at how they end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from evalkit_cli.main import cli

SCRIPT = str(Path(sys.executable).with_name("evalkit"))
HUNG = -1000
"""The code of a command that did not end."""

HANGS = 120
"""Seconds after which a command hangs; none of these takes two on an idle machine."""

_TRACEBACK = re.compile(
    r"Traceback \(most recent|panicked at|RUST_BACKTRACE|unforeseen"
)


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def traceback(self) -> str | None:
        """What looks like an unforeseen end; None for none."""
        found = _TRACEBACK.search(self.out + self.err)
        if found is not None:
            return self.err.strip().rpartition("\n")[2][:200] or found[0]
        is_told = self.code in (0, 1, 2, 130) or "evalkit: error: " in self.err
        return None if is_told else f"exit code {self.code}"

    @property
    def is_interrupted(self) -> bool:
        """Whether a user, or who passes for one, ended it: no plugin is to blame."""
        return self.code in (130, -signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL)

    @property
    def is_killed(self) -> bool:
        """Whether a signal ended it, which is no unforeseen end where it was asked."""
        return self.code < 0 and self.code != HUNG


def run_here(*arguments: str) -> Ended:
    """Run a command in this process.

    Args:
        arguments: Those of the command line.

    Returns:
        How it ended; an exception that leaves the command is a traceback.
    """
    done = CliRunner().invoke(cli, arguments)
    err = done.stderr
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        err += f"\nTraceback (most recent call last):\n{done.exception!r}"
    return Ended(done.exit_code, done.stdout, err)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return variables for a command that sees plugins of a folder.

    Args:
        folder: Where distributions are; it comes first on Python's path.
        more: Further variables.

    Returns:
        All variables of the environment.
    """
    return {**os.environ, "PYTHONPATH": str(folder), "EVALKIT_OFFLINE": "1", **more}


def start(
    *arguments: str, folder: Path, variables: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a command in a process group of its own, with its output in files.

    Args:
        arguments: Those of the command line.
        folder: The current folder; output goes to files beside it.
        variables: Its environment.

    Returns:
        The process.
    """
    out, err = _outputs(folder)
    with out.open("wb") as stdout, err.open("wb") as stderr:
        return subprocess.Popen(
            (SCRIPT, *arguments),
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )


def run_apart(
    *arguments: str, folder: Path, variables: Mapping[str, str] | None = None
) -> Ended:
    """Run a command in a process of its own.

    Args:
        arguments: Those of the command line.
        folder: The current folder; output goes to files beside it.
        variables: Its environment.

    Returns:
        How it ended; one that hangs has the exit code `HUNG`.
    """
    process = start(*arguments, folder=folder, variables=variables)
    try:
        code = process.wait(HANGS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        code = HUNG
    return Ended(
        code, *(path.read_text("utf-8", "replace") for path in _outputs(folder))
    )


def _outputs(folder: Path) -> tuple[Path, Path]:
    return folder.with_name(f"{folder.name}.out"), folder.with_name(
        f"{folder.name}.err"
    )


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Return every file below a folder with its size and time of change."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        found[str(path.relative_to(folder))] = (status.st_size, status.st_mtime_ns)
    return found
