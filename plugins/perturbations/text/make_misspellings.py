"""Makes the list of misspellings from the dictionary of codespell.

Call it with the path of `dictionary.txt` of a codespell distribution:

    python make_misspellings.py codespell_lib/data/dictionary.txt

The result is data under codespell's licence for it, CC BY-SA 3.0, not under this
distribution's; LICENSE-misspellings.md says what was changed.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

TARGET = (
    Path(__file__).parent
    / "src/evalkit_perturbations_text/data/misspellings-CC-BY-SA-3.0.tsv"
)
MOST_MISSPELLINGS = 5
MOST_EDITS = 2
LETTERS = re.compile(r"[a-z]{2,}")


def count_edits(first: str, second: str) -> int:
    """Give the letters to insert, drop, replace or swap with their neighbour.

    Args:
        first: A word.
        second: Another.

    Returns:
        The distance after Damerau, restricted to one edit of each letter.
    """
    rows = [list(range(len(second) + 1))]
    for i, letter in enumerate(first, start=1):
        row = [i]
        for j, other in enumerate(second, start=1):
            best = min(
                rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != other)
            )
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def invert(lines: list[str]) -> dict[str, list[str]]:
    """Turn `misspelling->word` lines into misspellings by word.

    Args:
        lines: Lines of the dictionary.

    Returns:
        The misspellings that have one correction and are no correction themselves,
        those with fewest edits first, by word in alphabetical order.
    """
    pairs = [line.strip().split("->") for line in lines if "->" in line]
    corrections = {
        word.strip() for _, words in pairs for word in words.split(",") if word
    }
    found = defaultdict(list)
    for misspelling, word in pairs:
        usable = LETTERS.fullmatch(misspelling) and LETTERS.fullmatch(word)
        if usable and misspelling not in corrections:
            edits = count_edits(word, misspelling)
            if edits <= MOST_EDITS:
                found[word].append((edits, misspelling))
    return {
        word: [misspelling for _, misspelling in sorted(found[word])]
        for word in sorted(found)
    }


def main() -> None:
    """Write the list."""
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    rows = (
        f"{word}\t{' '.join(misspellings[:MOST_MISSPELLINGS])}\n"
        for word, misspellings in invert(lines).items()
    )
    TARGET.write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
