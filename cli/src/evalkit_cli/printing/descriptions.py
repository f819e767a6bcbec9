"""What a plugin is: the first sentence of its docstring, read without importing it."""

from __future__ import annotations

import ast
import os
import re
import sys
import time
from functools import lru_cache
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from evalkit.catalog import hook_failures

if TYPE_CHECKING:
    from evalkit.catalog import Component

_READ_BYTES = 1 << 20
_LOOKS = 20
"""How often in a second it is looked whether a folder has changed."""
_DEFINITION = re.compile(r"^(?:class|(?:async +)?def) +(\w+)", re.MULTILINE)
_QUOTES = re.compile("(\"{3}|'{3})")
_USUAL_FINDERS = (BuiltinImporter, FrozenImporter, PathFinder)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"(])")


def describe_component(component: Component) -> str:
    """Say in a sentence what a plugin is, without running any of its code.

    Args:
        component: The plugin.

    Returns:
        The first sentence of the docstring of its class or function, without its full
        stop; the summary of its distribution where the source has no such docstring,
        as with an object that is made by a call, or cannot be read.
    """
    sentence = _first_sentence(component_docstring(component))
    return sentence or ("" if component.is_local else component.summary)


def component_docstring(component: Component) -> str:
    """Return the docstring of a plugin's class or function, from its source.

    Args:
        component: The plugin, which is not imported.

    Returns:
        The docstring; "" where the source has none.
    """
    module, _, attribute = component.value.rpartition(":")
    name = attribute.strip().partition(".")[0]
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


def _source(module: str) -> str:
    """Return the source of a module, which is not imported; "" where there is none.

    A file of Python stands for itself; no module is called `py`.
    """
    origin = module
    if not module.endswith(".py"):
        spec = _find(module)
        origin = str(spec.origin) if spec is not None and spec.has_location else ""
    if not origin.endswith(".py"):
        return ""
    try:
        with Path(origin).open("rb") as stream:
            return stream.read(_READ_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _find(module: str) -> ModuleSpec | None:
    """Find a module; `find_spec` of a submodule would import the packages above it."""
    package, *inner = module.split(".")
    try:
        spec = _find_top(package)
        for part in inner:
            if spec is None or spec.submodule_search_locations is None:
                return None
            package = f"{package}.{part}"
            locations = list(spec.submodule_search_locations)
            spec = PathFinder.find_spec(package, locations)
    except hook_failures():  # finders of editable installations are anybody's code
        return None
    return spec


def _find_top(package: str) -> ModuleSpec | None:
    """Find a package in the folders of the path that hold its name, else as others do.

    `PathFinder` asks every folder for every name, which takes as long as all else that
    `evalkit list` does.
    """
    file, now = f"{package}.py", int(time.monotonic() * _LOOKS)
    for folder in sys.path:
        names = _names(folder, _changed(folder, now)) if folder else frozenset()
        if package in names or file in names:
            spec = PathFinder.find_spec(package, [folder])
            if spec is not None:
                return spec
    finders = (each for each in sys.meta_path if each not in _USUAL_FINDERS)
    found = (each.find_spec(package, None) for each in finders)
    return next((spec for spec in found if spec is not None), None)


@lru_cache(maxsize=64)
def _names(folder: str, _changed: int) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208 - names, and quickly
    except OSError:  # also an archive
        return frozenset()


@lru_cache(maxsize=256)
def _changed(folder: str, _now: int) -> int:
    """Return when a folder was changed, which is looked at a few times a second."""
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - asked very often
    except OSError:
        return 0


def _docstring(definition: str) -> str:
    """Return the docstring of a class or function whose source begins a text."""
    header, quotes, rest = (*_QUOTES.split(definition, maxsplit=1), "", "")[:3]
    text, end, _ = rest.partition(quotes or '"""')
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
