"""Where the noun phrase after `her` or `his` ends."""

from __future__ import annotations

from evalkit_perturbations_text.grammar import pronoun_contexts as contexts
from evalkit_perturbations_text.grammar.tokens import APOSTROPHES, Tokens

OPENING_MARKS = frozenset("\"“‘«'([*_")


OWNED = contexts.POSSESSIONS | contexts.PERSONS


MONEY = frozenset("$€£¥#")


def is_break(tokens: Tokens, position: int) -> bool:
    """Tell whether a noun phrase cannot go on with a token."""
    word = tokens.word(position)
    if not word or tokens.breaks_line(position - 1):
        return True
    if word[0].isalnum():
        return word in contexts.FUNCTION_WORDS or word in ("will", "can", "might")
    if word in OPENING_MARKS and tokens.touches(position):
        return tokens.touches(position - 1)
    if word in APOSTROPHES:
        return not tokens.touches(position - 1)
    return word not in "-‐‑"


def is_end(tokens: Tokens, position: int) -> bool:
    """Tell whether the text or a clause ends before a token."""
    word = tokens.word(position)
    return not word or not (word[0].isalnum() or word in APOSTROPHES or word == "-")


def last_of_phrase(tokens: Tokens, position: int) -> int:
    """Return the last word of the noun phrase that goes on at a place."""
    last = position
    while last < position + 5 and not is_break(tokens, last + 1):
        last += 1
    return last


def is_adverb(word: str) -> bool:
    """Tell whether a word in lower case is an adverb in -ly."""
    return (
        len(word) > 4
        and word.endswith("ly")
        and word not in contexts.LY_ADJECTIVES
        and word not in contexts.BREAK_ADVERBS
    )
