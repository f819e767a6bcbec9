"""Finds plugins in the metadata of installed distributions, and imports none of them.

Nothing here imports a library outside the standard one: listing hundreds of plugins
costs reading their metadata. A distribution whose metadata are broken is reported as a
problem and hides no other. Environment variables hide plugins, or show them alone.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from evalkit.base.failures import described
from evalkit.base.names import is_component_name, is_schema_name, normalise_distribution
from evalkit.base.violations import shorten
from evalkit.base.wording import did_you_mean
from evalkit.plugins.components import (
    CORE_KINDS,
    DATASETS,
    DOTTED,
    EXTENSIONS,
    HIDDEN,
    KINDS,
    NAME_RULE,
    PACKAGED,
    Catalog,
    Component,
    DiscoveryProblem,
    value_problem,
)
from evalkit.plugins.local_plugins import DECLARED, local_plugins

_KNOWN = "known"
"""The group in which a distribution says what others hold: names are ids of components,
and values the other distributions, with underscores."""

_PREFIX = "evalkit."

_ENTRY_POINTS = "entry_points.txt"

_FIELD = re.compile(r"(?im)^(Name|Version|Summary|Requires-Dist):(.*)$")


class _Declaration(NamedTuple):
    """An entry point of a group of evalkit, or of a group that is nearly one."""

    group: str
    component: Component
    folder: str

    def problem(self, message: str) -> DiscoveryProblem:
        return DiscoveryProblem(self.component.distribution, message, self.folder)


def find_components() -> Catalog:
    """Read the metadata of every installed distribution.

    Returns:
        Plugins of all kinds, the kinds, and the problems met. If the path has a
        distribution twice, the first wins, as for imports. Plugins without a package
        are included: those of files that the command was given, and those that the
        project's `pyproject.toml` declares.
    """
    permission = Permission(os.environ)
    problems: list[DiscoveryProblem] = []
    notices: list[DiscoveryProblem] = []
    declarations = [*_read_distributions(problems, notices)]
    extensions = _find_extensions(declarations, permission, problems)
    catalog = Catalog((), (), extensions=(*CORE_KINDS, *extensions))
    components, withheld = _sort_out(declarations, catalog, permission, problems)
    local, local_problems = local_plugins(kinds_of_files(catalog))
    everything = [*catalog.extensions, *components, *withheld, *local]
    problems += [*permission.unmatched(everything), *local_problems]
    owners = {each.id: each for each in components}
    for each in local:
        problem = permission.refusal(each)
        owner = each if problem else owners.setdefault(each.id, each)
        if owner is not each:
            problem = f"{owner.origin} is called so: give it another name"
            place = each.summary.removeprefix(f"{DECLARED} ")
            message = f"{each.id}, {each.value}: {problem}"
            problems.append(DiscoveryProblem(place, message))
        (withheld if problem else components).append(each._replace(problem=problem))
    return catalog._replace(
        components=tuple(sorted(components, key=_order)),
        problems=tuple(dict.fromkeys(problems)),
        notices=tuple(notices),
        known=_known_owners(declarations),
        withheld=tuple(sorted(withheld, key=_order)),
    )


@cache
def components_on(path: tuple[str, ...]) -> Catalog:
    """Return what this process found first on a path of imports (`sys.path`)."""
    return find_components()


def _read_distributions(
    problems: list[DiscoveryProblem], notices: list[DiscoveryProblem]
) -> Iterator[_Declaration]:
    first: dict[str, importlib.metadata.Distribution] = {}
    for distribution in importlib.metadata.distributions():
        folder = _folder(distribution)
        name = _name_by_folder(folder)
        earlier = first.setdefault(name, distribution)
        try:
            text = _entry_points_text(distribution, folder)
        except (OSError, ValueError) as error:
            if earlier is distribution:
                message = f"its {_ENTRY_POINTS} cannot be read: {described(error)}"
                problems.append(DiscoveryProblem(name, message, folder))
            continue
        if "evalkit" not in text.lower():
            continue
        header, problem = _read_header(name, distribution)
        if earlier is not distribution and _metadata_text(earlier) is not None:
            used = _read_header(name, earlier)[0][1]
            if header[1] != used:
                message = (
                    f"version {header[1]} is not used, because version {used} comes "
                    f"first on the path, in {_folder(earlier)}"
                )
                notices.append(DiscoveryProblem(name, message, folder))
            continue
        if problem:
            problems.append(DiscoveryProblem(header[0], problem, folder))
        try:
            declared = [*_read_entry_points(text)]
        except ValueError as error:
            message = (
                f"its {_ENTRY_POINTS} is malformed, so none of its plugins is known: "
                f"{error}"
            )
            problems.append(DiscoveryProblem(header[0], message, folder))
            continue
        for group, each, value in declared:
            component = Component(group.removeprefix(_PREFIX), each, value, *header)
            yield _Declaration(group, component, folder)


def _folder(distribution: importlib.metadata.Distribution) -> str:
    # importlib.metadata has no public way to say where the metadata lie
    return str(getattr(distribution, "_path", "an unknown folder"))


def _name_by_folder(folder: str) -> str:
    """Return the normalised name as the folder of metadata spells it."""
    parent, name = os.path.split(folder.rstrip("/"))
    name = os.path.basename(parent) if name == "EGG-INFO" else name  # noqa: PTH119
    return normalise_distribution(name.partition("-")[0].partition(".")[0])


def _entry_points_text(
    distribution: importlib.metadata.Distribution, folder: str
) -> str:
    """Read `entry_points.txt`; "" where there is none."""
    text = distribution.read_text(_ENTRY_POINTS)
    path = f"{folder}/{_ENTRY_POINTS}"
    if text is None and os.path.lexists(path):
        text = Path(path).read_text(encoding="utf-8")
    return text or ""


def _read_entry_points(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield group, name and value of each entry point of evalkit's groups.

    importlib.metadata says nothing of a malformed line, and is slow.
    """
    group = ""
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        name, equals, value = map(str.strip, line.partition("="))
        if line[:1] == "[" and line[-1:] == "]":
            group = line[1:-1]
        elif name and equals and line[0] not in "[#;":
            if group.lower().startswith("evalkit"):
                yield group, name, value
        elif line and line[0] not in "#;":
            raise ValueError(
                f"line {number}, {shorten(line)}, is not of the form name = object"
            )


