"""Plugins of files in Python: declared by a project, or made known for a while."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import evalkit
from evalkit.catalog import component_of_file, local_plugins_known, run_file
from evalkit.plugins.local_plugins import local_plugins

CODE = "def get_half(predictions, targets):\n    return 0.5\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(CODE)
    return tmp_path


def declare(folder: Path, name: str = "middle") -> None:
    table = f'[tool.evalkit.plugins.metrics]\n{name} = "own.py:get_half"\n'
    (folder / "pyproject.toml").write_text(table)


def test_a_declared_metric_scores_in_python(folder: Path) -> None:
    with pytest.raises(evalkit.UnknownPluginError, match="no metric 'middle'"):
        evalkit.score("middle", ["a"], ["a"])
    declare(folder)
    declared = re.escape(f"declared in {folder / 'pyproject.toml'}")
    with pytest.warns(UserWarning, match=f"own.py:get_half, {declared}"):
        assert evalkit.score("middle", ["a"], ["a"])["middle"].value == 0.5


def test_a_path_is_seen_from_the_folder_of_the_project(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(folder)
    (folder / ".git").mkdir()
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    ((found,), problems) = local_plugins()
    assert found.value == f"{folder / 'own.py'}:get_half"
    assert not problems


def test_a_plugin_is_known_as_long_as_it_is_said_to_be() -> None:
    run_file(Path("own.py"))
    component = component_of_file(
        "metrics", "own.py:get_half", evalkit.Registry().catalog
    )
    with local_plugins_known([component]):
        assert component.is_local
        assert evalkit.score("half", ["a"], ["a"])["half"].value == 0.5
        again = component_of_file(
            "metrics", "./own.py:get_half", evalkit.Registry().catalog
        )
        assert again.name == "half"
    with pytest.raises(evalkit.UnknownPluginError):
        evalkit.score("half", ["a"], ["a"])


def test_a_folder_that_was_removed_declares_nothing(folder: Path) -> None:
    folder.joinpath("own.py").unlink()
    folder.rmdir()
    assert local_plugins() == ([], [])


def test_a_file_that_is_no_text_declares_nothing(folder: Path) -> None:
    (folder / "pyproject.toml").write_bytes(b"\xff[tool.evalkit.plugins.metrics]")
    assert local_plugins() == ([], [])
