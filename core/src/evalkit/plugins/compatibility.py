"""Checks whether a plugin's distribution admits the evalkit-core that is running.

The ranges that are in use are compared here; whatever else a requirement may hold is
left to `packaging`, which takes longer to import than `evalkit list` takes to run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from evalkit.base.names import normalise_distribution
from evalkit.plugins.metadata import quote

CORE = "evalkit-core"

_ON_CORE = re.compile(r"evalkit[-_.]+core(?![-\w.])", re.IGNORECASE | re.ASCII)
_EXTRAS = r"(?:\[[a-z0-9]+(?:,[a-z0-9]+)*\])?"
_CLAUSE = r"(?:>=|<=|==|!=|<|>)\s*[0-9]{1,9}(?:\.[0-9]{1,9})*"
_PLAIN_RANGE = re.compile(rf"{_EXTRAS}\s*((?:{_CLAUSE}(?:\s*,\s*{_CLAUSE})*)?)\s*")
_PLAIN_CLAUSE = re.compile(r"([<>=!]=?)\s*([0-9.]+)")
_PLAIN_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*")

_NAME = re.compile(r"[a-z0-9][-_.a-z0-9]*", re.IGNORECASE)


def required_distribution(requirement: str) -> str:
    """Give the normalised name of the distribution that a requirement is about.

    Args:
        requirement: A `Requires-Dist`.

    Returns:
        The name; "" for a text that does not begin with one.
    """
    name = _NAME.match(requirement)
    return normalise_distribution(name[0]) if name else ""


class Verdict(NamedTuple):
    """What one requirement says about the evalkit-core that is running."""

    excludes: bool
    """Whether it excludes that version."""
    message: str = ""
    """Why it does, or why it cannot be read; "" for a requirement that is met."""


class CoreCheck:
    """Compares what distributions require with the evalkit-core that is running.

    Args:
        running: Its version; looked up in its metadata by default.
    """

    def __init__(self, running: str | None = None) -> None:
        self._given = running
        self._verdicts: dict[str, Verdict] = {}

    @cached_property
    def running(self) -> str | None:
        """The version of evalkit-core; None where it is not known."""
        if self._given is not None:
            return self._given
        import importlib.metadata

        try:
            # a core whose own metadata are broken has no version to be compared
            return importlib.metadata.version(CORE) or None
        except Exception:
            return None

    def verdicts(self, requires: Iterable[str]) -> Iterator[Verdict]:
        """Judge those requirements that are about evalkit-core.

        Args:
            requires: The `Requires-Dist` of a distribution.

        Yields:
            A verdict for each that is not met or cannot be read.
        """
        for text in requires:
            if not _ON_CORE.match(text):
                continue
            if text not in self._verdicts:
                self._verdicts[text] = self._judge(text)
            if self._verdicts[text].message:
                yield self._verdicts[text]

    def _judge(self, text: str) -> Verdict:
        if self.running is None:
            return Verdict(False)
        admits = _admits_plainly(text, self.running)
        if admits is None:
            try:
                admits = _admits(text, self.running)
            except Exception as error:  # also what a hostile text makes of a parser
                reason = str(error).partition("\n")[0].rstrip(":. ")
                return Verdict(
                    False, f"its requirement {quote(text)} cannot be read: {reason}"
                )
        if admits:
            return Verdict(False)
        return Verdict(
            True,
            f"it requires {quote(text)}, but {CORE} {self.running} is running; upgrade "
            f"the plugin or {CORE}, whichever is older",
        )


def _admits_plainly(text: str, running: str) -> bool | None:
    """Compare plain numbers; None where there is more to it."""
    name = _ON_CORE.match(text)
    plain = name and _PLAIN_RANGE.fullmatch(text, name.end())
    if not plain or not _PLAIN_VERSION.fullmatch(running):
        return None
    version = _release(running)
    for operator, number in _PLAIN_CLAUSE.findall(plain[1]):
        bound = _release(number)
        holds = {
            ">=": version >= bound,
            "<=": version <= bound,
            "==": version == bound,
            "!=": version != bound,
            "<": version < bound,
            ">": version > bound,
        }[operator]
        if not holds:
            return False
    return True


def _release(version: str) -> tuple[int, ...]:
    parts = [int(part) for part in version.split(".")]
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def _admits(text: str, running: str) -> bool:
    """Ask `packaging`."""
    from packaging.requirements import Requirement
    from packaging.version import InvalidVersion, Version

    requirement = Requirement(text)
    if requirement.marker is not None and not requirement.marker.evaluate(
        {"extra": ""}
    ):
        return True
    try:
        version = Version(running)
    except InvalidVersion:  # it cannot be compared, which is not the plugin's fault
        return True
    return requirement.specifier.contains(version, prereleases=True)
