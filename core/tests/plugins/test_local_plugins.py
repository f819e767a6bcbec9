"""Plugins of files in Python: declared by a project, or made known for a while."""

import re
from pathlib import Path

import pytest

import evalkit
from evalkit.catalog import component_of_file, local_plugins_known, run_file
from evalkit.plugins.local_plugins import local_plugins
from evalkit.plugins.provenance import hash_folder, source_hash

CODE = "def get_half(predictions, targets):\n    return 0.5\n"

KINDS = ("tasks", "datasets", "metrics", "perturbations")


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
    ((found,), problems) = local_plugins(KINDS)
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


def test_the_hash_of_a_file_is_of_the_bytes_that_ran(folder: Path) -> None:
    path = folder / "own.py"
    before = source_hash(run_file(path).__name__)
    assert before == hash_folder(folder)
    changed = f"{CODE}import pathlib\np = pathlib.Path({str(path)!r})\n"
    changed += "p.write_text(p.read_text() + '# more')\n"
    path.write_text(changed)
    ran = source_hash(run_file(path).__name__)
    assert path.read_text() == changed + "# more"
    (folder / "as_it_was").mkdir()
    (folder / "as_it_was" / "own.py").write_text(changed)
    assert ran == hash_folder(folder / "as_it_was") != before


def test_a_folder_that_was_removed_declares_nothing(folder: Path) -> None:
    folder.joinpath("own.py").unlink()
    folder.rmdir()
    assert local_plugins(KINDS) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        '[tool.evalkit]\nplugins.metrics.middle = "own.py:get_half"',
        '[tool]\nevalkit.plugins.metrics.middle = "own.py:get_half"',
        '[tool]\nevalkit = { plugins.metrics.middle = "own.py:get_half" }',
        '[ tool . "evalkit" . plugins . metrics ]\nmiddle = "own.py:get_half"',
    ],
)
def test_a_table_may_be_written_in_each_way_of_toml(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    ((found,), problems) = local_plugins(KINDS)
    assert (found.name, found.value, problems) == ("middle", "own.py:get_half", [])


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"\xff[tool.evalkit.plugins.metrics]", "is not TOML, so that no"),
        (b"[tool.evalkit.plugins", "is not TOML, so that no"),
        (b"[tool.evalkit]\nplugins = 'own.py'", "is no table, but 'own.py'"),
        (b"[[tool.evalkit.plugins]]\nname = 'a'", r"is no table, but \[{'name'"),
        (b"[tool]\nevalkit = 3", "is no table, but 3"),
    ],
)
def test_what_cannot_be_read_is_told(folder: Path, content: bytes, rule: str) -> None:
    (folder / "pyproject.toml").write_bytes(content)
    components, (problem,) = local_plugins(KINDS)
    assert not components
    assert re.search(rule, str(problem)), problem
    (folder / "pyproject.toml").write_bytes(b"\xff[project]\nname = 'evalkit'")
    assert local_plugins(KINDS) == ([], [])  # it is for others to say so
