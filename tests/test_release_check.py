"""What the dry run of a release finds in wheels, without building any."""

import importlib.util
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    path = ROOT / "release_check.py"
    spec = importlib.util.spec_from_file_location("release_check", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["release_check"] = module
    spec.loader.exec_module(module)
    return module


METADATA = """Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: A wheel
Requires-Python: >=3.11
License-Expression: Apache-2.0
License-File: LICENSE
Description-Content-Type: text/markdown
{more}
[Docs](docs.md) and `[code](code.md)`
"""


def wheel(folder: Path, name: str, version: str = "0.1.0", more: str = "") -> Path:
    module = name.replace("-", "_")
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        info = f"{module}-{version}.dist-info"
        text = METADATA.format(name=name, version=version, more=more)
        archive.writestr(f"{info}/METADATA", text)
        points = f"[evalkit.metrics]\nx = {module}:get_x\n"
        archive.writestr(f"{info}/entry_points.txt", points)
        archive.writestr(f"{module}/__init__.py", "")
    return path


def test_wheels_that_fit_each_other_have_no_problem(
    check: ModuleType, tmp_path: Path
) -> None:
    required = "Requires-Dist: evalkit-core<0.2,>=0.1\nRequires-Dist: numpy>=2\n"
    paths = [
        wheel(tmp_path, "evalkit-core"),
        wheel(tmp_path, "evalkit-metrics-x", more=required),
    ]
    assert not [*check.problems([check.read_wheel(path) for path in paths])]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("Requires-Dist: evalkit-core<0.1\n", "<0.1, and 0.1.0 is built"),
        ("Requires-Dist: evalkit>=1\n", "which is another project"),
        ("Requires-Dist: evalkit-cli>=0.1\n", "which is not built"),
        ("Requires-Dist: numpy @ file:///numpy\n", "which is an address"),
    ],
)
def test_a_requirement_that_nobody_could_meet_is_found(
    check: ModuleType, tmp_path: Path, more: str, problem: str
) -> None:
    paths = [wheel(tmp_path, "evalkit-core"), wheel(tmp_path, "evalkit-a", more=more)]
    (found,) = check.problems([check.read_wheel(path) for path in paths])
    assert found.startswith("evalkit-a: requires ")
    assert found.endswith(problem)


def test_versions_names_metadata_and_entry_points_are_compared(
    check: ModuleType, tmp_path: Path
) -> None:
    paths = [wheel(tmp_path, "evalkit-core"), wheel(tmp_path, "other", "0.2.0")]
    found = [*check.problems([check.read_wheel(path) for path in paths])]
    assert found == [
        "the versions are not in step: 0.1.0, 0.2.0",
        "other: its name does not begin with evalkit-",
    ]
    whole = check.read_wheel(paths[0])
    del whole.metadata["Summary"]
    bare = whole._replace(names=frozenset())
    field, point = check.problems([bare])
    assert field == "evalkit-core: its metadata have no Summary"
    assert "has x = evalkit_core:get_x, which the wheel does not hold" in point


def test_the_page_names_every_distribution_to_reserve() -> None:
    page = (ROOT / "docs/releasing.md").read_text("utf-8")
    named = set(re.findall(r"`(evalkit-[a-z0-9-]+)`", page))
    files = [ROOT / "pyproject.toml", ROOT / "core/pyproject.toml"]
    files += [ROOT / "cli/pyproject.toml", *ROOT.glob("plugins/*/*/pyproject.toml")]
    projects = [tomllib.loads(file.read_text("utf-8"))["project"] for file in files]
    assert named == {project["name"] for project in projects}
    assert len({project["version"] for project in projects}) == 1
