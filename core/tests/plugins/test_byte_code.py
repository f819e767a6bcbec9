"""Byte code that is not that of its source is found."""

from __future__ import annotations

import importlib
import itertools
import marshal
import os
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from evalkit.plugins.byte_code import modules_of_other_code

NAMES = (f"byte_coded_{number}" for number in itertools.count())
BEFORE = "def score():\n    return 1.0\n"
AFTER = "def score():\n    return 2.0\n"


class Package:
    """A package with one module, compiled as Python does it."""

    def __init__(self, folder: Path, text: str = BEFORE) -> None:
        self.name = next(NAMES)
        self.source = folder / self.name / "__init__.py"
        self.source.parent.mkdir()
        self.source.write_text(text, "utf-8")
        self.cached = Path(importlib.util.cache_from_source(str(self.source)))
        self.compile()

    def compile(
        self, mode: py_compile.PycInvalidationMode | None = None, file: str = "x.py"
    ) -> None:
        py_compile.compile(
            str(self.source), str(self.cached), file, True, invalidation_mode=mode
        )

    def edit(self, text: str) -> None:
        """Change the source so that its time and size are what they were."""
        status = self.source.stat()
        self.source.write_text(text, "utf-8")
        os.utime(self.source, ns=(status.st_atime_ns, status.st_mtime_ns))

    def load(self) -> ModuleType:
        importlib.invalidate_caches()
        return importlib.import_module(self.name)

    def others(self) -> list[str]:
        self.load()
        return modules_of_other_code(f"{self.name}.within")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    monkeypatch.syspath_prepend(tmp_path)
    made = Package(tmp_path)
    yield made
    sys.modules.pop(made.name, None)


def test_byte_code_of_its_source_is_nothing_to_name(package: Package) -> None:
    assert package.others() == []
    package.cached.unlink()
    assert package.others() == []


def test_a_source_that_was_edited_within_a_second_is_found(package: Package) -> None:
    package.edit(AFTER)
    assert package.load().score() == 1.0
    assert package.others() == [package.name]


def test_byte_code_that_python_does_not_take_is_nothing_to_name(
    package: Package,
) -> None:
    package.edit(f"{AFTER}\n")
    assert package.others() == []
    assert package.load().score() == 2.0
    package.edit(BEFORE)
    package.cached.write_bytes(b"\0\0\0\0" + package.cached.read_bytes()[4:])
    assert package.others() == []


def test_byte_code_that_names_no_time_is_compared(package: Package) -> None:
    package.compile(py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert package.others() == []
    package.edit(f"{AFTER}\n# longer\n")
    assert package.others() == [package.name]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (BEFORE, "def score():\n    return 1.5\n"),
        ("def f():\n def g():\n  return 1\n", "def f():\n def g():\n  return 2\n"),
        (
            "def f():\n try: f()\n except KeyError: pass\n f()\n",
            "def f():\n try: f()\n except NameError: pass\n f()\n",
        ),
    ],
)
def test_any_edit_of_byte_code_is_found(package: Package, one: str, other: str) -> None:
    package.edit(one)
    package.compile()
    assert package.others() == []
    code = marshal.dumps(compile(other, "x.py", "exec"))
    package.cached.write_bytes(package.cached.read_bytes()[:16] + code)
    assert package.others() == [package.name]


@pytest.mark.parametrize("rest", [b"", b"N", b"\xff"])
def test_broken_byte_code_is_found(package: Package, rest: bytes) -> None:
    package.load()
    package.cached.write_bytes(package.cached.read_bytes()[:16] + rest)
    assert package.others() == [package.name]


def test_a_source_that_is_gone_or_no_python_any_more(package: Package) -> None:
    package.load()
    package.edit("".join("(" for _ in BEFORE))
    assert package.others() == [package.name]
    package.source.unlink()
    assert package.others() == []


def test_modules_without_a_file_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("made_up", "made_up.within"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "made_up.none", None)
    odd = ModuleType("made_up.odd")
    odd.__spec__ = object()  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "made_up.odd", odd)
    del sys.modules["made_up"].__spec__
    assert modules_of_other_code("made_up.within") == []
