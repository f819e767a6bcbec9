"""Plugins as the metadata of their distributions declare them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.base.names import normalise_distribution
from evalkit.errors import UnknownPluginError

NO_VERSION = "0"
"""The version of what comes from no distribution."""

GIVEN = "given as an object"
"""Stands for the distribution of a plugin that is an object in Python."""

AS_FILE = "given as a file"
"""Stands for the distribution of a data set that is only a file."""

AS_ROWS = "given as rows"
"""The same of one that is rows in Python."""

AS_PYTHON = "given as a file of Python"
"""The same of a plugin that an object in a file of Python is."""

AS_READ = "read from a file"
"""The same of a data set that a reader made of a file."""

WITHOUT_PLUGIN = (AS_FILE, AS_ROWS)
"""The same of data that no plugin loads."""


NAME_RULE = (
    "not a legal name (lower-case letters, digits and single dashes, at most 62 "
    "characters)"
)

_OBJECT = re.compile(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\]\s*)?")


def value_problem(value: str) -> str:
    """Say what is wrong with the value of an entry point."""
    match = _OBJECT.fullmatch(value)
    if match and all(
        part.isidentifier() for group in match.groups("_") for part in group.split(".")
    ):
        return ""
    return f"its entry point {value!r} is not of the form package.module:object"


def required_distribution(requirement: str) -> str:
    """Return the normalised name of the distribution that a `Requires-Dist` names."""
    name = re.match(r"[a-z0-9][-_.a-z0-9]*", requirement, re.IGNORECASE)
    return normalise_distribution(name[0]) if name else ""


class Component(NamedTuple):
    """One plugin as its distribution's metadata declares it, not yet imported."""

    kind: str
    """Its kind, such as `metrics`."""
    name: str
    """The name that users type."""
    value: str
    """The object, `package.module:attribute`."""
    distribution: str
    """What pip installs."""
    version: str
    summary: str = ""
    """The distribution's own one-line description."""
    requires: tuple[str, ...] = ()
    """What the distribution requires, as its metadata spell it."""
    problem: str = ""
    """Why the metadata alone say that it cannot be used; "" where they don't."""
    own_kind: str = ""
    """The kind that lists it, such as `benchmarks`, where it is bound as another."""

    @property
    def id(self) -> str:
        """Kind and name, as in `metrics/accuracy`."""
        return f"{self.own_kind or self.kind}/{self.name}"

    @property
    def flags(self) -> frozenset[str]:
        """Words in brackets behind the object, as in `package.module:KIND [hidden]`."""
        _, bracket, words = self.value.partition("[")
        listed = words.rstrip("] ").split(",") if bracket else ()
        return frozenset(word.strip() for word in listed)

    @property
    def is_local(self) -> bool:
        """Whether it is an object in a file of Python that no package holds."""
        return self.distribution == AS_PYTHON

    @property
    def origin(self) -> str:
        """Id, distribution and version, as error messages give them."""
        version = "" if self.version == NO_VERSION else f" {self.version}"
        return f"{self.id} ({self.distribution}{version})"


class DiscoveryProblem(NamedTuple):
    """Something in a distribution's metadata that could not be used."""

    distribution: str
    """Its name, or that of the environment variable that is at fault."""
    message: str
    folder: str = ""
    """Where its metadata lie."""

    @property
    def text(self) -> str:
        """All of it in one line."""
        where = f" ({self.folder})" if self.folder else ""
        return f"{self.distribution}: {self.message}{where}"


KINDS = "kinds"
"""The group in which a distribution defines kinds of plugins."""

ATTRIBUTES = "attributes"
"""The group in which a distribution says that it obeys attributes of plugins."""

NAMES = "names"
"""The group in which a distribution adds names to the module `evalkit`."""

READERS = "readers"
"""The group in which a distribution reads data sets from files: an entry point is named
after a suffix (`yaml`) or a scheme (`hub`, as in `hub:OWNER/NAME`). Its value is a
function that takes such a text and returns a `ReadPlugin`."""

EXTENSIONS = (KINDS, ATTRIBUTES, NAMES, READERS)
"""Groups of evalkit whose entry points extend evalkit and are not plugins."""

HIDDEN = "hidden"
"""Flag of a kind whose plugins are listed only when the kind is named."""

PACKAGED = "packaged"
"""Flag of a kind whose plugins are in distributions alone, and in no file of Python."""

DOTTED = "dotted"
"""Flag of a kind whose plugins may have names with dots and capitals."""

