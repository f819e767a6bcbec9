"""Finds plugins in the metadata of installed distributions.

Nothing here imports a plugin, or any library outside the standard one: listing
hundreds of plugins costs reading their metadata and no more. A distribution
whose metadata is broken is reported as a problem and hides no other. A user hides
plugins, or shows them alone, by environment variables.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from evalkit.base.names import is_component_name, is_schema_name, normalise_distribution
from evalkit.plugins.components import (
    CORE_KINDS,
    DOTTED,
    EXTENSIONS,
    KINDS,
    Catalog,
    Component,
    DiscoveryProblem,
)
from evalkit.plugins.local_plugins import local_plugins, with_local_plugins
from evalkit.plugins.metadata import (
    CoreCheck,
    DistributionFiles,
    EntryPoint,
    Header,
    UnreadableMetadata,
    parse_entry_points,
    quote,
)

_KNOWN = "known"
"""The group in which a distribution says what others hold: names are ids of components,
and values the other distributions, with underscores."""

_GROUP_PREFIX = "evalkit."

_LONGEST = 80

_OBJECT = re.compile(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\]\s*)?")


def find_components() -> Catalog:
    """Read the metadata of every installed distribution.

    Returns:
        Plugins of all kinds, the kinds, and the problems met.
        Where the path has a distribution twice, the first wins, as for imports. What
        has no package is among them: plugins of files that the command was given, and
        that the project's `pyproject.toml` declares.
    """
    search = _Search()
    for distribution in importlib.metadata.distributions():
        files = DistributionFiles(distribution)
        try:
            search.add(files)
        except UnreadableMetadata as error:
            search.report(files.folder_name, str(error), files)
    return search.result()


class _Search:
    """What was found so far."""

    def __init__(self) -> None:
        self._first: dict[str, DistributionFiles] = {}
        self._declared: list[tuple[list[EntryPoint], Header, DistributionFiles]] = []
        self._extensions: list[Component] = [*CORE_KINDS]
        self._kinds: dict[str, Component] = {}
        self._components: list[Component] = []
        self._withheld: list[Component] = []
        self._problems: list[DiscoveryProblem] = []
        self._notices: list[DiscoveryProblem] = []
        self._known: dict[str, frozenset[str]] = {}
        self._permission = Permission(os.environ)
        self._core = CoreCheck()

    def report(self, distribution: str, message: str, files: DistributionFiles) -> None:
        problem = DiscoveryProblem(distribution, message, files.folder)
        self._problems.append(problem)

    def result(self) -> Catalog:
        self._extensions.sort(key=_kind_order)
        found = Catalog((), (), extensions=tuple(self._extensions))
        self._kinds = {kind.name: kind for kind in found.kinds}
        for declared in self._declared:
            self._add_components(*declared)
        local, problems = local_plugins(kinds_of_files(found))
        everything = [*self._extensions, *self._components, *self._withheld, *local]
        for variable, message in self._permission.unmatched(everything):
            self._problems.append(DiscoveryProblem(variable, message))
        self._problems += problems
        installed = Catalog(
            tuple(sorted(self._components, key=_order)),
            tuple(self._problems),
            tuple(self._notices),
            self._known,
            tuple(sorted(self._withheld, key=_order)),
            found.extensions,
        )
        return with_local_plugins(installed, local, self._permission.refusal)

    def add(self, files: DistributionFiles) -> None:
        """Read one distribution.

        Raises:
            UnreadableMetadata: Its entry points cannot be read.
        """
        name = files.folder_name
        earlier = self._first.get(name)
        if earlier is not None:
            self._note_shadowed(name, files, earlier)
            return
        if not files.is_empty():
            self._first[name] = files
        text = files.entry_points()
        if not text:
            return
        entry_points, malformed = parse_entry_points(text)
        ours = [found for found in entry_points if _may_be_ours(found.group)]
        if not ours and not malformed:
            return
        header = self._header(files)
        if malformed:
            more = f" (and {len(malformed) - 1} more)" if len(malformed) > 1 else ""
            message = f"its entry_points.txt is malformed: {malformed[0]}{more}"
            self.report(header.name, message, files)
        self._declared.append((ours, header, files))
        self._add_extensions(ours, header, files)

    def _note_shadowed(
        self, name: str, files: DistributionFiles, earlier: DistributionFiles
    ) -> None:
        """Say that a copy of a distribution is not used, where that matters."""
        if files.folder == earlier.folder:
            return
        try:
            if _GROUP_PREFIX not in (files.entry_points() or ""):
                return
            hidden, used = files.header().version, earlier.header().version
        except UnreadableMetadata:
            return
        if hidden != used:
            message = (
                f"version {hidden} is not used, because version {used} comes first on "
                f"the path, in {earlier.folder}"
            )
            self._notices.append(DiscoveryProblem(name, message, files.folder))

    def _header(self, files: DistributionFiles) -> Header:
        """Read the header; what it lacks is taken from the folder's name."""
        header = Header()
        try:
            header = files.header()
        except UnreadableMetadata as error:
            self.report(files.folder_name, str(error), files)
        else:
            fields = {"Name": header.name, "Version": header.version}
            lacking = [field for field, value in fields.items() if not value]
            if lacking:
                message = f"its METADATA has no {' and no '.join(lacking)}"
                self.report(header.name or files.folder_name, message, files)
        return header._replace(
            name=header.name or files.folder_name, version=header.version or "unknown"
        )

    def _add_extensions(
        self, entry_points: list[EntryPoint], header: Header, files: DistributionFiles
    ) -> None:
        """Keep what a distribution adds to evalkit itself, such as kinds of plugins."""
        excluded = self._exclusion(header)
        for group, name, value in entry_points:
            kind = group.removeprefix(_GROUP_PREFIX)
            if kind == _KNOWN:
                owner = normalise_distribution(value)
                self._known[name] = self._known.get(name, frozenset()) | {owner}
            if kind not in EXTENSIONS:
                continue
            component = Component(
                *(kind, name, value, header.name, header.version),
                *(header.summary, header.requires, excluded),
            )
            problem = self._extension_problem(component)
            if problem:
                self.report(header.name, f"{component.id}: {problem}", files)
            elif not self._permission.is_disabled(component):
                self._extensions.append(component)

    def _extension_problem(self, component: Component) -> str:
        if component.kind == KINDS and not is_component_name(component.name):
            return _NAME_RULE
        if component.id in {kind.id for kind in CORE_KINDS}:
            return "evalkit defines this kind"
        return value_problem(component.value)

    def _exclusion(self, header: Header) -> str:
        """Say why a distribution is not for this core; "" where it is."""
        verdicts = self._core.verdicts(header.requires)
        return next((one.message for one in verdicts if one.excludes), "")

    def _add_components(
        self, entry_points: list[EntryPoint], header: Header, files: DistributionFiles
    ) -> None:
        excluded = self._exclusion(header)
        seen: set[str] = set()
        verdicts = self._core.verdicts(header.requires)
        messages = [one.message for one in verdicts if not one.excludes]
        for group, name, value in entry_points:
            kind = group.removeprefix(_GROUP_PREFIX)
            if kind in (_KNOWN, *EXTENSIONS):
                continue
            if kind not in self._kinds:
                messages += self._add_misspelt(group, name, value, header)
                continue
            component = Component(
                *(kind, name, value, header.name, header.version),
                *(header.summary, header.requires, excluded),
            )
            refusal = self._permission.refusal(component)
            if refusal:
                self._withheld.append(component._replace(problem=refusal))
                continue
            messages += [excluded] if excluded else []
            illegal = _illegal(self._kinds[kind], name)
            if illegal:
                shown = (
                    component.id if len(name) <= _LONGEST else f"{kind}/{quote(name)}"
                )
                messages.append(f"{shown}: {illegal}")
                self._withheld.append(component._replace(problem=illegal))
            elif component.id in seen:
                messages.append(
                    f"{component.id} is declared twice; the first counts, so give "
                    "the other one another name"
                )
            else:
                seen.add(component.id)
                wrong = value_problem(value)
                if wrong:
                    messages.append(f"{component.id}: {wrong}")
                    component = component._replace(problem=wrong)
                self._components.append(component)
        for message in dict.fromkeys(messages):
            self.report(header.name, message, files)

    def _add_misspelt(
        self, group: str, name: str, value: str, header: Header
    ) -> list[str]:
        """Keep what is declared in a group that is nearly one of ours."""
        meant = _nearest_group(group, [*self._kinds, *EXTENSIONS])
        if meant is None:  # it may be of a later version
            return []
        message = f"there is no group {group}; did you mean {meant}?"
        kind = meant.removeprefix(_GROUP_PREFIX)
        declared = Component(kind, name, value, header.name, header.version)
        self._withheld.append(declared._replace(problem=message))
        return [f"{declared.id}: {message}"]


