"""Plugins in a file that no package holds."""

from pathlib import Path

import pytest

import evalkit
from evalkit.errors import (
    MetricError,
    PluginContractError,
    PluginLoadError,
    UnknownPluginError,
)
from evalkit.plugins.components import Catalog, Component
from evalkit.plugins.registry import Registry

FILE = '''
import dataclasses
import evalkit


@dataclasses.dataclass
class Seen:
    count: int = 0


class Brevity(evalkit.Metric):
    """Share of short predictions."""

    class Parameters(evalkit.Parameters):
        words: int = 1

    bounds = (0, 1)
    higher_is_better = True
    interval = "wilson"

    def score_example(self, prediction):
        return float(len(str(prediction).split()) <= self.parameters.words)


def get_first_right(predictions, targets):
    return float(predictions[0] == targets[0])


def get_broken(predictions, targets):
    return 1 / 0


class Films(evalkit.Dataset):
    """Films."""

    name = "my-films"
    task = "mood"

    def load(self, split):
        return []
'''


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my_file.py"
    path.write_text(FILE, encoding="utf-8")
    return path


def registry(*components: Component) -> Registry:
    return Registry(Catalog(components, ()))


def score(metric: str, predictions: list[str]) -> evalkit.Score:
    result = evalkit.score(metric, predictions, predictions, registry=registry())
    return result.scores[0]


def test_an_object_of_a_file_is_a_plugin(file: Path) -> None:
    found = score("./my_file.py:Brevity", ["a", "a b"])
    assert (found.metric, found.value) == ("brevity", 0.5)
    found = score(f"{file}:Brevity:words=2", ["a", "a b"])
    assert (found.metric, found.value) == ("brevity:words=2", 1.0)
    assert score("my_file.py:get_first_right", ["a"]).metric == "first-right"


def test_a_name_of_its_own_is_used(file: Path) -> None:
    bound = registry().load("datasets", "my_file.py:Films")
    assert bound.component.id == "datasets/my-films"
    assert bound.component.origin == "datasets/my-films (given as a file of Python)"


def test_a_changed_file_is_run_again(file: Path) -> None:
    assert score("my_file.py:get_first_right", ["a"]).value == 1.0
    changed = FILE.replace("predictions[0] == targets", "predictions[0] != targets")
    file.write_text(changed, encoding="utf-8")  # as long as before
    assert score("my_file.py:get_first_right", ["a"]).value == 0.0
    assert not (file.parent / "__pycache__").exists()


def test_a_failure_names_the_file_and_the_line(file: Path) -> None:
    with pytest.raises(MetricError, match=r"\(given as a file of Python\).*py:30\)"):
        score("my_file.py:get_broken", ["a"])


def test_an_installed_name_is_not_shadowed(file: Path) -> None:
    installed = Component("metrics", "brevity", "other:Brevity", "other-metrics", "1.0")
    with pytest.raises(
        PluginContractError, match=r"called like metrics/brevity \(other-metrics 1\.0\)"
    ):
        registry(installed).load("metrics", "my_file.py:Brevity")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("none.py:x", None, "none.py: cannot be read: No such file"),
        ("my_file.py:nothing", FILE, "no 'nothing' in it; it has Seen, Brevity, get_"),
        ("my_file.py:nothing", "x = 1\n", "it has nothing"),
        ("my_file.py:x", "1 / 0\n", "running it failed with ZeroDivisionError"),
        ("my_file.py:x", "def f(:\n", "running it failed with SyntaxError"),
        ("my_file.py:x", "import sys\nsys.exit(3)\n", "running it failed with System"),
        ("my_file.py:x", "\0", "running it failed with"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(
    file: Path, name: str, text: str | None, said: str
) -> None:
    if text is not None:
        file.write_text(text, encoding="utf-8")
    for _ in range(2):  # nothing of it stays behind
        with pytest.raises(PluginLoadError) as caught:
            registry().load("metrics", name)
        assert said in str(caught.value)


def test_a_file_without_an_object_is_told_how_to_name_one(file: Path) -> None:
    with pytest.raises(UnknownPluginError, match=r"is named FILE\.py:OBJECT"):
        registry().load("metrics", "./my_file.py")
