"""Gives each name of an example one replacement, and each replacement to one name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from evalkit import Edit
from evalkit_perturbations_text.grammar.tokens import APOSTROPHES, Tokens, article_edits
from evalkit_perturbations_text.letter_case import with_case_of
from evalkit_perturbations_text.names.person_names import Mention


def assign_names(
    texts: Sequence[Tokens],
    mentions: Sequence[Sequence[Mention]],
    candidates: Callable[[str], Iterable[str]],
) -> dict[str, str]:
    """Choose a replacement for each name."""
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    for found in mentions:
        for mention in found:
            if mention.name in chosen:
                continue
            if not taken:
                taken.update(*(text.lower for text in texts))
            for name in candidates(mention.name):
                if name.lower() not in taken:
                    chosen[mention.name] = name
                    taken.add(name.lower())
                    break
    return chosen


def name_edits(
    texts: Sequence[Tokens],
    mentions: Sequence[Sequence[Mention]],
    chosen: Mapping[str, str],
) -> list[list[Edit]]:
    """Make the edits that replace names."""
    edits: list[list[Edit]] = []
    for text, found in zip(texts, mentions, strict=True):
        made: list[Edit] = []
        for mention in found:
            if mention.name in chosen:
                made += _edits_of(text, mention.position, chosen[mention.name])
        edits.append(made)
    return edits


def _edits_of(text: Tokens, position: int, name: str) -> list[Edit]:
    start, end = text.spans[position]
    form = text.forms[position]
    new = name.lower() if form.islower() else with_case_of(form, name)
    edits = article_edits(text, position, name)
    if _has_bare_apostrophe(text, position) and not new.lower().endswith("s"):
        end = text.spans[position + 1][1]
        new += text.forms[position + 1] + ("S" if new.isupper() else "s")
    return [*edits, Edit(start, end, new)]


def _has_bare_apostrophe(text: Tokens, position: int) -> bool:
    """Tell whether `James' book` has a possessive, and not the end of a quotation."""
    if not text.word(position).endswith("s") or not text.touches(position):
        return False
    if text.form(position + 1) not in APOSTROPHES or text.touches(position + 1):
        return False
    opened = any(
        text.forms[place] in "'‘" and not text.touches(place - 1)
        for place in range(position)
    )
    return not opened and text.form(position + 2)[:1].isalpha()