_NAME_RULE = (
    "not a legal name (lower-case letters, digits and single dashes, at most 62 "
    "characters)"
)


def _illegal(kind: Component, name: str) -> str:
    """Say why no plugin of a kind may have a name; "" where one may."""
    if DOTTED in kind.flags:
        rule = (
            "one to four parts with dots between, each a letter and at most 61 "
            "letters, digits and underscores"
        )
        return "" if is_schema_name(name) else f"not a legal name ({rule})"
    return "" if is_component_name(name) else _NAME_RULE


def _kind_order(extension: Component) -> tuple[bool, str, str]:
    """Put the kinds of core first, in their order."""
    is_core = extension in CORE_KINDS
    name = "" if is_core else extension.name
    return not is_core, name, extension.distribution


def _order(component: Component) -> tuple[str, str, str]:
    return component.kind, component.name, component.distribution


def value_problem(value: str) -> str:
    """Say what is wrong with the value of an entry point.

    Args:
        value: What stands behind the `=`.

    Returns:
        A clause for an error message; "" for a value that can be imported.
    """
    match = _OBJECT.fullmatch(value)
    if match and all(
        part.isidentifier() for group in match.groups("_") for part in group.split(".")
    ):
        return ""
    return f"its entry point {quote(value)} is not of the form package.module:object"


