"""What the checks look at."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from evalkit_commands_authoring.doctor.installed import (
    Installed,
    find_installed,
    is_of_evalkit,
)

if TYPE_CHECKING:
    from evalkit.catalog import Catalog


@dataclass(frozen=True)
class Environment:
    """The environment, read when it is first asked for.

    Attributes:
        variables: The environment variables.
        own_commands: Names of the commands that the command line itself has.
    """

    variables: Mapping[str, str] = field(default_factory=lambda: {**os.environ})
    own_commands: frozenset[str] = frozenset()

    @cached_property
    def everything(self) -> list[Installed]:
        """All distributions."""
        return find_installed()

    @cached_property
    def of_evalkit(self) -> list[Installed]:
        """Those that are a part of evalkit, or hold plugins of it."""
        return [each for each in self.everything if is_of_evalkit(each)]

    @cached_property
    def catalog(self) -> Catalog:
        """What evalkit finds."""
        from evalkit.catalog import find_components

        return find_components()

    def named(self, name: str) -> Installed | None:
        """Return a distribution of evalkit's by its name; None if it is not there."""
        from evalkit_commands_authoring.doctor.installed import normalised

        found = (each for each in self.everything if normalised(each.name) == name)
        return next(found, None)
