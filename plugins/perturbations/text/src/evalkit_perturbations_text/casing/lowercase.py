"""All letters in lower case."""

from __future__ import annotations

import re
from random import Random

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import (
    UNCHANGED_ANSWER,
    TextPerturbation,
)

_CAPITALS = re.compile(r"[A-Z]+")
_TOKEN = re.compile(r"\S+")


class Lowercase(TextPerturbation):
    """Turns all letters into lower case, as `str.lower` does.

    Deterministic. The answer to a question stays, since capitals are not compared.
    """

    label_effect = UNCHANGED_ANSWER

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Find the capitals; runs of them are one edit."""
        if text.isascii():
            return [
                Edit(match.start(), match.end(), match[0].lower())
                for match in _CAPITALS.finditer(text)
            ]
        # the lower case of a sigma depends on the letters around it
        return [
            edit
            for match in _TOKEN.finditer(text)
            for edit in _differences(match[0], match[0].lower(), match.start())
        ]


def _differences(old: str, new: str, start: int) -> list[Edit]:
    if old == new:
        return []
    if len(old) != len(new):
        return [Edit(start, start + len(old), new)]
    edits = []
    first = None
    for place, (before, after) in enumerate(zip(old, new, strict=True)):
        if before != after:
            first = place if first is None else first
        elif first is not None:
            edits.append(Edit(start + first, start + place, new[first:place]))
            first = None
    if first is not None:
        edits.append(Edit(start + first, start + len(old), new[first:]))
    return edits
