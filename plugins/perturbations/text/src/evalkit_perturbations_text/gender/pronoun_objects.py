"""Tells `saw her walking` from `saw her walking stick`: `her` before content words."""

from __future__ import annotations

from evalkit_perturbations_text.grammar import pronoun_contexts as contexts
from evalkit_perturbations_text.grammar import pronoun_verbs as verbs
from evalkit_perturbations_text.grammar.object_complements import describes_object
from evalkit_perturbations_text.grammar.pronoun_phrases import (
    OWNED,
    is_adverb,
    is_break,
    last_of_phrase,
)
from evalkit_perturbations_text.grammar.tokens import Tokens, word_set
from evalkit_perturbations_text.names.lists import common_first_names


def before_content_word(tokens: Tokens, position: int) -> bool:
    """Decide `her` before a word that may be a noun, an adjective or a verb."""
    after = tokens.word(position + 1)
    if tokens.is_capital(position + 1) and not tokens.shouts and not tokens.is_title:
        return _before_capital(tokens, position)
    if after in verbs.FINITE_VERBS or after in verbs.PURE_VERBS:
        return False
    if after in verbs.NOUN_VERBS and _is_infinitive(tokens, position):
        return False
    if describes_object(tokens, position):
        return False
    if after in contexts.BREAK_ADVERBS or is_adverb(after):
        return not _is_adverbial(tokens, position)
    if _is_participle(tokens, position) or _is_complement(tokens, position):
        return False
    return not _is_second_object(tokens, position)


def _before_capital(tokens: Tokens, position: int) -> bool:
    """Decide `her Honda`, `told her John left` and `saw her Monday`."""
    after = tokens.word(position + 1)
    if after in contexts.DAYS and tokens.has_possessive(position + 1):
        return True
    if after in ("mr", "mrs", "ms", "dr", "miss"):
        return False
    if after in contexts.DAYS or after in contexts.TIME_NOUNS:
        return not is_break(tokens, position + 2)
    if after in contexts.GIFTS and tokens.word(position - 1) in verbs.DITRANSITIVES:
        return not is_break(tokens, position + 2)
    return after not in common_first_names()


_DOING = word_set("do does did doing done give gives gave giving try tries tried")


def _is_adverbial(tokens: Tokens, position: int) -> bool:
    """Tell whether an adverb belongs to the verb before `her`."""
    before = tokens.word(position - 1)
    owned = before in contexts.PREPOSITIONS or before in _DOING
    noun = tokens.word(position + 1) in _NOUNS_OF_DEGREE
    if owned and noun:
        return False
    if tokens.starts_sentence(position):
        return False
    return is_break(tokens, position + 2)


_NOUNS_OF_DEGREE = word_set("best most worst first last")


def _is_infinitive(tokens: Tokens, position: int) -> bool:
    """Tell `let her walk` and `saw her walk to …` from `saw her walk`."""
    before, beyond = tokens.word(position - 1), tokens.word(position + 2)
    if before in verbs.CAUSATIVES:
        if before.startswith("l"):
            return True
        made = tokens.word(position + 1) in _MADE_THINGS
        if beyond in contexts.PREDICATES:
            return True
        return is_break(tokens, position + 2) and not (made or beyond == "of")
    if before not in verbs.HELPERS:
        return False
    if before in ("have", "has", "had", "having", "feel", "feels", "felt"):
        return beyond in contexts.DETERMINERS
    if tokens.word(position + 1) in verbs.TRANSITIVE_VERBS:
        return beyond not in ("of", "is", "was")
    return is_break(tokens, position + 2) and beyond not in ("of", "is", "was")


_MADE_THINGS = word_set("call dress drink plan move answer return mark show")
"""Nouns, among those that are verbs too, of what one makes."""


def _is_participle(tokens: Tokens, position: int) -> bool:
    """Tell `saw her walking` from `her walking stick`."""
    after, beyond = tokens.word(position + 1), tokens.word(position + 2)
    if not after.endswith("ing") or len(after) < 5 or _is_ing_noun(after):
        return after == "painting" and beyond in contexts.DETERMINERS
    before = tokens.word(position - 1)
    if before in ("of", "with", "about") and beyond in contexts.DETERMINERS:
        return True
    if before not in verbs.PERCEIVERS:
        return False
    return is_break(tokens, position + 2) or beyond not in contexts.COMPOUND_HEADS


def _is_ing_noun(word: str) -> bool:
    return word in contexts.ING_NOUNS


_FIXED_COMPLEMENTS = frozenset(
    (verb, noun)
    for verbs, noun in (
        ("call calls called calling", "names"),
        ("keep keeps kept keeping", "company"),
    )
    for verb in verbs.split()
)


def _is_complement(tokens: Tokens, position: int) -> bool:
    """Tell `made her happy` and `got her fired` from `made her happy home`."""
    before, after = tokens.word(position - 1), tokens.word(position + 1)
    if before in verbs.APPOINTERS and after in contexts.ROLES:
        return True
    if (before, after) in _FIXED_COMPLEMENTS:
        return True
    regular = after.endswith("ed") and after not in contexts.ED_NOUNS
    is_last = is_break(tokens, position + 2)
    return regular and is_last and not tokens.starts_sentence(position)


def _is_second_object(tokens: Tokens, position: int) -> bool:
    """Tell `gave her flowers` from `gave her book to John`."""
    verb = tokens.word(position - 1)
    if verb in verbs.DURATION_VERBS:
        return tokens.word(position + 1) in contexts.DURATIONS
    if verb not in verbs.DITRANSITIVES:
        return False
    last = last_of_phrase(tokens, position + 1)
    head = tokens.word(last)
    goes_on = tokens.word(last + 1) in ("to", "away", "back", "up", "off", "out")
    if goes_on and tokens.word(last + 2) not in verbs.PURE_VERBS:
        return False
    phrase = tokens.lower[position + 1 : last + 1]
    if not OWNED.isdisjoint(phrase):
        return False
    if head in contexts.GIFTS:
        if head == "stories" and verb in ("read", "reads"):
            return True
        return verb not in verbs.KEEPERS
    is_plural = head.endswith("s") and not head.endswith(("ss", "us", "is"))
    return is_plural and verb in verbs.CORE_DITRANSITIVES
