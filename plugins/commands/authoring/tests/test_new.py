"""What `evalkit new` makes, and what it refuses."""

import ast
import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evalkit_cli.main import cli
from evalkit_commands_authoring.names import names_of
from evalkit_commands_authoring.templates import (
    module_text,
    read_template,
    template_kinds,
)

BREVITY = '''
"""A metric."""
import numpy as np
import evalkit


class Brevity(evalkit.Metric):
    """Share of short predictions."""

    bounds = (0, 1)
    higher_is_better = True

    def score_example(self, prediction):
        return float(np.int64(len(str(prediction))) < 5)


def _count():
    return 0
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["new", *arguments])


def made(*arguments: str) -> Path:
    done = new(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return Path(json.loads(done.stdout)["folder"])


@pytest.mark.parametrize("kind", template_kinds())
def test_a_package_of_each_kind_holds_no_name_of_the_template(kind: str) -> None:
    folder = made(kind, "brand-new", "--author", 'Ada "A" Lovelace')
    files = [path for path in folder.rglob("*") if path.is_file()]
    more = [folder / "conftest.py", *folder.rglob("brand_new.jsonl")]
    assert len(files) == 10 + sum(path.is_file() for path in more)
    for path in files:
        text = path.read_text(encoding="utf-8")
        for left in ("my-thing", "my_thing", "MY_THING", "MyThing", "my_package"):
            assert left not in text, path
        assert "{{" not in text.replace("${{", ""), path
        if path.suffix == ".py":
            ast.parse(text)
    read = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    project = read["project"]
    assert project["name"] == folder.name == f"evalkit-{kind}-brand-new"
    assert project["authors"] == [{"name": 'Ada "A" Lovelace'}]
    [(_, value), *_] = project["entry-points"][f"evalkit.{kind}"].items()
    module, _, target = value.partition(":")
    path = folder / "src" / Path(*module.split("."))
    if kind == "benchmarks":
        assert "name: brand-new" in (path / target).read_text(encoding="utf-8")
    else:
        text = path.with_suffix(".py").read_text(encoding="utf-8")
        assert f" {target}" in text


@pytest.mark.parametrize(
    "name",
    ["class", "true", "none", "2fast", "any", "random", "headline", "evalkit", "x"],
)
@pytest.mark.parametrize("kind", sorted({*template_kinds()} - {"benchmarks"}))
def test_names_that_python_has_already_are_set_apart(kind: str, name: str) -> None:
    text = module_text(kind)
    names = names_of(kind, name, text)
    assert names.module.isidentifier()
    changed = names.put_into(text)
    tree = ast.parse(changed)
    defined = [
        each.name
        for each in ast.walk(tree)
        if isinstance(each, ast.ClassDef | ast.FunctionDef)
    ]
    target = names.put_into(read_template(kind).target)
    assert defined.count(target) == 1
    imported = {
        alias.asname or alias.name
        for each in ast.walk(tree)
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }
    assert target not in imported


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("metric", "Brevity!"), "'brevity' would be one"),
        (
            ("metrik", "a"),
            "there is no kind of plugins called 'metrik': adapters, annot",
        ),
        (("metrc", "a"), "did you mean metric?"),
        (("data-st", "a"), "did you mean dataset?"),
        (("metric", "accuracy"), "metrics/accuracy (evalkit-metrics-classification"),
        (("command", "eval"), "evalkit has a command called 'eval' already"),
        (("command", "cite"), "a command called 'cite' already"),
        (("dataset", "samples"), "evalkit-datasets-samples 0.1.0 is installed already"),
        (("schema", "a" * 63), "at most 62 characters"),
    ],
)
def test_what_cannot_be_a_name_is_refused(
    arguments: tuple[str, str], said: str
) -> None:
    done = new(*arguments)
    assert done.exit_code == 1
    assert said in done.stderr
    assert not any(Path().iterdir())


def test_without_a_terminal_nothing_is_asked() -> None:
    done = new("metric")
    assert done.exit_code == 2
    assert "Missing argument 'NAME'" in done.stderr


def test_a_folder_that_is_there_stays_as_it_is() -> None:
    folder = made("metric", "brevity")
    (folder / "README.md").write_text("mine", encoding="utf-8")
    done = new("metric", "brevity")
    assert done.exit_code == 1
    assert "is there already, and nothing was written" in done.stderr
    assert (folder / "README.md").read_text(encoding="utf-8") == "mine"


def test_a_file_where_the_folder_would_be_is_named() -> None:
    Path("taken").write_text("", encoding="utf-8")
    done = new("metric", "brevity", "--folder", "taken/below")
    assert done.exit_code == 1
    assert "cannot be written" in done.stderr


@pytest.mark.slow
def test_a_file_becomes_a_package_as_it_is() -> None:
    Path("my_metric.py").write_text(BREVITY, encoding="utf-8")
    folder = made("metric", "brevity", "--from", "my_metric.py", "--license", "MIT")
    module = folder / "src/evalkit_metrics_brevity/brevity.py"
    assert module.read_text(encoding="utf-8") == BREVITY
    text = (folder / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    points = {"brevity": "evalkit_metrics_brevity.brevity:Brevity"}
    assert project["entry-points"]["evalkit.metrics"] == points
    assert [each.partition(">")[0] for each in project["dependencies"]] == [
        "evalkit-core",
        "numpy",
    ]
    tests = (folder / "tests/test_brevity.py").read_text(encoding="utf-8")
    assert '"brevity"\n\n\ndef test_the_laws_of_metrics()' in tests
    assert 'check_metric("brevity")' in tests
    used = "$ evalkit eval DATASET --predictions FILE -m brevity\n"
    assert used in (folder / "README.md").read_text(encoding="utf-8")
    assert project["classifiers"] == []  # nothing in it has a type
    assert not (module.parent / "py.typed").exists()
    assert "MIT License" in (folder / "LICENSE").read_text(encoding="utf-8")


def test_a_file_with_types_becomes_a_typed_package() -> None:
    typed = BREVITY.replace("self, prediction)", "self, prediction: object) -> float")
    text = typed.replace("def _count()", "def _count() -> int")
    Path("my_metric.py").write_text(text, encoding="utf-8")
    folder = made("metric", "brevity", "--from", "my_metric.py")
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["classifiers"] == ["Typing :: Typed"]
    assert (folder / "src/evalkit_metrics_brevity/py.typed").is_file()


def test_an_observer_of_a_file_is_told_something_by_its_tests() -> None:
    text = (
        "class Bell:\n    def after_result(self, record):\n        self.last = record\n"
    )
    Path("bell.py").write_text(text, encoding="utf-8")
    folder = made("observer", "bell", "--from", "bell.py")
    tests = (folder / "tests/test_bell.py").read_text(encoding="utf-8")
    assert 'check_observer("bell")' in tests
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "evalkit eval DATASET --predictions FILE --observer bell" in readme
    assert "a `conftest.py`\ngives that" in readme


@pytest.mark.parametrize(
    ("text", "reference", "said"),
    [
        ("def a(): ...\ndef b(): ...\n", "f.py", "It has a, b: name one as f.py:NAME"),
        ("x = 1\n", "f.py", "It has none"),
        ("def a(): ...\n", "f.py:b", "has no class or function 'b' at its top"),
        ("def a(:\n", "f.py", "f.py:1: is no Python"),
        ("from . import x\ndef a(): ...\n", "f.py", "f.py:1: imports a file beside it"),
        ("import other\nfrom g import y\ndef a(): ...\n", "f.py", "f.py:2: imports a"),
        ("import g\ndef a(): ...\n", "f.py", "f.py:1: imports a file beside it"),
        ("import below\ndef a(): ...\n", "f.py", "f.py:1: imports a file beside"),
        ("\0", "f.py", "is no Python"),
        (None, "none.py", "none.py: cannot be read"),
    ],
)
def test_a_file_that_cannot_become_one_is_refused(
    text: str | None, reference: str, said: str
) -> None:
    if text is not None:
        Path("f.py").write_text(text, encoding="utf-8")
        Path("g.py").write_text("y = 1\n", encoding="utf-8")
        Path("below").mkdir()
    done = new("metric", "brevity", "--from", reference)
    assert done.exit_code == 1
    assert said in done.stderr
    assert not Path("evalkit-metrics-brevity").exists()


HEDGES = """
from evalkit import Annotator
import evalkit as kit
from keras import Model


class Base(Annotator):
    version = "1"


class Hedging(Base):
    def annotate_example(self, prediction):
        return 1.0


class HedgingRate(kit.Metric):
    columns = ("hedging",)

    def score_example(self, fields):
        return fields["hedging"]


class Named(kit.Metric):
    name = "hedges-at-all"


@kit.metric(bounds=(0, 1))
def any_hedge(predictions, targets):
    return 1.0


def get_most_hedges(predictions, targets):
    return 1.0


def helper(text):
    return text


class Helper(Model): ...
class _Hidden(kit.Metric): ...
"""


def test_other_plugins_of_a_file_are_plugins_of_its_package() -> None:
    Path("hedges.py").write_text(HEDGES, encoding="utf-8")
    done = new("annotator", "hedges", "--from", "hedges.py")
    assert done.exit_code == 0, done.stderr
    assert "with the annotator hedges and the metric hedging-rate and" in done.stdout
    folder = Path("evalkit-annotators-hedges")
    read = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    module = "evalkit_annotators_hedges.hedges"
    assert read["project"]["entry-points"] == {
        "evalkit.annotators": {"hedges": f"{module}:Hedging"},
        "evalkit.metrics": {
            "hedging-rate": f"{module}:HedgingRate",
            "hedges-at-all": f"{module}:Named",
            "any-hedge": f"{module}:any_hedge",
            "most-hedges": f"{module}:get_most_hedges",
        },
    }
    commands = (folder / "Makefile").read_text(encoding="utf-8")
    assert 'list annotators --check --search "hedges"\n' in commands
    assert 'list metrics --check --search "any-hedge"\n' in commands
    assert "$ evalkit show metrics/hedging-rate\n" in (folder / "README.md").read_text()


@pytest.mark.parametrize(
    ("kind", "reference", "said"),
    [
        ("metric", "h.py", "HedgingRate, Named, any_hedge, get_most_hedges: name one"),
        ("metric", "h.py:Hedging", "h.py: Hedging is an annotator, and a metric is"),
        ("task", "h.py:get_most_hedges", "get_most_hedges is a metric, and a task is"),
    ],
)
def test_a_plugin_of_another_kind_is_refused(
    kind: str, reference: str, said: str
) -> None:
    Path("h.py").write_text(HEDGES, encoding="utf-8")
    done = new(kind, "hedges", "--from", reference)
    assert done.exit_code == 1
    assert said in done.stderr


@pytest.mark.parametrize("kind", ["model", "dataset", "task", "perturbation"])
def test_a_function_is_no_package_of_these(kind: str) -> None:
    Path("f.py").write_text("def answer(inputs): return inputs\n", encoding="utf-8")
    done = new(kind, "brand-new", "--from", "f.py")
    assert done.exit_code == 1
    assert "answer is a function, and a" in done.stderr


@pytest.mark.parametrize("said", ['a """ b', "a \\N{x} b", 'it\'s "so"', "Ünïcode"])
def test_a_description_may_hold_anything(said: str) -> None:
    folder = made("metric", "brevity", "--description", said)
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["description"] == said
    text = (folder / "src/evalkit_metrics_brevity/__init__.py").read_text("utf-8")
    assert ast.get_docstring(ast.parse(text)) == f"{said}."


def test_what_a_user_writes_is_no_name_of_the_template() -> None:
    said = "What my-thing of MyThing {{author}} does"
    author = "Ada {{year}} MyThing\nLovelace"
    folder = made(
        "metric", "plain", "--description", said, "--author", author, "--license", "MIT"
    )
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["description"] == said
    assert project["authors"] == [{"name": "Ada {{year}} MyThing Lovelace"}]
    assert f"{said}: a metric" in (folder / "README.md").read_text()
    assert "Ada {{year}} MyThing Lovelace" in (folder / "LICENSE").read_text()
    package = (folder / "src" / "evalkit_metrics_plain" / "__init__.py").read_text()
    assert said in package
