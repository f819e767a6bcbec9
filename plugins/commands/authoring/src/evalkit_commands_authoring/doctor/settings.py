"""Variables of the environment, and the folders that they name."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from evalkit_commands_authoring.doctor.environment import Environment
from evalkit_commands_authoring.doctor.findings import (
    ERROR,
    WARNING,
    Finding,
    enumerated,
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