_Header = tuple[str, str, str, tuple[str, ...]]
"""Name, version, summary and requirements of a distribution."""


def _read_header(
    name: str, distribution: importlib.metadata.Distribution
) -> tuple[_Header, str]:
    """Read the metadata of a distribution, and say what is wrong with them."""
    unknown = name, "unknown", "", ()
    try:
        text = _metadata_text(distribution)
    except (OSError, ValueError) as error:
        return unknown, f"its METADATA cannot be read: {described(error)}"
    if text is None:
        return unknown, "it has no METADATA"
    fields: dict[str, list[str]] = {"name": [], "version": [], "summary": []}
    # importlib.metadata would parse the description too, as if it were a mail
    for key, value in _FIELD.findall(text.partition("\n\n")[0]):
        fields.setdefault(key.lower(), []).append(value.strip())
    own, version, summary = (
        next(iter(fields[key]), "") for key in ("name", "version", "summary")
    )
    absent = " and no ".join(
        key for key, value in (("Name", own), ("Version", version)) if not value
    )
    requires = tuple(fields.get("requires-dist", ()))
    header = own or name, version or "unknown", summary, requires
    return header, f"its METADATA has no {absent}" if absent else ""


def installed_version(name: str) -> str:
    """Return the version of an installed distribution."""
    return _read_header(name, importlib.metadata.distribution(name))[0][1]


def _metadata_text(distribution: importlib.metadata.Distribution) -> str | None:
    return distribution.read_text("METADATA") or distribution.read_text("PKG-INFO")


def _find_extensions(
    declarations: Iterable[_Declaration],
    permission: Permission,
    problems: list[DiscoveryProblem],
) -> list[Component]:
    """Return what distributions add to evalkit itself, such as kinds of plugins."""
    extensions: list[Component] = []
    for declaration in declarations:
        component = declaration.component
        if component.kind not in EXTENSIONS:
            continue
        problem = value_problem(component.value)
        if component.kind == KINDS and not is_component_name(component.name):
            problem = NAME_RULE
        if component.id in {kind.id for kind in CORE_KINDS}:
            problem = "evalkit defines this kind"
        if problem:
            problems.append(declaration.problem(f"{component.id}: {problem}"))
        elif not permission.is_disabled(component):
            extensions.append(component)
    return sorted(extensions, key=lambda each: (each.name, each.distribution))


def _sort_out(
    declarations: Iterable[_Declaration],
    catalog: Catalog,
    permission: Permission,
    problems: list[DiscoveryProblem],
) -> tuple[list[Component], list[Component]]:
    """Return the plugins that can be used and those that cannot; report problems."""
    kinds = {kind.name: kind for kind in catalog.kinds}
    components: list[Component] = []
    withheld: list[Component] = []
    seen: set[tuple[str, str]] = set()
    for declaration in declarations:
        component = declaration.component
        kind = kinds.get(component.kind)
        if kind is None:
            withheld += _misspelt(declaration, [*kinds, *EXTENSIONS], problems)
            continue
        refusal = permission.refusal(component)
        if refusal:
            withheld.append(component._replace(problem=refusal))
            continue
        illegal = _name_problem(kind, component.name)
        if illegal:
            withheld.append(component._replace(problem=illegal))
            problems.append(declaration.problem(f"{component.id[:200]}: {illegal}"))
            continue
        if (component.id, component.distribution) in seen:
            message = (
                f"{component.id} is declared twice; the first counts, so give the "
                "other one another name"
            )
            problems.append(declaration.problem(message))
            continue
        seen.add((component.id, component.distribution))
        unusable = value_problem(component.value)
        if unusable:
            problems.append(declaration.problem(f"{component.id}: {unusable}"))
        component = component._replace(problem=unusable)
        if DATASETS in kind.flags:
            component = component._replace(kind=DATASETS, own_kind=kind.name)
        components.append(component)
    return components, withheld


