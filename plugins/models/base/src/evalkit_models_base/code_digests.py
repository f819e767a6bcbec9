"""Tells apart what a user's function is made of."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_INSTALLED = {"site-packages", "dist-packages"}

_OURS = "evalkit"


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file.

    Args:
        path: The file.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digests_of_imported(path: Path) -> dict[str, str]:
    """Return the SHA-256 of the user's own files that a file of Python imports.

    These are below its folder or the working folder, and named by an `import` in it, or
    in one of them, also in one that is done later. Nothing is imported.

    Args:
        path: The file.

    Returns:
        Digests by the names of the files, in their order.
    """
    roots = (path.resolve().parent, Path.cwd())
    places = [path.parent, *map(Path, sys.path)]
    found: dict[Path, str] = {}
    left = [path.resolve()]
    while left:
        for used in _imported_by(left.pop(), places):
            root = next((each for each in roots if used.is_relative_to(each)), None)
            if root is None or used in found or _INSTALLED & {*used.parts}:
                continue
            found[used] = used.relative_to(root).as_posix()
            left.append(used)
    found.pop(path.resolve(), None)
    named = sorted((name, used) for used, name in found.items())
    return {name: digest_of(used) for name, used in named}


def _imported_by(file: Path, places: Sequence[Path]) -> Iterator[Path]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):  # who imports it says so
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from _files_of(each.name, places)
        elif isinstance(node, ast.ImportFrom):
            above = node.level  # dots
            bases = [file.parents[above - 1]] if above else places
            name = node.module or ""
            for each in node.names:
                yield from _files_of(f"{name}.{each.name}".strip("."), bases)


def _files_of(name: str, places: Sequence[Path]) -> Iterator[Path]:
    """Return the files of a module and of the packages that it is in."""
    parts = name.split(".")
    if parts[0].partition("_")[0] == _OURS:
        return
    for place in places:
        found = [
            file.resolve()
            for count in range(1, len(parts) + 1)
            for file in _candidates(place.joinpath(*parts[:count]))
            if file.is_file()
        ]
        if found:
            yield from found
            return


def _candidates(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}.py"), path / "__init__.py"
