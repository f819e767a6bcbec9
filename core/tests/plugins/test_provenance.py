"""What went into a run."""

import hashlib
import importlib
import importlib.metadata
import platform
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.plugins.provenance import (
    describe_component,
    describe_core,
    environment,
    rows_hash,
    run_id_of,
    source_hash,
)
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver


def test_a_run_id_is_the_hash_of_canonical_json() -> None:
    expected = hashlib.sha256('{"a": [1, "é"], "b": null}'.encode()).hexdigest()[:16]
    assert run_id_of({"b": None, "a": [1, "é"]}) == expected


def test_rows_are_hashed_in_order_but_for_their_keys() -> None:
    rows = [{"id": "1", "label": "é"}, {"id": "2", "label": "\ud800"}]
    text = '{"id": "1", "label": "é"}\n{"id": "2", "label": "\ud800"}\n'
    expected = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    assert rows_hash(rows) == expected
    turned = [dict(reversed(row.items())) for row in rows]
    assert rows_hash(turned) == expected
    assert rows_hash(rows[::-1]) != expected


def test_a_row_whose_value_cannot_be_written_is_hashed_all_the_same() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    one, other = ([{"id": id, "x": Silent()}] for id in "ab")
    assert rows_hash(one) == rows_hash(one) != rows_hash(other)


def make_package(folder: Path, name: str, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_text(text, encoding="utf-8")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Import a package with a sub-package."""
    files = {"__init__.py": "", "a.py": "A = 1\n", "inner/__init__.py": "", "b.txt": ""}
    make_package(tmp_path, "hashed_package", files)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "hashed_package", raising=False)
    __import__("hashed_package.inner")
    return tmp_path / "hashed_package"


def test_the_hash_covers_names_and_contents_of_a_whole_package(package: Path) -> None:
    digest = hashlib.sha256()
    for name in ("__init__.py", "a.py", "b.txt", "inner/__init__.py"):
        digest.update(name.encode() + b"\0" + (package / name).read_bytes() + b"\0")
    assert source_hash("hashed_package.inner") == digest.hexdigest()
    assert source_hash("hashed_package") == digest.hexdigest()


def test_the_hash_changes_with_any_file_except_byte_code(package: Path) -> None:
    before = source_hash("hashed_package")
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__" / "a.pyc").write_bytes(b"x")
    assert source_hash("hashed_package") == before
    (package / "b.txt").write_text("new", encoding="utf-8")
    data = source_hash("hashed_package")
    (package / "a.py").rename(package / "c.py")
    renamed = source_hash("hashed_package")
    (package / "c.py").write_text("A = 2\n", encoding="utf-8")
    assert len({before, data, renamed, source_hash("hashed_package")}) == 4


def test_a_component_is_described_with_its_changed_parameters(mini: Any) -> None:
    bound = Registry().load("metrics", "hits:weight=0.5")
    assert describe_component(bound) == {
        "id": "metrics/hits",
        "distribution": "mini",
        "version": "0.3",
        "parameters": {"weight": 0.5},
        "source_sha256": source_hash(mini.module),
        "resources": {},
        "deterministic": True,
    }


def near(most: float) -> Any:
    def is_near(prediction: str, target: str) -> float:
        return float(abs(len(prediction) - len(target)) <= most)

    return is_near


class Near(evalkit.Metric):
    name = "near"

    def __init__(self, most: float) -> None:
        super().__init__()
        self.most = most

    def score_example(self, prediction: str, target: str) -> float:
        return near(self.most)(prediction, target)  # type: ignore[no-any-return]


def several(most: float) -> Near:
    metric = Near(0.0)
    metric.others = [partial(near, 1.0), partial(near, most)]  # type: ignore[attr-defined]
    return metric


@pytest.mark.parametrize("make", [near, Near, several])
def test_objects_that_one_piece_of_code_makes_differ_by_their_values(make: Any) -> None:
    def describe(most: float) -> Any:
        return describe_component(Resolver(Registry()).metric(make(most)))

    assert describe(1) == describe(1) != describe(2)


def test_a_function_is_described_by_the_module_it_is_in(fake_distribution: Any) -> None:
    fake = fake_distribution(
        "def get_one(predictions, targets):\n    return 1.0\n",
        {"evalkit.metrics": {"one": "get_one"}},
    )
    described = describe_component(Registry().load("metrics", "one"))
    assert described["source_sha256"] == source_hash(fake.module) is not None


def test_the_environment_names_what_computes() -> None:
    found = environment()
    assert found.pop("python") == platform.python_version()
    assert found == {
        name: importlib.metadata.version(name)
        for name in ("evalkit-core", "numpy", "polars", "pyarrow", "pydantic", "pluggy")
    }


def test_the_hash_of_core_is_that_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(evalkit.__file__).parent
    copy = tmp_path / "evalkit"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = describe_core()
    assert before["version"] == importlib.metadata.version("evalkit-core")
    monkeypatch.setattr(evalkit, "__file__", str(copy / "__init__.py"))
    assert describe_core() == before
    with (copy / "scoring" / "metric.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert describe_core()["source_sha256"] != before["source_sha256"]


def test_files_of_parameters_are_resources_of_a_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "listed_metric"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import evalkit\n"
        "from pydantic import BaseModel, FilePath\n"
        "class Lists(BaseModel):\n"
        "    paths: list[FilePath] = []\n"
        "class Listed(evalkit.Metric):\n"
        "    class Parameters(evalkit.Parameters):\n"
        "        names: str = ''\n"
        "        lists: Lists = Lists()\n"
        "    def resources(self):\n"
        "        return {'model': 'small-1'}\n"
        "    def score_example(self):\n"
        "        return 1.0\n",
        "utf-8",
    )
    metadata = tmp_path / "listed_metric-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: listed-metric\nVersion: 1\n", "utf-8")
    (metadata / "entry_points.txt").write_text(
        "[evalkit.metrics]\nlisted = listed_metric:Listed\n", "utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    names = tmp_path / "names.txt"
    names.write_text("Ann\n", "utf-8")

    def described() -> dict[str, str]:
        metric = Registry().load("metrics", "listed", {"names": str(names)})
        resources: dict[str, str] = describe_component(metric)["resources"]
        return resources

    before = described()
    assert sorted(before) == ["model", "parameter names"]
    assert before["model"] == "small-1"
    names.write_text("Bob\n", "utf-8")
    after = described()
    assert {name for name in after if after[name] != before[name]} == {
        "parameter names"
    }
    nested = {"lists": {"paths": [str(names)]}}
    inner = describe_component(Registry().load("metrics", "listed", nested))
    of_names = hashlib.sha256(b"Bob\n").hexdigest()
    assert inner["resources"]["parameter lists.paths.0"] == of_names
    prompt = Registry().load("metrics", "listed", {"names": "a prompt " * 100})
    assert "parameter names" not in describe_component(prompt)["resources"]
