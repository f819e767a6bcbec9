"""What the tests of whole checkouts share."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from evalkit_cli.main import cli

ROOT = Path(__file__).parents[1]


_COLLECTED = pytest.StashKey[frozenset[str]]()


@pytest.hookimpl(tryfirst=True)  # before a selection by marks
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    names = (item.nodeid.partition("::")[2] for item in items)
    config.stash[_COLLECTED] = frozenset(names)


@pytest.fixture(scope="session")
def collected(pytestconfig: pytest.Config) -> frozenset[str]:
    """Give the names of all tests, within their modules."""
    if pytestconfig.args != pytestconfig.getini("testpaths"):
        pytest.skip("only some of the tests were collected")
    return pytestconfig.stash[_COLLECTED]


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


@pytest.fixture
def run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run evalkit as `run_evalkit` does, but in this process, which is sooner."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        done = CliRunner().invoke(cli, arguments, env=variables, prog_name="evalkit")
        if not isinstance(done.exception, SystemExit | None):
            raise done.exception
        given = ("evalkit", *arguments)
        return subprocess.CompletedProcess(
            given, done.exit_code, done.stdout, done.stderr
        )

    return run


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
