"""Finds plugins in the metadata of installed distributions.

Nothing here imports a plugin, or any library outside the standard one: listing
hundreds of plugins costs reading their metadata and no more. A distribution
whose metadata is broken is reported as a problem and hides no other.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from evalkit.names import is_component_name, normalise_distribution

KINDS = ("tasks", "datasets", "metrics", "perturbations")
"""The plugin kinds, as they are spelled in groups, folders and on the command line."""

OBSERVERS = "observers"
"""Observers are found like plugins but listed only when asked for."""

_GROUP_PREFIX = "evalkit."


class Component(NamedTuple):
    """One plugin as its distribution's metadata declares it, not yet imported."""

    kind: str
    """One of `KINDS`, or `observers`."""
    name: str
    """The name that users type."""
    value: str
    """The object, `package.module:attribute`."""
    distribution: str
    """What pip installs."""
    version: str
    summary: str = ""
    """The distribution's own one-line description."""

    @property
    def id(self) -> str:
        """Kind and name, as in `metrics/accuracy`."""
        return f"{self.kind}/{self.name}"

    @property
    def origin(self) -> str:
        """Id, distribution and version, as error messages give them."""
        return f"{self.id} ({self.distribution} {self.version})"


class DiscoveryProblem(NamedTuple):
    """Something in a distribution's metadata that could not be used."""

    distribution: str
    message: str


class Catalog(NamedTuple):
    """All that was found."""

    components: tuple[Component, ...]
    """Sorted by kind, name and distribution."""
    problems: tuple[DiscoveryProblem, ...]

    def of_kind(self, kind: str) -> list[Component]:
        """Give the components of one kind, sorted by name."""
        return [found for found in self.components if found.kind == kind]


def find_components() -> Catalog:
    """Read the metadata of every installed distribution.

    Returns:
        Components of all kinds and observers, and the problems met. Where the
        same distribution is on the path twice, the first wins, as for imports.
    """
    components: list[Component] = []
    problems: list[DiscoveryProblem] = []
    seen: set[str] = set()
    for distribution in importlib.metadata.distributions():
        try:
            _read_distribution(distribution, seen, components, problems)
        except Exception as error:
            seen.add(_name_of_folder(distribution))
            problems.append(
                DiscoveryProblem(
                    _location(distribution),
                    f"its metadata cannot be read: {type(error).__name__}: {error}",
                )
            )
    components.sort(key=lambda found: (found.kind, found.name, found.distribution))
    return Catalog(tuple(components), tuple(problems))


def _read_distribution(
    distribution: importlib.metadata.Distribution,
    seen: set[str],
    components: list[Component],
    problems: list[DiscoveryProblem],
) -> None:
    text = distribution.read_text("entry_points.txt")
    if not text or f"[{_GROUP_PREFIX}" not in text:
        seen.add(_name_of_folder(distribution))
        return
    header = _read_header(distribution)
    name = header.get("name") or _name_of_folder(distribution)
    if normalise_distribution(name) in seen:
        return
    seen.add(normalise_distribution(name))
    for entry_point in distribution.entry_points:
        if not entry_point.group.startswith(_GROUP_PREFIX):
            continue
        kind = entry_point.group.removeprefix(_GROUP_PREFIX)
        if kind not in (*KINDS, OBSERVERS):
            problems += _misspelt_group(name, kind)
            continue
        if not is_component_name(entry_point.name):
            problems.append(
                DiscoveryProblem(
                    name,
                    f"{kind}/{entry_point.name}: not a legal name (lower-case letters, "
                    "digits and single dashes, at most 62 characters)",
                )
            )
            continue
        components.append(
            Component(
                kind,
                entry_point.name,
                entry_point.value,
                name,
                header.get("version", "unknown"),
                header.get("summary", ""),
            )
        )


def _misspelt_group(distribution: str, kind: str) -> list[DiscoveryProblem]:
    """Report a group that is nearly one of ours; others may be of a later version."""
    import difflib

    near = difflib.get_close_matches(kind, (*KINDS, OBSERVERS), n=1, cutoff=0.8)
    message = f"there is no group {_GROUP_PREFIX}{kind}; did you mean {_GROUP_PREFIX}"
    return [DiscoveryProblem(distribution, f"{message}{name}?") for name in near]


def _read_header(distribution: importlib.metadata.Distribution) -> dict[str, str]:
    """Read the first values of the metadata's header, without an e-mail parser."""
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO")
    header: dict[str, str] = {}
    for line in (text or "").splitlines():
        if not line:
            break
        key, colon, value = line.partition(":")
        if colon:
            header.setdefault(key.lower(), value.strip())
    return header


def _name_of_folder(distribution: importlib.metadata.Distribution) -> str:
    folder = PurePath(_location(distribution)).name
    stem = folder.removesuffix(".dist-info").removesuffix(".egg-info")
    return normalise_distribution(stem.partition("-")[0])


def _location(distribution: importlib.metadata.Distribution) -> str:
    return str(getattr(distribution, "_path", "an installed distribution"))


def iter_kinds(catalog: Catalog, kind: str | None = None) -> Iterator[Component]:
    """Give the components to list, kind after kind.

    Args:
        catalog: What was found.
        kind: One of `KINDS` or `observers`; all of `KINDS` by default.

    Yields:
        Components, sorted by name within a kind.
    """
    for wanted in (kind,) if kind else KINDS:
        yield from catalog.of_kind(wanted)
