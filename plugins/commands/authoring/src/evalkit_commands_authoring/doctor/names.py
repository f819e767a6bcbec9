"""What evalkit itself says of what is installed: names that are hidden or clash."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalkit_commands_authoring.doctor.environment import Environment
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
