"""Packages that `evalkit new` makes, in a fresh environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from evalkit_commands_authoring.templates import template_kinds


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_each_template_is_installed_tested_listed_and_typed(
    tmp_path: Path,
) -> None:
    environment = tmp_path / "venv"
    python = environment / "bin" / "python"
    variables = {key: os.environ[key] for key in os.environ if "EVALKIT" not in key}
    variables.setdefault("UV_SYSTEM_CERTS", "1")
    variables.setdefault("UV_FIND_LINKS", os.environ.get("PIP_FIND_LINKS", ""))

    def run(*arguments: str, by: Path = python, cwd: Path = tmp_path) -> str:
        done = subprocess.run(
            [by, "-m", *arguments],
            cwd=cwd,
            capture_output=True,
            encoding="utf-8",
            check=False,
            env=variables,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    def install(*parts: str) -> None:
        how = ("--quiet", "--no-deps", "--no-build-isolation", "--python", str(python))
        run("uv", "pip", "install", *how, *parts, by=Path(sys.executable))

    run("uv", "venv", "--quiet", str(environment), by=Path(sys.executable))
    # beside what is installed here, which others install anew
    here, there = (
        Path(sysconfig.get_path("purelib", vars={"base": str(base)}))
        for base in (sys.prefix, environment)
    )
    for path in here.glob("*evalkit*.pth"):
        shutil.copy(path, there)
    (there / "here.pth").write_text(f"{here}\n", encoding="utf-8")
    kinds = template_kinds()
    for kind in kinds:
        run("evalkit", "new", kind, f"own-{kind}", "--author", "Nobody")
    folders = [tmp_path / f"evalkit-{kind}-own-{kind}" for kind in kinds]
    install(*map(str, folders))
    tests = [str(folder / "tests") for folder in folders]
    for folder in folders:
        laws = ("pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}")
        given = (
            "--evalkit-conformance",
            folder.name,
            "-c",
            str(folder / "pyproject.toml"),
        )
        done = run(*laws, *given, cwd=folder)
        assert "of laws w" not in done, done
        # the package's tests know a data set's hash, and run a command; the model of
        # the template answers anything, and its adapter reads no files
        untried = {*re.findall(r"the law '([\w-]+)' was not tried", done)}
        known = {"version", "failures", "secrets", "runs", "files", "broken", "blank"}
        assert untried <= known, done
    sources = [str(folder / "src") for folder in folders]
    assert " passed" in run("pytest", "-q", "--import-mode=importlib", *tests)
    assert "Success" in run("mypy", "--strict", *sources, *tests)
    run("ruff", "check", *map(str, folders))
    run("ruff", "format", "--check", *map(str, folders))
    for kind in kinds:
        check = ("list", kind, "--check", "--search", f"evalkit-{kind}-own", "--json")
        assert f"evalkit-{kind}-own-{kind}" in run("evalkit", *check)
