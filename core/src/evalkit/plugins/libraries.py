"""Finds the versions of the libraries that a plugin's distribution requires."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.parser import HeaderParser
from typing import Any

from evalkit.plugins.compatibility import CORE, required_distribution

_EXTRAS = re.compile(r"[^;\[]*\[([^\]]*)\]")
_EXTRA_IN_MARKER = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def libraries_of(requires: Sequence[str]) -> dict[str, str]:
    """Give the installed distributions that requirements name, and what those require.

    What evalkit-core requires is left out, as a run records it for itself. An extra of
    the first distribution counts, whether it was asked for or not, where what it names
    is installed; an extra of a further one only where a requirement names the extra.

    Args:
        requires: The `Requires-Dist` of a distribution.

    Returns:
        Their versions by normalised name, sorted by name.
    """
    versions: dict[str, str] = {}
    seen = {CORE}
    waiting = [(text, _named_extras(text)) for text in requires]
    while waiting:
        text, extras = waiting.pop()
        name = required_distribution(text)
        key = f"{name}[{','.join(sorted(extras))}]" if extras else name
        if not name or name == CORE or key in seen:
            continue
        seen.add(key)
        found = _installed(name)
        if found is not None:
            versions[name], further = found
            waiting += [
                (each, _named_extras(each)) for each in _asked_for(further, extras)
            ]
    return dict(sorted(versions.items()))


def without_libraries(component: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a run recorded of a component, but for its libraries."""
    return {key: value for key, value in component.items() if key != "libraries"}


def _installed(name: str) -> tuple[str, Sequence[str]] | None:
    try:
        found = importlib.metadata.distribution(name)
        text = found.read_text("METADATA")
        if text is None:  # an egg, whose requirements are in a file of their own
            return found.version, found.requires or ()
        # without the description below it, which costs nearly all of the time
        head = HeaderParser().parsestr(text.partition("\n\n")[0])
        return head["Version"], head.get_all("Requires-Dist", [])
    except Exception:  # not installed, or with metadata that nobody can read
        return None


def _named_extras(requirement: str) -> frozenset[str]:
    named = _EXTRAS.match(requirement)
    names = named[1].split(",") if named else []
    return frozenset(name.strip() for name in names if name.strip())


def _asked_for(requires: Iterable[str], extras: frozenset[str]) -> Iterator[str]:
    """Give the requirements that hold without an extra, or with one of some."""
    for text in requires:
        needed = _EXTRA_IN_MARKER.findall(text.partition(";")[2])
        if not needed or extras.intersection(needed):
            yield text
