"""The sizes that only fall: `benchmarks/size.py` counts them.

A change that makes something smaller lowers its limit. No limit rises: a new
distribution brings its own.
"""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "core" / "src" / "evalkit"

LINES = {
    "core": 31_247,
    "cli": 12_490,
    "core + cli + plugins": 115_175,
    "tests": 103_438 + 2_640 + 39,  # and those of services/server and commands/submit
    "examples": 382,
    "benchmarks": 8_639,
    "data": 858,
}
STATEMENTS = {"core": 15_698, "core + cli + plugins": 55_944}

WORDS = 67_364
"""Of the pages in `docs` that people write."""

DISTRIBUTIONS = {
    "adapters/rows": 5_228,
    "analysis/compare": 3_979,
    "analysis/ratings": 981,
    "analysis/robustness": 3_305,
    "analysis/suites": 1_500,
    "analysis/upkeep": 725,
    "annotators/columns": 1_085,
    "annotators/judge": 2_100,
    "benchmarks/declared": 2_000,
    "benchmarks/peers": 2_500,
    "commands/exchange": 2_250,
    "commands/perturb": 3_005,
    "commands/publish": 290,
    "commands/site": 1_300,
    "commands/submit": 194,
    "engines/dask": 2_199,
    "metrics/mathematics": 375,
    "models/base": 5_985,
    "models/http": 366,
    "models/openai": 1_536,
    "schemas/standard": 3_712,
    "services/server": 5_178,
    "storage/fsspec": 165,
    "storage/huggingface": 153,
    "storage/s3": 394,
}
"""Lines of what left core, and of new distributions."""

LATER = (
    *("analysis/ratings", "analysis/suites", "benchmarks/declared", "benchmarks/peers"),
    *("commands/exchange", "commands/site", "commands/submit", "engines/dask"),
    "services/server",
)
"""New distributions, which the sums leave out."""

MODULE = 600
"""Lines of a module."""

LONGER_MODULES = {"hookspecs.py": 934}

FUNCTION = 60
"""Lines of a function of core."""


@pytest.fixture(scope="module")
def size() -> ModuleType:
    spec = importlib.util.spec_from_file_location("size", ROOT / "benchmarks/size.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_grows(size: ModuleType) -> None:
    sums, distributions = size.sums(), size.distributions()
    lines = {name: sums[name].lines for name in LINES}
    statements = {name: sums[name].statements for name in STATEMENTS}
    for name in LATER:
        lines["core + cli + plugins"] -= distributions[name].lines
        statements["core + cli + plugins"] -= distributions[name].statements
    left = {name: distributions[name].lines for name in DISTRIBUTIONS}
    counted = [(lines, LINES), (statements, STATEMENTS), (left, DISTRIBUTIONS)]
    grown = [
        f"{name}: {n}, limit {limits[name]}"
        for sizes, limits in (*counted, ({"words": size.words()}, {"words": WORDS}))
        for name, n in sizes.items()
        if n > limits[name]
    ]
    assert not grown, "delete as much as you add: see CONTRIBUTING.md"


def test_modules_are_short() -> None:
    packages = [ROOT / "core/src", ROOT / "cli/src", *ROOT.glob("plugins/*/*/src")]
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines())
        for package in packages
        for path in package.rglob("*.py")
    }
    allowed = {path: LONGER_MODULES.get(path.name, MODULE) for path in lengths}
    assert not [path for path in lengths if lengths[path] > allowed[path]]


def test_functions_are_short(size: ModuleType) -> None:
    assert not [(path, name) for path, name, n in size.functions() if n > FUNCTION]


def test_statements_are_counted_without_docstrings(
    size: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "room").mkdir()
    code = '"""Text."""\n\n# why\ndef f():\n    """Text."""\n    return 1\n'
    (tmp_path / "room" / "one.py").write_text(code)
    (tmp_path / "top.py").write_text("import os\nimport sys\n")
    rooms = size.rooms(tmp_path)
    assert rooms == {"room": size.Size(1, 6, 2), ".": size.Size(1, 2, 2)}
    assert size.total(rooms.values()) == size.Size(2, 8, 4)
    assert list(size.functions(tmp_path)) == [(tmp_path / "room/one.py", "f", 1)]
