"""Edits of a text: what is replaced, and by what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from operator import itemgetter

from evalkit import Edit

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")

_MOST_TOKENS = 2_000
"""Tokens above which a difference is one edit: matching them takes their square."""


def checked_edits(text: str, edits: Iterable[Edit]) -> list[Edit]:
    """Sort edits by place, and leave out those that change nothing.

    Args:
        text: The original.
        edits: Its edits, or triples of start, end and text.

    Returns:
        The edits in order; several insertions at one place keep their order.

    Raises:
        ValueError: One is outside the text, or two overlap.
    """
    found = [edit if type(edit) is Edit else Edit(*edit) for edit in edits]
    last = 0
    is_changed = True
    for start, end, new in found:
        if not last <= start <= end:
            return _sorted_edits(text, found)
        last = end
        is_changed = is_changed and text[start:end] != new
    if last > len(text):
        raise _outside(found[-1], text)
    if is_changed:
        return found
    return [edit for edit in found if text[edit.start : edit.end] != edit.text]


def _sorted_edits(text: str, edits: list[Edit]) -> list[Edit]:
    """Sort edits that are not in order, or refuse those that cannot be made."""
    edits.sort(key=itemgetter(0, 1))
    last = 0
    for edit in edits:
        if not 0 <= edit.start <= edit.end <= len(text):
            raise _outside(edit, text)
        if edit.start < last:
            raise ValueError(
                f"the edit {edit.start} to {edit.end} overlaps the one before it"
            )
        last = edit.end
    return checked_edits(text, edits)


def _outside(edit: Edit, text: str) -> ValueError:
    return ValueError(
        f"the edit {edit.start} to {edit.end} is outside the text of {len(text)} "
        "characters"
    )


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return the changed text.

    Args:
        text: The original.
        edits: Sorted edits that do not overlap, as `checked_edits` gives them.

    Returns:
        The text with all of them made; outside of them it is the original's.
    """
    if not edits:
        return text
    pieces: list[str] = []
    last = 0
    for start, end, new in edits:
        pieces += (text[last:start], new)
        last = end
    pieces.append(text[last:])
    return "".join(pieces)


def make_edits(text: str, edits: Iterable[Edit]) -> tuple[str, list[Edit]]:
    """Check edits and make them, as `checked_edits` and `apply_edits` do, in one go.

    Args:
        text: The original.
        edits: Its edits, or triples of start, end and text.

    Returns:
        The changed text, and the edits in order without those that change nothing.

    Raises:
        ValueError: One is outside the text, or two overlap.
    """
    found = [*edits]  # they may come one by one, or in a list that is used again
    pieces: list[str] = []
    last = 0
    for edit in found:
        start, end, new = edit
        if not last <= start <= end or text[start:end] == new or type(edit) is not Edit:
            break
        pieces += (text[last:start], new)
        last = end
    else:
        if last <= len(text):
            pieces.append(text[last:])
            return "".join(pieces), found
    checked = checked_edits(text, found)
    return apply_edits(text, checked), checked


def find_difference(before: str, after: str) -> list[Edit]:
    """Find edits that turn one text into another.

    Args:
        before: The original.
        after: The changed text.

    Returns:
        Edits of whole words, blanks and signs; of all that lies between the common
        beginning and end where the texts are long.
    """
    if before == after:
        return []
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    start = sum(map(len, old[:head]))
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(old), len(new)) > _MOST_TOKENS:
        return [Edit(start, start + sum(map(len, old)), "".join(new))]
    places = [start]
    for token in old:
        places.append(places[-1] + len(token))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        Edit(places[first], places[last], "".join(new[low:high]))
        for kind, first, last, low, high in matcher.get_opcodes()
        if kind != "equal"
    ]


def compose(text: str, first: Sequence[Edit], second: Sequence[Edit]) -> list[Edit]:
    """Join the edits of two steps into edits of the original.

    Args:
        text: The original.
        first: Its sorted edits.
        second: Sorted edits of what the first ones make of it.

    Returns:
        Sorted edits of the original that do both; edits that touch each other become
        one.
    """
    middle = apply_edits(text, first)
    regions = sorted(
        [*_regions(first), *((e.start, e.end, 0, e) for e in second)], key=_region_place
    )
    joined: list[Edit] = []
    shift = 0
    position = 0
    while position < len(regions):
        low, high = regions[position][:2]
        following = position + 1
        while following < len(regions) and regions[following][0] <= high:
            high = max(high, regions[following][1])
            following += 1
        group = regions[position:following]
        grown = sum(growth for _, _, growth, _ in group)
        later = [
            Edit(edit.start - low, edit.end - low, edit.text)
            for *_, edit in group
            if edit is not None
        ]
        new = apply_edits(middle[low:high], later)
        joined.append(Edit(low - shift, high - shift - grown, new))
        shift += grown
        position = following
    return checked_edits(text, joined)


_Region = tuple[int, int, int, Edit | None]
"""Start and end in the text between two steps, by how much the first step grew it, and
the second step's edit."""


def _regions(edits: Sequence[Edit]) -> Iterator[_Region]:
    """Return where the new texts of edits are in the text that they make."""
    shift = 0
    for start, end, new in edits:
        growth = len(new) - (end - start)
        yield start + shift, start + shift + len(new), growth, None
        shift += growth


def _region_place(region: _Region) -> tuple[int, int]:
    return region[:2]
