"""Runs of others are opened without any code that lies beside them."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SPY = 'open("code-was-run", "w").close()\n\n\nclass Spy: ...\n'
METADATA = "Metadata-Version: 2.1\nName: spying\nVersion: 1\n"
ENTRY_POINTS = """
[evalkit.metrics]
spied = spying:Spy
[evalkit.observers]
spy = spying:Spy
[evalkit.commands]
cite = spying:Spy
"""
COMMANDS = {
    "runs": 0,
    "show latest": 0,
    "cite latest": 0,
    "compare ONE OTHER": 0,
    "verify latest": 1,
    "rescore latest -m accuracy": 0,
    "merge ONE OTHER": 1,
}
"""Each with its exit code."""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make runs whose records name code that lies in the same folder."""
    folder = tmp_path_factory.mktemp("downloaded")
    command = [sys.executable, "-P", "-m", "evalkit_cli"]
    made = [*command, "eval", "sample-sentiment"]
    subprocess.run(made, cwd=folder, check=True, capture_output=True)
    for path in folder.glob("runs/*/*/run.json"):
        record = json.loads(path.read_text("utf-8"))
        for component in record["components"]:
            if component["id"].startswith("metrics/"):
                component.update(id="metrics/spied", distribution="spying")
            else:
                component["distribution"] = "./spying.py"
        path.write_text(json.dumps(record), "utf-8")
    for name in ("spying.py", "json.py", "evalkit.py"):
        (folder / name).write_text(SPY, "utf-8")
    (folder / "spying-1.dist-info").mkdir()
    (folder / "spying-1.dist-info" / "METADATA").write_text(METADATA, "utf-8")
    (folder / "spying-1.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


@pytest.fixture
def downloaded(published: Path, tmp_path: Path) -> Path:
    """Copy the folder, as a command may write into it."""
    return shutil.copytree(published, tmp_path / "downloaded")


@pytest.mark.parametrize(
    ("command", "as_module"),
    [*((each, False) for each in COMMANDS), ("verify latest", True)],
)
@pytest.mark.slow
def test_code_beside_a_run_is_not_run(
    downloaded: Path,
    run_evalkit: Callable[..., subprocess.CompletedProcess[str]],
    command: str,
    as_module: bool,
) -> None:
    one, other, *_ = sorted(
        path.parent.name[-8:] for path in downloaded.glob("runs/*/*/run.json")
    )
    words = command.replace("ONE", one).replace("OTHER", other).split()
    if as_module:
        started = [sys.executable, "-m", "evalkit_cli", *words]
        done = subprocess.run(
            started, cwd=downloaded, capture_output=True, encoding="utf-8", check=False
        )
    else:
        done = run_evalkit(*words, cwd=downloaded)
    assert not (downloaded / "code-was-run").exists()
    assert done.returncode == COMMANDS[command], done.stderr
    if words[0] in ("cite", "verify"):
        assert "'spied@spying'" in done.stdout + done.stderr
