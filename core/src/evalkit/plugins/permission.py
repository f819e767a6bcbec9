"""Which plugins a user hides, or shows alone, by environment variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from evalkit.base.names import normalise_distribution

if TYPE_CHECKING:
    from evalkit.plugins.components import Component

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
        if _matches(self._entries[DISABLE], component):
            return f"it is disabled by {DISABLE}"
        if self._entries[ALLOW] and not _matches(self._entries[ALLOW], component):
            return f"it is not among those of {ALLOW}"
        return ""

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
    """Give the entries as they are compared, with how they were written."""
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
