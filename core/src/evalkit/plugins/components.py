"""A plugin as the metadata of its distribution declare it."""

from __future__ import annotations

from typing import NamedTuple

NO_VERSION = "0"
"""The version of what comes from no distribution."""


class Component(NamedTuple):
    """One plugin as its distribution's metadata declares it, not yet imported."""

    kind: str
    """One of `KINDS`, `observers` or `commands`."""
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

    @property
    def id(self) -> str:
        """Kind and name, as in `metrics/accuracy`."""
        return f"{self.kind}/{self.name}"

    @property
    def origin(self) -> str:
        """Id, distribution and version, as error messages give them."""
        version = "" if self.version == NO_VERSION else f" {self.version}"
        return f"{self.id} ({self.distribution}{version})"
