"""Runs the examples in the docstring of a component."""

from __future__ import annotations

import doctest
import io
import sys
from collections.abc import Iterator
from typing import Any

from evalkit.catalog import Component, import_component

_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def wrong_examples(component: Component) -> Iterator[str]:
    """Run what stands behind `>>>` in a component's docstrings, as doctest does."""
    found = import_component(component)
    owner = found if isinstance(found, type) or callable(found) else type(found)
    runner = doctest.DocTestRunner(verbose=False, optionflags=_OPTIONS)
    for test in _documented(owner):
        said = io.StringIO()
        failed = runner.run(test, out=said.write).failed
        if failed:
            yield _first_failure(said.getvalue())


def _documented(owner: Any) -> Iterator[doctest.DocTest]:
    module = sys.modules.get(getattr(owner, "__module__", ""))
    name = getattr(owner, "__qualname__", type(owner).__qualname__)
    finder = doctest.DocTestFinder(exclude_empty=True)
    yield from finder.find(owner, name, module=module)


def _first_failure(report: str) -> str:
    """Return the first of doctest's blocks, without its rule and its file."""
    blocks = [block for block in report.split("*" * 70) if block.strip()]
    _, *lines = blocks[0].strip().splitlines()
    return " ".join(line.strip() for line in lines)
