"""What `evalkit my-thing` prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from evalkit_testing import check_command


def test_without_runs_nothing_is_counted(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evalkit", "my-thing", "--json"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert json.loads(done.stdout) == {}


def test_the_laws_of_commands() -> None:
    check_command("my-thing", runs=[["--json"], []])
