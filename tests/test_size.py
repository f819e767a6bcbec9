"""Core stays small: `benchmarks/size.py` counts it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "core" / "src" / "evalkit"

MOST_LINES = 66_500
"""Room for the second edition of the contract, for runs that are checked when they are
read, and for limits of memory and time; to be lowered again."""

MOST_OF_A_MODULE = 400
LONGER = {
    "hookspecs.py": 1300,
}
"""Modules that are longer than the others may be, and how long they may be."""

MOST_OF_A_FUNCTION = 60
LONGER_FUNCTIONS: dict[str, int] = {}


@pytest.fixture(scope="module")
def size() -> ModuleType:
    spec = importlib.util.spec_from_file_location("size", ROOT / "benchmarks/size.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_core_does_not_grow(size: ModuleType) -> None:
    found = size.total(size.sizes(CORE))
    assert found.lines <= MOST_LINES


def test_modules_are_short() -> None:
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines())
        for path in CORE.rglob("*.py")
    }
    allowed = {path: LONGER.get(path.name, MOST_OF_A_MODULE) for path in lengths}
    assert not [path for path in lengths if lengths[path] > allowed[path]]


@pytest.mark.slow
def test_functions_are_short(size: ModuleType) -> None:
    long = [
        (path.name, name, lines)
        for path, name, lines in size.functions(CORE)
        if lines > LONGER_FUNCTIONS.get(name, MOST_OF_A_FUNCTION)
    ]
    assert not long


def test_statements_are_counted_without_docstrings(
    size: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "room").mkdir()
    code = '"""Text."""\n\n# why\ndef f():\n    """Text."""\n    return 1\n'
    (tmp_path / "room" / "one.py").write_text(code)
    (tmp_path / "top.py").write_text("import os\nimport sys\n")
    found = size.sizes(tmp_path)
    assert found == {"room": size.Size(1, 6, 2), ".": size.Size(1, 2, 2)}
    assert size.total(found) == size.Size(2, 8, 4)
    assert list(size.functions(tmp_path)) == [(tmp_path / "room/one.py", "f", 1)]
