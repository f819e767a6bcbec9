"""An example between two perturbations that are applied one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalkit import Edit
from evalkit_commands_perturb.edits import compose
from evalkit_commands_perturb.texts import Place, same_places, text_at, with_text

Changed = tuple[Place, str, Sequence[Edit] | None]
"""What a step makes of a text: its place, the new text, and the edits; None where only
the text is known. A plain tuple, as it takes a third of the time of a named one."""


class State(NamedTuple):
    """An example between two steps."""

    row: Mapping[str, Any]
    original: Mapping[str, Any]
    edits: Mapping[Place, Sequence[Edit] | None]
    """Edits of the original's texts so far; None where only the texts are known."""

    def with_fields(self, changed: Mapping[str, Any]) -> State:
        """Return the state after some fields were set as a whole."""
        row = {**self.row, **changed}
        edits = {
            place: found
            for place, found in self.edits.items()
            if place.field not in changed
        }
        for field in changed:
            before = self.original.get(field)
            edits |= dict.fromkeys(same_places(Place(field), before, row[field]))
        return State(row, self.original, edits)

    def with_texts(self, changed: Sequence[Changed]) -> State:
        """Return the state after some texts were changed."""
        if not changed:
            return self
        row = dict(self.row)
        edits = dict(self.edits)
        for place, after, made in changed:
            with_text(row, place, after)
            edits[place] = _since_original(self, place, made)
        return State(row, self.original, edits)


def _since_original(
    state: State, place: Place, new: Sequence[Edit] | None
) -> Sequence[Edit] | None:
    """Join the edits of a step with those of the steps before it."""
    if place not in state.edits:
        return new
    earlier = state.edits[place]
    if earlier is None or new is None:
        return None
    before = text_at(state.original, place)
    return None if before is None else compose(before, earlier, new)
