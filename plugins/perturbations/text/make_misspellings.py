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
LETTERS_PER_EDIT = 3
SHORT = 4
LETTERS = re.compile(r"[a-z]{2,}")


def count_edits(first: str, second: str) -> int:
    """Return the letters to insert, drop, replace or swap with their neighbour.

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


def is_slip(word: str, misspelling: str) -> bool:
    """Tell whether letters are swapped or doubled, or one of a double letter is lost.

    Args:
        word: A word.
        misspelling: What stands in its place.

    Returns:
        True for `teh`, `adn`, `hee` and `wel`; False for `ois` (is).
    """
    swapped = any(
        word[:i] + word[i + 1] + word[i] + word[i + 2 :] == misspelling
        for i in range(len(word) - 1)
    )
    shorter, longer = sorted((word, misspelling), key=len)
    doubled = any(
        longer[i] == longer[i + 1] and longer[:i] + longer[i + 1 :] == shorter
        for i in range(len(longer) - 1)
    )
    return swapped or doubled


def is_plausible(word: str, misspelling: str) -> bool:
    """Tell whether somebody who knows a word may write it so.

    The dictionary of codespell has whatever was found in code, also `ethe` for `the`
    and `ois` for `is`. Adults seldom write the first letter wrong; they often double
    or undouble a letter and swap two (Yannakoudakis and Fawthrop 1983, The rules of
    spelling errors, Information Processing & Management 19(2)), and most misspellings
    are one edit from the word (Damerau 1964, doi:10.1145/363958.363994). In a short
    word one edit of any kind makes another word, so that of these only doubled letters
    and swaps are taken.

    Args:
        word: A word.
        misspelling: What the dictionary has for it.

    Returns:
        True where both begin alike, and either the word has up to four letters and
        the misspelling is a slip, or there is one edit for each three letters of the
        word, two at most.
    """
    if word[0] != misspelling[0]:
        return False
    if len(word) <= SHORT:
        return is_slip(word, misspelling)
    most = min(MOST_EDITS, len(word) // LETTERS_PER_EDIT)
    return count_edits(word, misspelling) <= most


def invert(lines: list[str]) -> dict[str, list[str]]:
    """Turn `misspelling->word` lines into misspellings by word.

    Args:
        lines: Lines of the dictionary.

    Returns:
        The plausible misspellings that have one correction and are no correction
        themselves, those with fewest edits first, by word in alphabetical order.
    """
    pairs = [line.strip().split("->") for line in lines if "->" in line]
    corrections = {
        word.strip() for _, words in pairs for word in words.split(",") if word
    }
    found = defaultdict(list)
    for misspelling, word in pairs:
        usable = LETTERS.fullmatch(misspelling) and LETTERS.fullmatch(word)
        if not usable or misspelling in corrections:
            continue
        if is_plausible(word, misspelling):
            found[word].append((count_edits(word, misspelling), misspelling))
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