def _may_be_ours(group: str) -> bool:
    """Tell whether a group begins nearly as ours do, in next to no time."""
    return group[:8] == _GROUP_PREFIX or len(_OUR_LETTERS & {*group[:9].lower()}) > 6


_OUR_LETTERS = {*_GROUP_PREFIX}


def _nearest_group(group: str, known: Sequence[str]) -> str | None:
    """Return the known group that another one is nearly called like."""
    import difflib

    ours = [_GROUP_PREFIX + name for name in known]
    near = difflib.get_close_matches(group.lower(), ours, n=1, cutoff=0.86)
    return near[0] if near else None


def iter_kinds(catalog: Catalog, kind: str | None = None) -> Iterator[Component]:
    """Return the plugins to list, kind after kind.

    Args:
        catalog: What is installed.
        kind: The only kind to list. Default: all kinds that are not hidden.

    Yields:
        Plugins, sorted by name within a kind.
    """
    for wanted in (kind,) if kind else catalog.listed_kinds():
        yield from catalog.of_kind(wanted)


def kinds_of_files(catalog: Catalog) -> list[str]:
    """Return the kinds whose plugins may be in a file that no package holds."""
    of_core = [kind.name for kind in CORE_KINDS]
    return [*dict.fromkeys([*of_core, *catalog.listed_kinds()])]


DISABLE = "EVALKIT_DISABLE_PLUGINS"
ALLOW = "EVALKIT_ALLOW_PLUGINS"


class Permission:
    """What the two variables say; each holds ids and distributions, with commas.

    A plugin that is both disabled and allowed is disabled. A variable that is empty
    says nothing.

    Args:
        variables: The environment.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._entries = {
            variable: _read(variables.get(variable, ""))
            for variable in (DISABLE, ALLOW)
        }

    def refusal(self, component: Component) -> str:
        """Say why a component is hidden.

        Args:
            component: The component.

        Returns:
            The reason; "" for one that is not hidden.
        """
        if self.is_disabled(component):
            return f"it is disabled by {DISABLE}"
        if self._entries[ALLOW] and not _matches(self._entries[ALLOW], component):
            return f"it is not among those of {ALLOW}"
        return ""

    def is_disabled(self, component: Component) -> bool:
        """Tell whether the user disabled a component or its distribution."""
        return _matches(self._entries[DISABLE], component)

    def unmatched(self, components: Sequence[Component]) -> Iterator[tuple[str, str]]:
        """Find entries that name nothing that is installed.

        Args:
            components: All that are installed, hidden or not.

        Yields:
            The variable, and a sentence about one entry of it.
        """
        if not any(self._entries.values()):
            return
        ids = {found.id for found in components}
        owners = {normalise_distribution(found.distribution) for found in components}
        for variable, entries in self._entries.items():
            for key, text in entries.items():
                if key not in ids and key not in owners:
                    yield variable, _unmatched_message(key, text, ids, owners)


def _read(value: str) -> dict[str, str]:
    """Return the entries as they are compared, with how they were written."""
    texts = filter(None, (text.strip() for text in value.split(",")))
    return {
        text if "/" in text else normalise_distribution(text): text for text in texts
    }


def _matches(entries: Mapping[str, str], component: Component) -> bool:
    return bool(entries) and (
        component.id in entries
        or normalise_distribution(component.distribution) in entries
    )


def _unmatched_message(key: str, text: str, ids: set[str], owners: set[str]) -> str:
    import difflib

    same_name = sorted(found for found in ids if found.partition("/")[2] == key)
    near = same_name or difflib.get_close_matches(key, sorted(ids | owners), n=1)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return (
        f"{text!r} is neither an installed plugin (KIND/NAME) nor a distribution that "
        f"holds one{hint}"
    )
