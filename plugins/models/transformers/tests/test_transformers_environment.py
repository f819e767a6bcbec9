"""Installs the distribution with torch into an environment, and tests it there.

torch is looked for where the user's settings of pip and uv say. The CPU wheel of
torch 2.13 has 192 MB; that of the default index for Linux needs several GB of libraries
for graphics cards (`UV_TORCH_BACKEND=cpu` names the other one).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[4]
OURS = (
    *("core", "cli", "plugins/commands/predict", "plugins/tasks/text"),
    *("plugins/metrics/classification", "plugins/adapters/extraction"),
    *("plugins/adapters/rows", "plugins/annotators/columns", "plugins/models/base"),
    *("plugins/analysis/compare", "plugins/analysis/robustness"),
    *("plugins/analysis/upkeep", "plugins/commands/perturb"),
    "plugins/commands/publish",
    "plugins/models/transformers",
)
OTHERS = ("torch==2.13.0", "transformers==5.24.0", "pytest")


def run(*command: str | Path, cwd: Path) -> str:
    settings = {
        "UV_SYSTEM_CERTS": os.environ.get("UV_SYSTEM_CERTS", "1"),
        "UV_FIND_LINKS": os.environ.get("PIP_FIND_LINKS", ""),
    }
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("EVALKIT")}
    inherited.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**settings, **inherited},
        capture_output=True,
        encoding="utf-8",
        timeout=550,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_works_where_torch_is_installed(tmp_path: Path) -> None:
    uv = Path(sys.executable).with_name("uv")
    run(uv, "venv", "--quiet", "--python", sys.executable, "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    install = (uv, "pip", "install", "--quiet", "--python", python)
    run(*install, *(ROOT / each for each in OURS), *OTHERS, cwd=tmp_path)
    here = Path(__file__).parent
    tests = [here / f"test_transformers{each}.py" for each in ("", "_refusals")]
    alone = ("-c", os.devnull, "--rootdir", here, "--confcutdir", here)
    options = ("-q", "-p", "no:cacheprovider", "--import-mode=importlib", *alone)
    said = run(python, "-m", "pytest", *options, *tests, cwd=tmp_path)
    assert " passed" in said
    assert "skipped" not in said
    shown = run(tmp_path / "venv/bin/evalkit", "list", "models", cwd=tmp_path)
    assert "transformers" in shown
