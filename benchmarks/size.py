"""Counts lines, statements and modules: core by room, distributions, tests and docs.

A statement is a node of the syntax tree that is a statement, docstrings aside, so that
neither comments nor line breaks count.

    .venv/bin/python benchmarks/size.py [REVISION]

With a revision of git, the sizes of that revision stand beside today's.
"""

from __future__ import annotations

import ast
import functools
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
CORE = Path("core/src/evalkit")
DATA = "templates"
"""Folders of Python that is data: it is copied into new packages, never imported."""

REFERENCE = ("reference/hooks.md", "reference/laws.md")
GENERATED = ("cli.md", "coverage.md", "authoring/mistakes.md", *REFERENCE)
"""Pages of `docs` that a script writes as a whole."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Size(NamedTuple):
    """Number of modules, lines and statements."""

    modules: int = 0
    lines: int = 0
    statements: int = 0

    def plus(self, other: Size) -> Size:
        """Return the sum of two sizes."""
        return Size(*(one + two for one, two in zip(self, other, strict=True)))


@functools.cache
def size_of(path: Path) -> Size:
    """Measure a module."""
    text = path.read_text(encoding="utf-8")
    return Size(1, len(text.splitlines()), count_statements(ast.parse(text)))


def count_statements(tree: ast.AST) -> int:
    """Count statements, without docstrings and other texts that stand alone."""
    return sum(
        isinstance(node, ast.stmt) and not _is_text(node) for node in ast.walk(tree)
    )


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def total(sizes: Iterable[Size]) -> Size:
    """Add up sizes."""
    result = Size()
    for size in sizes:
        result = result.plus(size)
    return result


def rooms(core: Path) -> dict[str, Size]:
    """Measure the rooms of core.

    Args:
        core: The folder of the package.

    Returns:
        The size of each room; modules outside of a room are in the room `.`.
    """
    sizes: dict[str, Size] = {}
    for path in sorted(core.rglob("*.py")):
        room = path.relative_to(core).parts[0] if path.parent != core else "."
        sizes[room] = sizes.get(room, Size()).plus(size_of(path))
    return sizes


def distributions(root: Path = ROOT) -> dict[str, Size]:
    """Measure the packages in `plugins`, by folder (`metrics/text`)."""
    return {
        f"{folder.parent.parent.name}/{folder.parent.name}": _python(folder, data=False)
        for folder in sorted(root.glob("plugins/*/*/src"))
    }


def sums(root: Path = ROOT) -> dict[str, Size]:
    """Measure what has a limit: code by its place, and tests.

    Returns:
        Sizes of `core`, `cli`, `plugins` (their `src`, without Python that is data),
        `tests` of all distributions, `examples` and `benchmarks` (without their tests)
        and `data` (Python in data files).
    """
    sizes = {
        "core": _python(root / "core" / "src"),
        "cli": _python(root / "cli" / "src"),
        "plugins": total(distributions(root).values()),
        "tests": _python(root, tests=True).plus(size_of(root / "conftest.py")),
        "examples": _python(root / "examples"),
        "benchmarks": _python(root / "benchmarks"),
        "data": total(
            total(map(size_of, _modules(folder)))
            for folder in root.glob(f"plugins/*/*/src/*/{DATA}")
        ),
    }
    main = ("core", "cli", "plugins")
    return {**sizes, " + ".join(main): total(sizes[name] for name in main)}


def _modules(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        # an environment is no part of the tree, and takes long to look through
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in sorted(names) if name.endswith(".py"))


def _python(folder: Path, *, tests: bool = False, data: bool = True) -> Size:
    """Measure the modules of a folder: those below a folder `tests`, or the others."""
    sizes = []
    for path in _modules(folder):
        parts = path.relative_to(folder).parts
        is_data = DATA in parts
        if ("tests" in parts) == tests and (data or not is_data):
            sizes.append(size_of(path))
    return total(sizes)


def words(root: Path = ROOT) -> int:
    """Count the words of the pages in `docs` that people write."""
    docs = root / "docs"
    return sum(
        len(path.read_text(encoding="utf-8").split())
        for path in docs.rglob("*.md")
        if path.relative_to(docs).as_posix() not in GENERATED
    )


def functions(core: Path = ROOT / CORE) -> Iterator[tuple[Path, str, int]]:
    """Yield file, name and lines of each function, without its head and docstring."""
    for path in sorted(core.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                body = node.body[1:] if _is_text(node.body[0]) else node.body
                lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                yield path, node.name, lines


def _checkout(revision: str, folder: Path) -> Path:
    """Unpack a revision of git."""
    archive = subprocess.run(
        ["git", "archive", revision], cwd=ROOT, capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def _print(
    title: str, measure: Callable[[Path], dict[str, Size]], roots: list[Path]
) -> None:
    tables = [measure(root) for root in roots]
    names = dict.fromkeys(name for table in tables for name in table)
    columns = f"{'modules':>9}{'lines':>9}{'statements':>12}"
    print(f"\n{title:28}{columns * len(roots)}")
    for name in sorted(names):
        row = (table.get(name, Size()) for table in tables)
        cells = (f"{one.modules:9}{one.lines:9}{one.statements:12}" for one in row)
        print(f"{name:28}" + "".join(cells))


def main(revision: str | None = None) -> None:
    """Print the tables, those of a revision first where one is given."""
    with tempfile.TemporaryDirectory() as folder:
        roots = [ROOT]
        if revision:
            roots.insert(0, _checkout(revision, Path(folder)))
        _print("room of core", lambda root: rooms(root / CORE), roots)
        _print("distribution", distributions, roots)
        _print("sum", sums, roots)
        print("\nwords of docs by hand:", *map(words, roots))


if __name__ == "__main__":
    main(*sys.argv[1:2])
