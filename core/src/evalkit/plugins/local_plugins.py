"""Plugins in files of Python that no package holds: `FILE.py:OBJECT`.

A user names one, gives a file to a command, or declares plugins in a `pyproject.toml`.
Reading a declaration runs nothing: a file of Python runs when a user names it, or one
of its plugins.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from evalkit.base.failures import hook_failures, located
from evalkit.base.names import is_component_name, is_python_file
from evalkit.errors import PluginContractError, PluginLoadError
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

RAN = "__evalkit_ran__"
"""Name in a module of a file that no package holds: the bytes that ran."""

_TABLE = "tool.evalkit.plugins"
_MAY_DECLARE = re.compile(rb"\bevalkit[\"']?\s*(?:\]|=|\.\s*[\"']?plugins)")
"""As in the ways to write the table; most files need not be read as TOML."""

_given: list[Component] = []

_folders: set[str] = set()
"""Folders of files that ran, whose other files can be imported."""


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


def given_files() -> set[Path]:
    """Return the files of `--plugin`."""
    return {Path(each.value.rpartition(":")[0]).resolve() for each in _given}


def is_declared(component: Component) -> bool:
    """Tell whether a plugin is one that a `pyproject.toml` declares."""
    return component.summary.startswith(f"{DECLARED} ")


def local_plugins(
    kinds: Sequence[str],
) -> tuple[list[Component], list[DiscoveryProblem]]:
    """Return what this command was given and this project declares."""
    path = _project_file()
    declared = [] if path is None else [*_declared_in(path, kinds)]
    problems = [
        DiscoveryProblem(str(path), each) for each in declared if isinstance(each, str)
    ]
    components = [each for each in declared if isinstance(each, Component)]
    return [*_given, *components], problems


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
    files = (each / "pyproject.toml" for each in within)
    return next((path for path in files if path.is_file()), None)


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
            yield _declared(path, kind, name, value)


def _declared(path: Path, kind: str, name: str, value: object) -> Component | str:
    if not is_component_name(name):
        return f"{kind}/{name}: {NAME_RULE}"
    if not isinstance(value, str) or not is_python_file(value):
        return f"{kind}/{name}: must be a text FILE.py:OBJECT, is {value!r}"
    # from its own folder; short if that is this one
    place = value if path.parent == Path.cwd() else path.parent / value
    summary = f"{DECLARED} {path}"
    return Component(kind, name, str(Path(place)), AS_PYTHON, NO_VERSION, summary)


def component_of_file(kind: str, name: str, catalog: Catalog) -> Component:
    """Return the component that an object in a file stands for.

    The file is run, which the user named.

    Args:
        kind: Its kind.
        name: `FILE.py:OBJECT`.
        catalog: What is installed, whose names it must not have; the same
            object in the same file is no other.

    Raises:
        PluginLoadError: The file cannot be run, or has no such object.
        PluginContractError: The object's name is illegal, or is that of an installed
            plugin.
    """
    own = name_of(object_in_file(name))
    component = Component(kind, own, name, AS_PYTHON, NO_VERSION)
    for each in catalog.of_kind(kind):
        is_same = each.is_local and Path(each.value).resolve() == Path(name).resolve()
        if each.name == own and not is_same:
            other = each.origin + (f", in {each.value}" if each.is_local else "")
            raise PluginContractError(
                f"{component.origin}, in {name}, would be called like {other}: give it "
                "another name"
            )
    return component


def name_of(what: Any) -> str:
    """Return the name of a plugin that was passed as a Python object."""
    try:
        own = getattr(what, "name", None)
    except hook_failures() as error:
        from evalkit.base.violations import shorten

        raise PluginLoadError(
            f"{shorten(what)}: its name failed with {located(error)}"
        ) from error
    if not isinstance(own, str):
        own = str(getattr(what, "__name__", type(what).__name__))
        own = own.removeprefix("get_").replace("_", "-")
        own = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", own).strip("-").lower()
    if not is_component_name(own):
        raise PluginContractError(f"{own!r} is not a legal name for a plugin")
    return own


def object_in_file(name: str) -> object:
    """Run a file, and return an object of it.

    Args:
        name: `FILE.py:OBJECT`.

    Raises:
        PluginLoadError: The file cannot be run, or has no such object.
    """
    file, _, attribute = name.rpartition(":")
    module = run_file(Path(file))
    found: object = getattr(module, attribute, None)
    if found is None:
        public = ", ".join(
            each
            for each, value in vars(module).items()
            if not each.startswith("_")
            and getattr(value, "__module__", None) == module.__name__
        )
        raise PluginLoadError(
            f"{file}: there is no {attribute!r} in it; it has {public or 'nothing'}"
        )
    return found


def run_file(path: Path) -> ModuleType:
    """Run a file of Python, once unless it has changed, and return its module.

    Args:
        path: The file.

    Raises:
        PluginLoadError: It cannot be run.
    """
    import hashlib

    try:
        content = path.read_bytes()
    except OSError as error:
        raise PluginLoadError(
            f"{path}: cannot be read: {error.strerror or error}"
        ) from None
    _allow_imports_beside(path.resolve())
    digest = hashlib.sha256(str(path.resolve()).encode() + content).hexdigest()[:12]
    name = f"evalkit_file_{digest}"
    known = sys.modules.get(name)
    if known is not None:
        return known
    module = ModuleType(name)
    module.__file__ = str(path.resolve())
    vars(module)[RAN] = content  # another text may stand there by the end of a run
    sys.modules[name] = module  # where dataclasses and pickle look it up
    try:
        # these bytes, and no byte code that may be of others
        exec(compile(content, module.__file__, "exec"), vars(module))
    except hook_failures() as error:
        del sys.modules[name]
        raise PluginLoadError(f"{path}: running it failed with {located(error)}") from (
            error
        )
    return module


def _allow_imports_beside(path: Path) -> None:
    """Let a file import those beside it, after all that is installed."""
    folder = str(path.parent)
    for name, module in [*sys.modules.items()]:
        origin = getattr(module, "__file__", None) or ""
        is_beside = str(Path(origin).parent) in _folders - {folder}
        if is_beside and "." not in name and (path.parent / f"{name}.py").is_file():
            raise PluginLoadError(
                f"{path}: {name!r} was imported from {origin}, and {folder} has "
                "another one. Rename one of them"
            )
    if folder not in sys.path:
        sys.path.append(folder)
    _folders.add(folder)
