"""What evalkit itself says of what is installed: names that are hidden or clash."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from evalkit_commands_authoring.doctor.findings import (
    ERROR,
    NOTE,
    WARNING,
    Finding,
    enumerated,
    pip,
    reinstall,
    remove_folder,
)
from evalkit_commands_authoring.doctor.installed import Environment

if TYPE_CHECKING:
    from evalkit import Component
    from evalkit.catalog import DiscoveryProblem


_HIDING = ("EVALKIT_DISABLE_PLUGINS", "EVALKIT_ALLOW_PLUGINS")
_UNREADABLE = re.compile(
    r"its (METADATA|PKG-INFO|entry_points\.txt) |it has no METADATA"
)


def check_metadata(environment: Environment) -> Iterator[Finding]:
    """Tell of what evalkit could not read or use, and how that is mended."""
    from evalkit.catalog import core_problem

    for problem in environment.catalog.problems:
        yield _finding_of(problem)
    every = environment.catalog.components
    for name, component in {each.distribution: each for each in every}.items():
        if message := core_problem(component):
            mend = pip("install", "--upgrade", name, "evalkit-core")
            meaning = "none of its plugins can be used"
            yield Finding(ERROR, "in step", name, message, meaning, mend)


def _finding_of(problem: DiscoveryProblem) -> Finding:
    name, message = problem.distribution, problem.message
    if name in _HIDING:
        return Finding(
            WARNING,
            "variables",
            name,
            message,
            "this entry of it does nothing",
            f"correct it, or: unset {name}",
        )
    if _UNREADABLE.match(message):
        mend = f"{reinstall(name)}; if nobody needs it: {remove_folder(problem.folder)}"
        meaning = "plugins that it declares are not found"
        return Finding(ERROR, "metadata", _where(problem), message, meaning, mend)
    if name.endswith("pyproject.toml"):
        mend = f"correct [tool.evalkit.plugins] in {name}"
        return Finding(WARNING, "local", name, message, "it is not known", mend)
    return Finding(
        WARNING,
        "metadata",
        _where(problem),
        message,
        "the plugin cannot be used, or not under this name",
        f"tell its author; or: {pip('uninstall', '--yes', name)}",
    )


def _where(problem: DiscoveryProblem) -> str:
    return f"{problem.distribution} ({problem.folder})"


def check_shadowed(environment: Environment) -> Iterator[Finding]:
    """Find copies of distributions, and commands, that something else hides."""
    for notice in environment.catalog.notices:
        yield Finding(
            WARNING,
            "shadowed",
            _where(notice),
            notice.message,
            "what is run is not what was installed there",
            f"uninstall one of the two, or: {remove_folder(notice.folder)}",
        )
    for found in environment.catalog.of_kind("commands"):
        if found.name in environment.own_commands:
            yield Finding(
                NOTE,
                "shadowed",
                found.origin,
                f"evalkit's own command {found.name} comes first",
                "the name alone runs evalkit's own",
                f"evalkit {found.name}@{found.distribution}",
            )


def check_clashes(environment: Environment) -> Iterator[Finding]:
    """Find names that several distributions declare."""
    catalog = environment.catalog
    for clashing, found in sorted(catalog.ambiguous().items()):
        usual = catalog.usual(found)
        others = [each for each in found if each != usual]
        names = " or ".join(f"{each.name}@{each.distribution}" for each in found)
        yield Finding(
            WARNING,
            "clashes",
            clashing,
            f"is declared by {enumerated([_owner(each) for each in found])}",
            f"the name alone means that of {usual.distribution}"
            if usual
            else "the name alone is refused",
            f"write {names}; or: " + pip("uninstall", "--yes", others[0].distribution),
        )


def _owner(component: Component) -> str:
    return f"{component.distribution} {component.version}"


def check_hidden(environment: Environment) -> Iterator[Finding]:
    """Tell which variable hides how many plugins."""
    for variable in _HIDING:
        hidden = [
            found.id
            for found in environment.catalog.withheld
            if found.problem.endswith(variable)
        ]
        if hidden:
            plugins = "plugin" if len(hidden) == 1 else "plugins"
            yield Finding(
                NOTE,
                "hidden",
                variable,
                f"hides {len(hidden)} {plugins}: {enumerated(hidden)}",
                "they are not listed, and refused by name",
                f"unset {variable}",
            )


_GIB = 1 << 30
_LEAST_FREE = _GIB
_LARGE = 20 * _GIB
"""What may be kept of a kind that is never removed by itself."""

_OF_DEVELOPERS = re.compile(r"EVALKIT_(RELEASE|TEST_\w+)")
_VARIABLE = re.compile(r"\bEVALKIT_[A-Z0-9]+(?:_[A-Z0-9]+)*\b")


def check_variables(environment: Environment) -> Iterator[Finding]:
    """Find variables called like evalkit's own that nothing reads."""
    given = [
        name
        for name in sorted(environment.variables)
        if name.startswith("EVALKIT_") and not _OF_DEVELOPERS.fullmatch(name)
    ]
    known = _read_variables(environment) if given else set()
    for name in given:
        if name in known:
            continue
        near = difflib.get_close_matches(name, sorted(known), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        yield Finding(
            WARNING,
            "variables",
            name,
            f"is read by nothing that is installed{hint}",
            "setting it does nothing",
            f'export {near[0]}="${name}"; unset {name}' if near else f"unset {name}",
        )


def _read_variables(environment: Environment) -> set[str]:
    """Collect the variables that the source of evalkit and its plugins names."""
    packages = {"evalkit", "evalkit_cli"} | {
        module.partition(".")[0]
        for each in environment.of_evalkit
        for module in each.modules
    }
    found: set[str] = set()
    for package in packages:
        spec = PathFinder.find_spec(package)
        if spec is None or not spec.origin:
            continue
        origin = Path(spec.origin)
        is_package = origin.name == "__init__.py"
        for file in origin.parent.rglob("*.py") if is_package else (origin,):
            found |= {*_VARIABLE.findall(file.read_text("utf-8", "replace"))}
    return found


def check_cache(environment: Environment) -> Iterator[Finding]:
    """Find out whether things can be kept, and whether that is too much."""
    from evalkit.places import cache_folder

    folder = cache_folder()
    place = next(each for each in (folder, *folder.parents) if each.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        what = "cannot be written to" if place.is_dir() else "is no folder"
        yield Finding(
            ERROR,
            "cache",
            str(folder),
            f"{place} {what}" if place != folder else what,
            "nothing can be fetched, and no reply of a model is kept",
            "export EVALKIT_CACHE_DIR=FOLDER, of one that you may write to",
        )
        return
    free = shutil.disk_usage(place).free
    if free < _LEAST_FREE:
        yield Finding(
            WARNING,
            "cache",
            str(folder),
            f"has {free / _GIB:.2f} GiB free",
            "what is fetched next may not fit",
            "evalkit cache --clear all",
        )
    yield from _sizes(folder)


def _sizes(folder: Path) -> Iterator[Finding]:
    from evalkit_cli.commanding import kept_by_kind

    for kept in kept_by_kind():
        if kept.size > _LARGE:
            yield Finding(
                WARNING,
                "cache",
                str(folder),
                f"its {kept.kind} take {kept.size / _GIB:.1f} GiB, more than "
                f"{_LARGE / _GIB:g}",
                "they may be removed, and are fetched or asked for again when needed",
                f"evalkit cache --clear {kept.kind}",
            )


def check_data(environment: Environment) -> Iterator[Finding]:
    """Find out whether the folder of publishers' files is there, and is looked into."""
    given = environment.variables.get("EVALKIT_DATA_DIR")
    if not given:
        return
    folder = Path(given)
    if not folder.is_dir():
        yield Finding(
            ERROR,
            "data",
            given,
            "EVALKIT_DATA_DIR names no folder",
            "files that data sets need are fetched, or said to be missing",
            f"mkdir -p {shlex.quote(given)}, or: unset EVALKIT_DATA_DIR",
        )
        return
    below = sorted(each.name for each in folder.iterdir() if each.is_dir())
    known = {found.name for found in environment.catalog.of_kind("datasets")}
    if not known & {*below}:
        yield Finding(
            WARNING,
            "data",
            given,
            "no folder in it is called like an installed data set"
            + (f" (it has {enumerated(below)})" if below else ""),
            "nothing of it is used",
            f"put the files of a data set into {given}/NAME: evalkit list datasets",
        )