DATASETS = "datasets"
"""Kind of data sets; also the flag of a kind whose plugins are data sets."""


class ReadPlugin(NamedTuple):
    """What a reader makes of a file."""

    name: str
    """Name of the plugin."""
    plugin: Any
    """The plugin: a class or an instance."""
    files: Sequence[Path]
    """The files that it was read from, the main one first. A run records their
    SHA-256."""


CORE_KINDS = tuple(
    Component(
        KINDS, name, f"evalkit.plugins.bound:{name.upper()}", "evalkit-core", NO_VERSION
    )
    for name in ("tasks", DATASETS, "metrics", "perturbations", "observers")
)
"""The kinds that core defines."""


class Catalog(NamedTuple):
    """All that was found."""

    components: tuple[Component, ...]
    """Sorted by kind, name and distribution."""
    problems: tuple[DiscoveryProblem, ...]
    notices: tuple[DiscoveryProblem, ...] = ()
    """What is worth knowing and harms nothing."""
    known: Mapping[str, frozenset[str]] = {}
    """Names of the distributions that are known to hold a component, by its id, as
    installed distributions say in the group `evalkit.known`."""
    withheld: tuple[Component, ...] = ()
    """Declared but not offered: disabled by the user, with an illegal name, or in a
    group that there is not. Their `problem` says why."""
    extensions: tuple[Component, ...] = CORE_KINDS
    """What distributions add in the groups of `EXTENSIONS`, in order of `kinds`."""

    @property
    def kinds(self) -> list[Component]:
        """The kinds of plugins: those of core, then the others by name."""
        kinds: dict[str, Component] = {}
        for each in self.extensions:
            if each.kind == KINDS:
                kinds.setdefault(each.name, each)
        return [*kinds.values()]

    def extension(self, group: str, name: str) -> Component | None:
        """Return what a distribution adds under a name.

        Args:
            group: One of `EXTENSIONS`.
            name: The name.

        Returns:
            The entry point; None where nobody adds one.

        Raises:
            UnknownPluginError: Several distributions do.
        """
        found = [
            each for each in self.extensions if (each.kind, each.name) == (group, name)
        ]
        if len(found) > 1:
            owners = " and ".join(each.distribution for each in found)
            raise UnknownPluginError(
                f"evalkit.{group}: {name!r} is declared by {owners}. Uninstall one"
            )
        return found[0] if found else None

    def listed_kinds(self) -> list[str]:
        """Return the kinds whose plugins are listed although no kind is named."""
        return [kind.name for kind in self.kinds if HIDDEN not in kind.flags]

    def of_kind(self, kind: str) -> list[Component]:
        """Return the components of one kind, sorted by name."""
        return [each for each in self.components if kind in (each.kind, each.own_kind)]

    def reader_of(self, text: str) -> Component | None:
        """Return what reads a data set that is named `FILE.SUFFIX` or `SCHEME:TEXT`.

        Args:
            text: How a user names a data set; parameters may follow.
        """
        place, colon, _ = text.partition(":")
        scheme = self.extension(READERS, place) if colon else None
        _, dot, suffix = place.rpartition(".")
        return scheme or (self.extension(READERS, suffix) if dot else None)

    def known_owner(self, component_id: str) -> str | None:
        """Return the distribution that is known to hold a component.

        Args:
            component_id: Kind and name of the component.

        Returns:
            The name of the distribution, which need not be installed; None where
            nobody says it, or not all say the same.
        """
        owners = self.known.get(component_id, frozenset())
        return next(iter(owners)) if len(owners) == 1 else None

    def ambiguous(self) -> dict[str, list[Component]]:
        """Return the components that several distributions declare, by id."""
        shared: dict[str, list[Component]] = {}
        for each in self.components:
            shared.setdefault(each.id, []).append(each)
        return {each: found for each, found in shared.items() if len(found) > 1}

    def usual(self, candidates: Sequence[Component]) -> Component | None:
        """Return the component that a name alone means, where several have it.

        Args:
            candidates: Components of one id.

        Returns:
            The one of the distribution that is known to hold it; None where nobody
            says it.
        """
        known = self.known_owner(candidates[0].id)
        found = [
            each
            for each in candidates
            if normalise_distribution(each.distribution) == known
        ]
        return found[0] if len(found) == 1 else None

    def only_with_distribution(self) -> set[Component]:
        """Return the components that only `NAME@DISTRIBUTION` names."""
        return {
            each
            for candidates in self.ambiguous().values()
            for each in candidates
            if each != self.usual(candidates)
        }
