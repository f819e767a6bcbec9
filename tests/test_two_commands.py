"""The README's two commands in fresh clones, on every Python that is found."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
MEMBERS = [path.parent for path in ROOT.glob("plugins/*/*/pyproject.toml")]
TRIED = ("3.11", "3.12", "3.13")
# released, but not seen by us yet: tried wherever it is found
UNTRIED = ("3.14",)
OWN = f"{sys.version_info.major}.{sys.version_info.minor}"
HIDDEN = ("VIRTUAL_ENV", "PYTHON", "EVALKIT_", "COV", "MAKE", "MFLAGS", "PYTEST_")

# what leans on the language, its standard library and compiled packages: imports,
# signatures, processes, files, numbers, printed reports
SELECTION = (
    "core/tests/plugins/test_contract.py",
    "core/tests/plugins/test_discovery.py",
    "core/tests/statistics/test_intervals.py",
    "core/tests/parallel/test_workers.py",
    "cli/tests/test_eval.py",
    "plugins/metrics/text/tests",
)


def make(
    *arguments: str, cwd: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run make to success, without what this process was started with."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)
    }
    done = subprocess.run(
        ["make", *arguments],
        cwd=cwd,
        env={**inherited, **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=1100,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


def git(*arguments: str | Path, cwd: Path) -> str:
    command = ["git", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, encoding="utf-8", check=True
    )
    return done.stdout


@pytest.fixture
def clone(checkout: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    git("clone", "--quiet", "--no-hardlinks", checkout, folder, cwd=tmp_path)
    return folder


def find_python(version: str) -> Path | None:
    """Find an interpreter that starts: a shim may stand for one that is not there."""
    name = f"python{version}"
    on_path = [Path(part) / name for part in os.get_exec_path()]
    homes = Path("~/.pyenv/versions").expanduser()
    code = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
    for program in (*on_path, *sorted(homes.glob(f"{version}.*/bin/{name}"))):
        if shutil.which(program) is None:
            continue
        done = subprocess.run(
            [program, "-c", code], capture_output=True, encoding="utf-8", check=False
        )
        if done.returncode == 0 and done.stdout.strip() == version:
            return program
    return None


@pytest.mark.slow
@pytest.mark.timeout(2300)
@pytest.mark.xdist_group("pythons")
@pytest.mark.parametrize("version", [v for v in (*TRIED, *UNTRIED) if v != OWN])
def test_both_commands_end_well_on_further_pythons(
    version: str, clone: Path, tmp_path: Path
) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"not tried on Python {version}: none is found that starts")
    home = tmp_path / "home"
    home.mkdir()
    wheels = os.environ.get("UV_CACHE_DIR", str(Path.home() / ".cache/uv"))
    fresh = {"HOME": str(home), "UV_CACHE_DIR": wheels}
    done = make("demo", f"PYTHON={python}", cwd=clone, **fresh)
    assert re.search(r"^tag +n +vader.* +afinn", done.stdout, re.MULTILINE)
    assert re.search(r"^negation:yes +27 ", done.stdout, re.MULTILINE)
    assert len(list((clone / "runs" / "sample-sentiment").glob("*/run.json"))) == 2
    tests = f"PYTEST_OPTIONS={' '.join(SELECTION)}"
    # what mypy says depends little on the Python: the oldest and the newest are enough
    command = "test" if version == TRIED[-1] else "test-quick"
    done = make(command, f"PYTHON={python}", tests, cwd=clone)
    # types are checked beside the tests, whose dots may stand before what that says
    checked = re.search(r"Success: no issues found in \d+ source", done.stdout)
    assert bool(checked) == (command == "test")
    assert re.search(r"=+ \d+ passed.* =+$", done.stdout, re.MULTILINE)
    started = re.findall(r"platform .* Python (\d+\.\d+)", done.stdout)
    assert started == [version]
    assert git("status", "--porcelain", cwd=clone) == ""


def test_a_program_that_does_not_start_is_no_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = tmp_path / f"python{OWN}"
    shim.write_text("#!/bin/sh\nexit 127\n", encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_python(OWN) is None
    home = tmp_path / ".pyenv" / "versions" / f"{OWN}.0" / "bin"
    home.mkdir(parents=True)
    (home / shim.name).symlink_to(sys.executable)
    assert find_python(OWN) == home / shim.name


def project(folder: Path) -> dict[str, Any]:
    text = (folder / "pyproject.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)["project"]
    return found


@pytest.mark.parametrize("folder", [ROOT, ROOT / "core", ROOT / "cli", *MEMBERS])
def test_what_is_tried_is_said(folder: Path) -> None:
    said = [f"Programming Language :: Python :: {version}" for version in TRIED]
    assert project(folder)["classifiers"] == said
    assert project(folder)["requires-python"] == f">={TRIED[0]}"


def test_the_readme_names_the_two_commands_and_the_pythons() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^make (\w+)", readme, re.MULTILINE)
    assert commands == ["demo", "test"]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.findall(r"^make (.+)$", ci, re.MULTILINE) == ["demo", "test", "test-slow"]
    *others, last = TRIED
    assert f"tested on {', '.join(others)} and {last}" in readme


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ({}, {"UV_SYSTEM_CERTS": "1"}),
        ({"UV_SYSTEM_CERTS": "0"}, {"UV_SYSTEM_CERTS": "0"}),
        (
            {"PIP_CERT": "/pip", "REQUESTS_CA_BUNDLE": "/requests"},
            {"UV_SYSTEM_CERTS": "1", "SSL_CERT_FILE": "/pip"},
        ),
        (
            {"REQUESTS_CA_BUNDLE": "/requests"},
            {"UV_SYSTEM_CERTS": "1", "SSL_CERT_FILE": "/requests"},
        ),
        (
            {"PIP_CERT": "/pip", "SSL_CERT_FILE": "/own"},
            {"UV_SYSTEM_CERTS": "1", "SSL_CERT_FILE": "/own"},
        ),
    ],
    ids=["nothing", "refused", "pip", "requests", "own"],
)
def test_make_trusts_what_pip_trusts(
    given: dict[str, str], used: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("UV_SYSTEM_CERTS", "SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    done = make("--eval=shown: ; @env", "shown", cwd=ROOT, **given)
    shown = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    names = ("UV_SYSTEM_CERTS", "SSL_CERT_FILE")
    assert {name: shown[name] for name in names if name in shown} == used
