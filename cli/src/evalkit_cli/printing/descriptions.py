"""What a plugin is: the first sentence of its docstring, read without importing it."""

from __future__ import annotations

import ast
import os
import re
import sys
from functools import lru_cache
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from evalkit.catalog import hook_failures

if TYPE_CHECKING:
    from evalkit.catalog import Component

_READ_BYTES = 1 << 20
_DEFINITION = re.compile(r"^(?:class|(?:async +)?def) +(\w+)", re.MULTILINE)
_DESCRIPTION = re.compile(r"^description: *(?:[>|].*\n +)?(.+)$", re.MULTILINE)
"""As in the file of a benchmark."""
_QUOTES = re.compile("(\"{3}|'{3})")
_PLAIN_HEADER = re.compile(r"[^\n#]*:\n\s+")
_USUAL_FINDERS = (BuiltinImporter, FrozenImporter, PathFinder)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"(])")


def describe_component(component: Component) -> str:
    """Say in a sentence what a plugin is, without running any of its code."""
    sentence = _first_sentence(component_docstring(component))
    return sentence or ("" if component.is_local else component.summary)


def component_docstring(component: Component) -> str:
    """Return the docstring of a plugin's class or function, from its source."""
    module, _, attribute = component.value.rpartition(":")
    name, dot, _ = attribute.strip().partition(".")
    if dot and (found := _DESCRIPTION.search(_source(module, attribute.strip()))):
        return found[1].strip("\"' ")
    source, begins = _definitions(module.strip())
    begin = begins.get(name)
    return "" if begin is None else _docstring(source[begin:])


@lru_cache(maxsize=256)
def _definitions(module: str) -> tuple[str, dict[str, int]]:
    """Return a module's source, and where its classes and functions begin in it."""
    source = _source(module)
    begins: dict[str, int] = {}
    for definition in _DEFINITION.finditer(source):
        begins.setdefault(definition[1], definition.start())
    return source, begins


def _source(module: str, beside: str = "") -> str:
    """Return the source of a module, which is not imported; "" where there is none.

    The same of a file beside it.

    A file of Python stands for itself; no module is called `py`.
    """
    files = [module]
    if not module.endswith(".py"):
        folder = _folder_of(module.partition(".")[0])
        stem = f"{folder}/{module.replace('.', '/')}"
        files = [f"{stem}.py", f"{stem}/__init__.py"] if folder else []
    if beside and files:
        files = [f"{stem}/{beside}", str(Path(stem).with_name(beside))]
    for file in files:
        try:
            with Path(file).open("rb") as stream:
                return stream.read(_READ_BYTES).decode("utf-8", "replace")
        except (OSError, ValueError):
            continue
    return ""


def _folder_of(package: str) -> str:
    """Return the folder that a package or module is in; "" where nobody finds it.

    `PathFinder` asks every folder for every name, which takes as long as all else that
    `evalkit list` does.
    """
    names = _names((*sys.path,))
    folder = names.get(package) or names.get(f"{package}.py")
    if folder or not package:
        return folder or ""
    try:  # finders of editable installations are anybody's code
        for finder in sys.meta_path:
            usual = finder in _USUAL_FINDERS
            spec = None if usual else finder.find_spec(package, None)
            if spec is not None and spec.origin:
                place = Path(spec.origin)
                inner = spec.submodule_search_locations is not None
                return str(place.parent.parent if inner else place.parent)
    except hook_failures():
        pass
    return ""


@lru_cache(maxsize=1)
def _names(path: tuple[str, ...]) -> dict[str, str]:
    """Return the first folder that holds a name, by name."""
    found: dict[str, str] = {}
    for folder in filter(None, path):
        try:
            for name in os.listdir(folder):  # noqa: PTH208 - names, and quickly
                found.setdefault(name, folder)
        except OSError:  # also an archive
            continue
    return found


def _docstring(definition: str) -> str:
    """Return the docstring of a class or function whose source begins a text."""
    header, quotes, rest = (*_QUOTES.split(definition, maxsplit=1), "", "")[:3]
    text, end, _ = rest.partition(quotes or '"""')
    if end and "\\" not in text and _PLAIN_HEADER.fullmatch(header):
        return text
    raw = header[-1:] if header[-1:] in ("r", "R") else ""
    try:
        # what stands before the docstring is a header, and no statement after it
        [found] = ast.parse(f"{header.removesuffix(raw)}pass").body
        is_first = isinstance(getattr(found, "body", [None])[0], ast.Pass)
        return ast.literal_eval(f"{raw}{quotes}{text}{end}") if is_first else ""
    except (SyntaxError, ValueError):
        return ""


def _first_sentence(documentation: str) -> str:
    paragraph = documentation.strip().partition("\n\n")[0]
    sentence = _SENTENCE_END.split(" ".join(paragraph.split()), maxsplit=1)[0]
    return sentence.removesuffix(".")
