"""Texts of the data beside the answers of a run, which holds none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from evalkit_cli.printing.joined_inputs import JoinedInputs
from evalkit_cli.printing.sample_views import masked_text
from evalkit_cli.printing.streams import as_text, echo_wrapped

Join = Callable[[Collection[str]], JoinedInputs]
"""Looks up the texts of some examples."""


class Texts:
    """The texts of the examples that a view lists.

    Args:
        join: Looks them up; None where no data were given.
        ids: Ids of the examples.
        show_text: Whether texts that may be hurtful are shown.
    """

    def __init__(
        self, join: Join | None, ids: Collection[str], *, show_text: bool
    ) -> None:
        self._joined = None if join is None else join(ids)
        sensitive = self._joined is not None and self._joined.sensitive
        self._masked = sensitive and not show_text

    @property
    def keys(self) -> Sequence[str]:
        """Names of what a model is sent; none where no data were given."""
        return () if self._joined is None else self._joined.keys

    def of(self, uid: str) -> list[str | None]:
        """Return what a model was sent for an example, masked where it is to be."""
        found = {} if self._joined is None else self._joined.by_id.get(uid, {})
        return [self._cell(found.get(key)) for key in self.keys]

    def as_json(self, uid: str, name: str = "input") -> dict[str, Any]:
        """Return the same as a field of a JSON object; nothing without any data."""
        if self._joined is None:
            return {}
        found: Mapping[str, Any] = self._joined.by_id.get(uid, {})
        return {name: {} if self._masked else dict(found)}

    def print_notices(self, *, err: bool) -> None:
        """Say whether the data are other data, and whether texts are masked."""
        notices = () if self._joined is None else self._joined.notices
        for notice in notices:
            echo_wrapped(f"notice: {notice}", err=err)
        if self._masked:
            echo_wrapped(
                "masked, as the texts may be hurtful; --show-text shows them", err=err
            )

    def _cell(self, value: Any) -> str | None:
        text = as_text(value)
        return None if text is None else masked_text(text, self._masked)
