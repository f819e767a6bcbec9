"""Plugins of files that a command was given, or that a project declares.

Reading what a project declares runs nothing of it: a file of Python runs when a user
names it, or one of its plugins.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evalkit.base.names import is_component_name, is_python_file
from evalkit.plugins.components import (
    AS_PYTHON,
    NAME_RULE,
    NO_VERSION,
    Catalog,
    Component,
    DiscoveryProblem,
)

DECLARED = "declared in"
"""How the summary of a plugin begins that a `pyproject.toml` declares."""

_TABLE = "tool.evalkit.plugins"
_MAY_DECLARE = re.compile(rb"\bevalkit[\"']?\s*(?:\]|=|\.\s*[\"']?plugins)")
"""As in the ways to write the table; most files need not be read as TOML."""

_given: list[Component] = []


@contextmanager
def local_plugins_known(components: Sequence[Component]) -> Iterator[None]:
    """Let plugins of files be known by their names meanwhile.

    Args:
        components: The plugins.
    """
    before = [*_given]
    _given.extend(components)
    try:
        yield
    finally:
        _given[:] = before


def is_given(component: Component) -> bool:
    """Tell whether a plugin is of a file that the command was given."""
    return component in _given


def is_declared(component: Component) -> bool:
    """Tell whether a plugin is one that a `pyproject.toml` declares."""
    return component.summary.startswith(f"{DECLARED} ")


def local_plugins(
    kinds: Sequence[str],
) -> tuple[list[Component], list[DiscoveryProblem]]:
    """Return what this command was given and this project declares.

    Args:
        kinds: Kinds that a project may declare.

    Returns:
        The components, and what is wrong with the declarations.
    """
    declared: list[Component] = []
    problems: list[DiscoveryProblem] = []
    path = _project_file()
    if path is not None:
        for found in _declared_in(path, kinds):
            if isinstance(found, Component):
                declared.append(found)
            else:
                problems.append(DiscoveryProblem(str(path), found))
    return [*_given, *declared], problems


def with_local_plugins(
    catalog: Catalog,
    local: Sequence[Component],
    refusal: Callable[[Component], str],
) -> Catalog:
    """Add to what is installed what has no package.

    Args:
        catalog: What is installed.
        local: What has no package.
        refusal: Says why a plugin is hidden; "" where it is not.

    Returns:
        The catalog. What is hidden is withheld, and a declared plugin that is called
        like another one.
    """
    if not local:
        return catalog
    problems: list[DiscoveryProblem] = []
    owners = {each.id: each for each in catalog.components}
    added, withheld = [], []
    for each in local:
        hidden = refusal(each)
        if hidden:
            withheld.append(each._replace(problem=hidden))
            continue
        owner = owners.setdefault(each.id, each)
        if owner is each:
            added.append(each)
            continue
        rule = f"{owner.origin} is called so: give it another name"
        withheld.append(each._replace(problem=rule))
        place = each.summary.removeprefix(f"{DECLARED} ")
        problems.append(DiscoveryProblem(place, f"{each.id}, {each.value}: {rule}"))
    components = [*catalog.components, *added]
    return catalog._replace(
        components=tuple(sorted(components, key=lambda one: (*one[:2], one[3]))),
        withheld=(*catalog.withheld, *withheld),
        problems=(*catalog.problems, *problems),
    )


def _project_file() -> Path | None:
    """Find the `pyproject.toml` of this folder's project.

    Parents are looked into up to the root of the repository; without one, none is: it
    could be anybody's.
    """
    try:
        here = Path.cwd()
    except OSError:  # the folder was removed
        return None
    folders = [here, *here.parents]
    roots = [
        number for number, each in enumerate(folders) if os.path.lexists(each / ".git")
    ]
    within = folders[: roots[0] + 1] if roots else [here]
    found = (each / "pyproject.toml" for each in within)
    return next((path for path in found if path.is_file()), None)


def _declared_in(path: Path, kinds: Sequence[str]) -> Iterator[Component | str]:
    """Yield what a project declares, and what is wrong with that."""
    try:
        content = path.read_bytes()
    except OSError:
        return  # it is for others to say so
    if not _MAY_DECLARE.search(content):
        return
    import tomllib

    try:
        tables: object = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        yield f"is not TOML, so that no [{_TABLE}] of it is read: {error}"
        return
    for key in _TABLE.split("."):
        tables = tables.get(key, {}) if isinstance(tables, dict) else tables
    if not isinstance(tables, dict):
        yield f"[{_TABLE}] is no table, but {tables!r}"
        return
    for kind, names in tables.items():
        if kind not in kinds or not isinstance(names, dict):
            known = ", ".join(kinds)
            yield f"[{_TABLE}] has {kind!r}, which is no table of one of {known}"
            continue
        for name, value in names.items():
            yield _component(path, kind, name, value)


def _component(path: Path, kind: str, name: str, value: object) -> Component | str:
    if not is_component_name(name):
        return f"{kind}/{name}: {NAME_RULE}"
    if not isinstance(value, str) or not is_python_file(value):
        return f"{kind}/{name}: must be a text FILE.py:OBJECT, is {value!r}"
    # from its own folder; short where that is this one
    place = str(path.parent / value)
    if path.parent == Path.cwd():
        place = str(Path(value))
    return Component(
        kind, name, place, AS_PYTHON, NO_VERSION, summary=f"{DECLARED} {path}"
    )
