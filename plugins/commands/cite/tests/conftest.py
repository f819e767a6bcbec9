"""What the tests of `evalkit cite` share."""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evalkit_cli.main import cli


@pytest.fixture(autouse=True)
def _clean_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("EVALKIT_") and not name.startswith("EVALKIT_TEST"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def invoke() -> Callable[..., Result]:
    """Run a command in this process."""

    def run(*arguments: str, **variables: str) -> Result:
        return CliRunner().invoke(cli, arguments, env=variables)

    return run


@pytest.fixture
def predict(tmp_path: Path) -> Callable[[str, Iterable[str]], str]:
    """Write labels for the ids 1, 2, 3 and so on."""

    def write(name: str, labels: Iterable[str]) -> str:
        rows = [{"id": str(n), "label": label} for n, label in enumerate(labels, 1)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write
