"""Counts the lines and statements of core by room.

A statement is a node of the syntax tree that is a statement, docstrings aside, so that
neither comments nor line breaks count.

    .venv/bin/python benchmarks/size.py [core/src/evalkit]
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CORE = Path(__file__).parents[1] / "core" / "src" / "evalkit"
KERNEL = ("plugins", "base", "scoring", "inference")
"""The rooms that one has to know to follow a score."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Size(NamedTuple):
    """What a module, or several, take up."""

    modules: int
    lines: int
    statements: int

    def plus(self, other: Size) -> Size:
        """Add two sizes."""
        return Size(*(one + two for one, two in zip(self, other, strict=True)))


NOTHING = Size(0, 0, 0)


def size_of(path: Path) -> Size:
    """Measure a module."""
    text = path.read_text(encoding="utf-8")
    return Size(1, len(text.splitlines()), count_statements(ast.parse(text)))


def count_statements(tree: ast.AST) -> int:
    """Count statements without texts that stand alone, which are docstrings."""
    return sum(
        isinstance(node, ast.stmt) and not _is_text(node) for node in ast.walk(tree)
    )


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def sizes(root: Path = CORE) -> dict[str, Size]:
    """Measure the rooms.

    Args:
        root: The folder of the package.

    Returns:
        The size of each room; modules outside of a room are in the room `.`.
    """
    found: dict[str, Size] = {}
    for path in sorted(root.rglob("*.py")):
        room = path.relative_to(root).parts[0] if path.parent != root else "."
        found[room] = found.get(room, NOTHING).plus(size_of(path))
    return found


def total(found: dict[str, Size]) -> Size:
    """Add the sizes of rooms."""
    result = NOTHING
    for size in found.values():
        result = result.plus(size)
    return result


def functions(root: Path = CORE) -> Iterator[tuple[Path, str, int]]:
    """Yield file, name and lines of each function, without its head and docstring."""
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                body = node.body[1:] if _is_text(node.body[0]) else node.body
                lines = node.end_lineno - body[0].lineno + 1 if body else 0
                yield path, node.name, lines


def main(root: Path) -> None:
    """Print the table."""
    found = sizes(root)
    rows = [*sorted(found.items()), ("all", total(found))]
    kernel = {room: size for room, size in found.items() if room in KERNEL}
    rows.append((" + ".join(KERNEL), total(kernel)))
    print(f"{'room':40}{'modules':>8}{'lines':>8}{'statements':>12}")
    for name, size in rows:
        print(f"{name:40}{size.modules:8}{size.lines:8}{size.statements:12}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else CORE)
