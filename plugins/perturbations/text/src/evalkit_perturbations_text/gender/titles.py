"""Titles of women and men, and words that are surnames too."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from evalkit_perturbations_text.grammar import pronoun_contexts as contexts
from evalkit_perturbations_text.grammar.tokens import APOSTROPHES, Tokens, word_set
from evalkit_perturbations_text.names.lists import first_names

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


class Swap(NamedTuple):
    """What stands for some tokens."""

    end: int
    """The token after the last that is replaced."""
    new: str
    """What stands there instead, in lower case but for capitals that always stay."""


Decision = Callable[[Tokens, int], Swap | None]


def swap_word(position: int, new: str) -> Swap:
    """Replace one token."""
    return Swap(position + 1, new)


def is_aside(tokens: Tokens, position: int) -> bool:
    """Tell whether a comma, an exclamation mark or nothing follows."""
    return tokens.word(position + 1) in ("", ",", "!", ".", "?", "…")


def decide_miss(tokens: Tokens, position: int) -> Swap | None:
    """Swap the title in `Miss Brown`; leave the verb in `miss you`."""
    form, after = tokens.form(position), tokens.form(position + 1)
    if form == "miss" or (form.isupper() and not _is_name(tokens, position + 1)):
        return None
    if after[:1].isupper() and not tokens.is_title:
        is_pronoun = after.lower() in contexts.FUNCTION_WORDS
        return None if is_pronoun else swap_word(position, _mister(tokens))
    before = tokens.word(position - 1)
    if before in (",", "yes", "no") and is_aside(tokens, position):
        return swap_word(position, "sir")
    if tokens.is_title and _is_name(tokens, position + 1):
        return swap_word(position, _mister(tokens))
    return None


def _is_name(tokens: Tokens, position: int) -> bool:
    return tokens.word(position) in first_names()


def _mister(tokens: Tokens) -> str:
    """Return the title with a full stop, unless the text writes titles without."""
    plain = any(
        word in ("mr", "mrs", "ms", "dr") and tokens.word(place + 1) != "."
        for place, word in enumerate(tokens.lower)
    )
    return "mr" if plain else "mr."


_OFFICES = word_set(
    "president speaker chairman secretary ambassador justice mayor vice prime"
)


def decide_mr(tokens: Tokens, position: int) -> Swap | None:
    """Swap `Mr. Brown` with `Mrs.`, and `Mr. President` with `Madam`."""
    dotted = tokens.form(position + 1) == "." and tokens.touches(position)
    following = position + 1 + dotted
    if tokens.form(position).isupper() and not (dotted or tokens.shouts):
        return None
    if tokens.word(following) in _OFFICES and tokens.is_capital(following):
        return Swap(following, "madam")
    return swap_word(position, "mrs")


def decide_mrs(tokens: Tokens, position: int) -> Swap:
    """Swap `Mrs. Brown` with `Mr.`."""
    return swap_word(position, "mr")


def decide_ms(tokens: Tokens, position: int) -> Swap | None:
    """Leave `5 ms` and `MS` alone."""
    form, after = tokens.form(position), tokens.form(position + 1)
    dotted = after == "." and tokens.is_capital(position + 2)
    if form == "Ms":
        return swap_word(position, "mr")
    named = form == "MS" and tokens.shouts and dotted
    lower = form == "ms" and after == "." and tokens.word(position - 1).isalpha()
    return swap_word(position, "mr") if named or lower else None


def decide_sir(tokens: Tokens, position: int) -> Swap:
    """Swap `Sir Arthur` with `Dame`, and `yes, sir` with `madam`."""
    after = tokens.form(position + 1)
    named = after[:1].isupper() and after.lower() not in contexts.FUNCTION_WORDS
    is_title = named and tokens.is_capital(position) and not tokens.shouts
    return swap_word(position, "dame" if is_title else "madam")


def decide_dame(tokens: Tokens, position: int) -> Swap | None:
    """Swap the title in `Dame Judi`; leave Notre Dame alone."""
    titled = tokens.is_capital(position) and tokens.is_capital(position + 1)
    if tokens.word(position - 1) == "notre" or not titled:
        return None
    return swap_word(position, "sir")


def decide_madam(tokens: Tokens, position: int) -> Swap:
    """Swap `Madam` with `Sir`, and `Madam President` with `Mr.`."""
    office = tokens.word(position + 1) in _OFFICES and tokens.is_capital(position + 1)
    return swap_word(position, "mr." if office else "sir")


def decide_maam(tokens: Tokens, position: int) -> Swap | None:
    """Swap `ma'am`."""
    apostrophe = tokens.form(position + 1) in APOSTROPHES
    if apostrophe and tokens.word(position + 2) == "am" and tokens.touches(position):
        return Swap(position + 3, "sir")
    return None


_DIVINE = word_set("""
    god jesus christ almighty krishna rama ram shiva vishnu buddha vader voldemort mayor
    chancellor chief of
    """)


def decide_lord(tokens: Tokens, position: int) -> Swap | None:
    """Swap `Lord Byron` only: alone it is mostly God."""
    after = tokens.form(position + 1)
    titled = tokens.is_capital(position) and after[:1].isupper() and len(after) > 1
    if not titled or tokens.shouts or after.lower() in _DIVINE:
        return None
    if after.lower() in contexts.FUNCTION_WORDS or tokens.word(position - 1) == "the":
        return None
    return swap_word(position, "lady")


_LADY_COMPOUNDS = word_set("cleaning lunch cat dinner tea bag crazy")


def decide_lady(tokens: Tokens, position: int) -> Swap:
    """Swap `a lady`, `Lady Byron` and `the cleaning lady`."""
    after = tokens.form(position + 1)
    titled = tokens.is_capital(position) and after[:1].isupper()
    plain = after.lower() in contexts.FUNCTION_WORDS or tokens.word(position - 1) in (
        "first",
        "the",
    )
    if titled and not plain and not tokens.is_title and not tokens.shouts:
        return swap_word(position, "lord")
    compound = tokens.word(position - 1) in _LADY_COMPOUNDS
    return swap_word(position, "man" if compound else "gentleman")


def decide_ruler(tokens: Tokens, position: int) -> Swap | None:
    """Leave surnames and firms, such as `Stephen King` and `Dairy Queen`, alone."""
    new = swapped_words()[tokens.word(position)]
    before = tokens.form(position - 1)
    if tokens.is_title and before.lower() in first_names():
        return None
    if not tokens.is_capital(position) or tokens.shouts or tokens.is_title:
        return swap_word(position, new)
    follows_capital = before[:1].isupper() and before.lower() not in (
        contexts.FUNCTION_WORDS | _RULER_MODIFIERS
    )
    initial = before == "." and len(tokens.word(position - 2)) == 1
    jr = tokens.word(position + 1) == "," and tokens.word(position + 2) in ("jr", "sr")
    titled = before == "." and tokens.word(position - 2) in ("mr", "mrs", "ms", "dr")
    if follows_capital or initial or jr or titled or _stands_as_name(tokens, position):
        return None
    return swap_word(position, new)


_RULERS = word_set("king queen prince princess duke duchess earl baron")


def _stands_as_name(tokens: Tokens, position: int) -> bool:
    """Tell `Duke ran` and `King wrote it` from `the Duke` and `King Arthur`."""
    before, after = tokens.word(position - 1), tokens.word(position + 1)
    paired = after == "and" and tokens.word(position + 2) in _RULERS
    titled = tokens.is_capital(position + 1) or after in ("of", "consort") or paired
    lone = len(tokens) < 3
    return not (titled or lone or before[:1].isalpha())


_RULER_MODIFIERS = word_set("""
    when if while after before because since although though once then now yesterday
    today british english french spanish danish swedish norwegian scottish saudi thai
    crown good old young brave dear poor snow red white evil former late here long save
    both yes no oh his her why how what did does is was are were can will has had
    """)


def decide_plural_ruler(tokens: Tokens, position: int) -> Swap | None:
    """Leave Queens in New York and teams such as the Kings alone."""
    capital = tokens.is_capital(position) and not tokens.starts_sentence(position)
    if capital and not tokens.shouts and not tokens.is_title:
        return None
    return swap_word(position, swapped_words()[tokens.word(position)])
