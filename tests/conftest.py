"""What the tests of whole checkouts share."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that holds this tree as it is, committed or not."""
    folder = tmp_path_factory.mktemp("checkout") / "evalkit"
    for name in filter(None, _git("ls-files", "-z", *_KINDS, cwd=ROOT).split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    _git("init", "--quiet", cwd=folder)
    _git("add", "--all", cwd=folder)
    _git("commit", "--quiet", "--no-verify", "--message", "all", cwd=folder)
    return folder


_KINDS = ("--cached", "--others", "--exclude-standard")
_AUTHOR = ("-c", "user.name=test", "-c", "user.email=test@example.org")


def _git(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        ["git", *_AUTHOR, *arguments],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