def _misspelt(
    declaration: _Declaration, known: Sequence[str], problems: list[DiscoveryProblem]
) -> Iterator[Component]:
    """Return and report what is declared in a group that is nearly one of ours."""
    group = declaration.group
    if group.removeprefix(_PREFIX) in (_KNOWN, *EXTENSIONS):
        return
    import difflib

    ours = [_PREFIX + name for name in known]
    near = difflib.get_close_matches(group.lower(), ours, n=1, cutoff=0.86)
    if not near:  # it may be of a later version
        return
    message = f"there is no group {group}; did you mean {near[0]}?"
    kind = near[0].removeprefix(_PREFIX)
    component = declaration.component._replace(kind=kind, problem=message)
    problems.append(declaration.problem(f"{component.id}: {message}"))
    yield component


def _known_owners(declarations: Iterable[_Declaration]) -> Mapping[str, frozenset[str]]:
    known: dict[str, frozenset[str]] = {}
    for _, component, _ in declarations:
        if component.kind == _KNOWN:
            owner = normalise_distribution(component.value)
            known[component.name] = known.get(component.name, frozenset()) | {owner}
    return known


def _name_problem(kind: Component, name: str) -> str:
    """Say why no plugin of a kind may have a name; "" if one may."""
    if DOTTED in kind.flags:
        rule = (
            "one to four parts with dots between, each a letter and at most 61 "
            "letters, digits and underscores"
        )
        return "" if is_schema_name(name) else f"not a legal name ({rule})"
    return "" if is_component_name(name) else NAME_RULE


def _order(component: Component) -> tuple[str, str, str]:
    return component.own_kind or component.kind, component.name, component.distribution


def iter_kinds(catalog: Catalog, kind: str | None = None) -> Iterator[Component]:
    """Return the plugins to list, kind after kind.

    Args:
        catalog: What is installed.
        kind: The only kind to list. Default: all kinds that are not hidden.

    Yields:
        Plugins, sorted by name within a kind.
    """
    own = catalog.components if kind is None else catalog.of_kind(kind)
    for name in (kind,) if kind else catalog.listed_kinds():
        yield from (e for e in own if kind or e.id.startswith(f"{name}/"))


def kinds_of_files(catalog: Catalog) -> list[str]:
    """Return the kinds whose plugins may be in a file that no package holds."""
    return [kind.name for kind in catalog.kinds if not {HIDDEN, PACKAGED} & kind.flags]


DISABLE = "EVALKIT_DISABLE_PLUGINS"
ALLOW = "EVALKIT_ALLOW_PLUGINS"


class Permission:
    """Which plugins the two environment variables hide.

    Each variable holds ids and distributions, separated by commas. A plugin that is
    both disabled and allowed is disabled. An empty variable has no effect.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._entries = {
            variable: {
                text if "/" in text else normalise_distribution(text): text
                for text in map(str.strip, variables.get(variable, "").split(","))
                if text
            }
            for variable in (DISABLE, ALLOW)
        }

    def refusal(self, component: Component) -> str:
        """Return the reason why a component is hidden; "" if it is not."""
        if self.is_disabled(component):
            return f"it is disabled by {DISABLE}"
        if self._entries[ALLOW] and not self._names(ALLOW, component):
            return f"it is not among those of {ALLOW}"
        return ""

    def is_disabled(self, component: Component) -> bool:
        """Tell whether the user disabled a component or its distribution."""
        return self._names(DISABLE, component)

    def _names(self, variable: str, component: Component) -> bool:
        entries = self._entries[variable]
        return bool(entries) and (
            component.id in entries
            or normalise_distribution(component.distribution) in entries
        )

    def unmatched(self, components: Sequence[Component]) -> Iterator[DiscoveryProblem]:
        """Yield a problem for each entry that names nothing among all components."""
        if not any(self._entries.values()):
            return
        ids = sorted({found.id for found in components})
        owners = {normalise_distribution(found.distribution) for found in components}
        names = [*ids, *sorted(owners)]
        for variable, entries in self._entries.items():
            for key, text in entries.items():
                if key in names:
                    continue
                same_name = [found for found in ids if found.partition("/")[2] == key]
                hint = f"; did you mean {' or '.join(same_name)}?"
                hint = hint if same_name else did_you_mean(key, names)
                message = (
                    f"{text!r} is neither an installed plugin (KIND/NAME) nor a "
                    f"distribution that holds one{hint}"
                )
                yield DiscoveryProblem(variable, message)
