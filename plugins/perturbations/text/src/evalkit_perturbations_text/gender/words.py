"""Words for women and girls and their counterparts for men and boys."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_FILE = "data/gender_pairs.tsv"


@cache
def swapped_words() -> dict[str, str]:
    """Return the counterpart of each word that has the same one wherever it stands."""
    found = {"he": "she", "she": "he", "him": "her"}
    for male, female, direction in _rows():
        if direction in "=>":
            found[male] = female
        if direction in "=<":
            found[female] = male
    return found


def _rows() -> list[tuple[str, str, str]]:
    folder = files("evalkit_perturbations_text")
    lines = folder.joinpath(_FILE).read_text("utf-8").splitlines()
    rows = []
    for line in lines:
        if line and not line.startswith("#"):
            male, female, direction = line.split("\t")
            rows.append((male, female, direction))
    return rows
