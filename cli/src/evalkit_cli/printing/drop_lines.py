"""Says in lines which drops under perturbation were shown, and what is adjusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalkit import Score

_MOST_NAMES = 3
"""Perturbations or tags beyond which they are only counted."""


def adjusted(drop: Score) -> Score:
    """Return a drop with the interval that holds for all of its family at once."""
    return drop._replace(ci_low=drop.ci_low_adjusted, ci_high=drop.ci_high_adjusted)


def overview_lines(
    metric: str, drops: Sequence[Score | None], level: float
) -> Iterator[str]:
    """Say under which perturbations a drop was shown.

    Args:
        metric: Name of the score.
        drops: Of the whole set, under all perturbations and families.
        level: Level of the tests.

    Yields:
        One line about perturbations, one about families; none about drops that are not
        tested.
    """
    tested = [drop for drop in drops if drop is not None and drop.family_size]
    for is_family, noun in ((False, "perturbation"), (True, "family")):
        found = [drop for drop in tested if _is_of_family(drop) == is_family]
        if found:
            names = {drop: str(drop.perturbation) for drop in found}
            shown = _shown([(names[drop], drop) for drop in found], noun)
            yield f"{metric}: {shown}; {_adjusted_for_all(found[0], level)}"


def table_lines(
    name: str, drops: Mapping[str | None, Score | None], level: float
) -> Iterator[str]:
    """Say whether a drop was shown under one perturbation, and for which tags.

    Args:
        name: The perturbation or family.
        drops: The drop of the whole set, for None, and those of tags.
        level: Level of the tests.

    Yields:
        One line about the whole set, one about tags; none about drops that are not
        tested.
    """
    noun = "family" if name.startswith("family:") else "perturbation"
    whole = drops.get(None)
    if whole is not None and whole.family_size:
        shown = "no drop was shown"
        if whole.different:
            shown = f"a {_kind(whole)} was shown"
        size = whole.family_size
        told = _adjusted_for(_count(size, noun), size, level)
        yield f"{name}: {shown}; {told}"
    tags = [
        (tag, drop)
        for tag, drop in drops.items()
        if tag is not None and drop is not None and drop.family_size
    ]
    if tags:
        told = _adjusted_for_all(tags[0][1], level)
        yield f"{name}: {_shown(tags, 'tag')}; {told}"


def _is_of_family(drop: Score) -> bool:
    return str(drop.perturbation).startswith("family:")


def _kind(drop: Score) -> str:
    """Name the direction, whatever is better."""
    return "drop" if drop.value is not None and drop.value > 0 else "rise"


def _shown(drops: Sequence[tuple[str, Score]], noun: str) -> str:
    """Say of which drops it was shown that they are any."""
    place = "for" if noun == "tag" else "under"
    parts = []
    for kind in ("drop", "rise"):
        names = [name for name, drop in drops if drop.different and _kind(drop) == kind]
        if names:
            listed = f" ({', '.join(names)})"
            is_short = len(names) <= _MOST_NAMES and len(names) < len(drops)
            few = listed if is_short else ""
            many = _count(len(drops), noun)
            parts.append(f"a {kind} was shown {place} {len(names)} of {many}{few}")
    return ", ".join(parts) or f"no drop was shown {place} any {noun}"


def _adjusted_for_all(drop: Score, level: float) -> str:
    size = drop.family_size or 1
    return _adjusted_for(f"all {size}", size, level)


def _adjusted_for(what: str, size: int, level: float) -> str:
    """Say what p-values and intervals are adjusted for."""
    if size == 1:
        return f"tested at {level:.10g}"
    return f"p and CI adjusted for {what}, at {level:.10g}"


def _count(number: int, noun: str) -> str:
    plural = "families" if noun == "family" else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
