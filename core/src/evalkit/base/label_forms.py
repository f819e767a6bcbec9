"""Labels that differ in case, blanks or Unicode form, and what is no label."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping

_OTHER = "(other)"


def folded(label: str) -> str:
    """Return a label without case and surrounding blanks, in the Unicode form NFC."""
    composed = unicodedata.normalize("NFC", label.strip())
    return unicodedata.normalize("NFC", composed.casefold())


def by_form(labels: Iterable[str]) -> Mapping[str, str]:
    """Return labels by their folded forms; raise ValueError where two have one form."""
    found: dict[str, str] = {}
    for label in labels:
        other = found.setdefault(folded(label), label)
        if other != label:
            raise ValueError(f"{other!r} and {label!r} are two labels of one form")
    return found


def other_label(labels: Collection[str]) -> str:
    """Return `(other)`, in as many more brackets as make it none of the labels."""
    found = _OTHER
    while found in labels:
        found = f"({found})"
    return found
