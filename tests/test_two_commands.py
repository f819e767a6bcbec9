"""The README's two commands in a fresh clone, with an empty home folder."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_make_demo_sets_up_a_fresh_clone_and_ends_with_scores(tmp_path: Path) -> None:
    clone, home = tmp_path / "clone", tmp_path / "home"
    home.mkdir()
    subprocess.run(
        ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], check=True
    )
    hidden = ("VIRTUAL_ENV", "PYTHONPATH", "EVALKIT_", "COVERAGE_", "COV_CORE", "UV_")
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(hidden) and name not in ("MAKEFLAGS", "MAKELEVEL")
    }
    done = subprocess.run(
        ["make", "demo"],
        cwd=clone,
        env={**variables, "HOME": str(home)},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^tag +n +vader.* +afinn", done.stdout, re.MULTILINE)
    assert re.search(r"^negation:yes +27 ", done.stdout, re.MULTILINE)
    assert len(list((clone / "runs" / "sample-sentiment").glob("*/run.json"))) == 2
    status = subprocess.run(
        ["git", "status", "--porcelain"],
        cwd=clone,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert status.stdout == ""


def test_the_readme_names_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^make (\w+)", readme, re.MULTILINE)
    assert commands == ["demo", "test"]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.findall(r"^make (.+)$", ci, re.MULTILINE) == ["demo", "test", "test-slow"]
