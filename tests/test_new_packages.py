"""Packages that `evalkit new` makes, in a fresh environment."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from click.testing import CliRunner

from evalkit_cli.main import cli
from evalkit_commands_authoring.templates import template_kinds

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_each_template_is_installed_tested_listed_and_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    monkeypatch.chdir(tmp_path)
    for kind in kinds:
        new = ("new", kind, f"own-{kind}", "--author", "Nobody")
        made = CliRunner().invoke(cli, new)
        assert made.exit_code == 0, made.output
    folders = [tmp_path / f"evalkit-{kind}-own-{kind}" for kind in kinds]
    install(*map(str, folders))
    # a package with a conftest.py, which answers for any plugin, is tested alone
    alone = [[each] for each in folders if (each / "conftest.py").exists()]
    for tested in (*alone, [each for each in folders if [each] not in alone]):
        laws = [f"--evalkit-conformance={folder.name}" for folder in tested]
        settings = ("-c", str(tested[0] / "pyproject.toml"), f"--rootdir={tmp_path}")
        tests = [str(folder / "tests") for folder in tested]
        quiet = ("-q", "-p", "no:cacheprovider")
        done = run("pytest", *quiet, *settings, *laws, *tests, cwd=tested[0])
        assert "of laws w" not in done, done
        # the package's tests know a data set's hash, and run a command; the model of
        # the template answers anything, and its adapter reads no files
        untried = {*re.findall(r"the law '([\w-]+)' was not tried", done)}
        known = {"version", "failures", "secrets", "runs", "files", "broken", "blank"}
        assert untried <= known, done
    sources = [str(folder / part) for folder in folders for part in ("src", "tests")]
    # with the settings of this tree, as strict, whose cache knows evalkit already
    assert "Success" in run("mypy", *sources, by=Path(sys.executable), cwd=ROOT)
    run("ruff", "check", *map(str, folders))
    run("ruff", "format", "--check", *map(str, folders))
    check = ("list", "--check", "--search", "own", "--json")
    listed = run("evalkit", *check)
    assert all(f'"{folder.name}"' in listed for folder in folders), listed
