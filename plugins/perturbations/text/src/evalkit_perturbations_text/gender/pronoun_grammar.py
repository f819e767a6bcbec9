"""Tells the possessive `her` and `his` from the others, by the words around them.

`her` is possessive (`her book`) or an object (`saw her`); `his` stands before a noun
(`his book`) or alone (`it is his`). English writes each pair alike, so that what
follows decides: a noun phrase goes on after a possessive, and after no other. Where
both are possible (`gave her books`) the verb before decides, from lists.
"""

from __future__ import annotations

from functools import cache

from evalkit_perturbations_text.grammar import pronoun_contexts as contexts
from evalkit_perturbations_text.grammar import pronoun_verbs as verbs
from evalkit_perturbations_text.grammar.pronoun_phrases import (
    MONEY,
    OPENING_MARKS,
    OWNED,
    describes_object,
    is_adverb,
    is_break,
    is_end,
    last_of_phrase,
)
from evalkit_perturbations_text.grammar.tokens import (
    APOSTROPHES,
    HYPHENS,
    Tokens,
    word_set,
)
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


def is_possessive(tokens: Tokens, position: int) -> bool:
    """Tell whether `her` at a position says whose something is."""
    after = tokens.word(position + 1)
    if not after or tokens.breaks_line(position):
        return False
    if not (after[0].isalnum() or after[0] == "_"):
        return _before_sign(tokens, position)
    if _is_compound(tokens, position + 1):
        return tokens.word(position - 1) not in verbs.CORE_DITRANSITIVES
    if after[0].isdigit() or after in contexts.NUMBERS:
        return _before_number(tokens, position)
    special = _before_special_word(tokens, position)
    if special is not None:
        return special
    if after in contexts.FUNCTION_WORDS:
        return False
    return before_content_word(tokens, position)


def _is_compound(tokens: Tokens, position: int) -> bool:
    """Tell whether a word is joined to the next by a hyphen, as in `well-known`."""
    joined = tokens.form(position + 1) in HYPHENS and tokens.touches(position)
    return joined and not tokens.word(position)[0].isdigit()


def precedes_noun(tokens: Tokens, position: int) -> bool:
    """Tell whether `his` at a position stands before what somebody has."""
    after, following = tokens.word(position + 1), tokens.word(position + 2)
    if not after or tokens.breaks_line(position):
        return False
    if after in MONEY or after == "@":
        return True
    if not (after[0].isalnum() or after[0] == "_"):
        return _his_before_sign(tokens, position)
    if _is_compound(tokens, position + 1):
        return True
    if after in _NOUN_AFTER_HIS:
        return after not in _ADJECTIVE_AFTER_HIS or not is_break(tokens, position + 2)
    if after in ("or", "and"):
        return _shares_noun(tokens, position)
    if after in ("will", "can", "might"):
        return not (following in _AFTER_MODAL or following in _infinitives())
    if after in contexts.FUNCTION_WORDS:
        return False
    if after in verbs.FINITE_VERBS:
        return not is_break(tokens, position + 2) and after.endswith("ed")
    return not (_may_be_alone(after) and is_break(tokens, position + 2))


_AFTER_MODAL = word_set("be have not never also always")


@cache
def _infinitives() -> frozenset[str]:
    return verbs.PURE_VERBS | verbs.NOUN_VERBS


def _may_be_alone(after: str) -> bool:
    """Tell whether `his` before a word may have no noun, as in `his failed`."""
    is_past = after.endswith("ed") and after not in contexts.ED_NOUNS
    return is_past or is_adverb(after)


_NOUN_AFTER_HIS = word_set("""
    own only very most more much less first last next second third past back home all
    one half every like well then-wife right left inside outside best better being
    having near double once even still now-wife above other opposite
    """) - {"near", "like", "once", "even", "still", "well", "less", "above", "double"}


_ADJECTIVE_AFTER_HIS = word_set("more much less very better every outside")
"""Those of them that do not stand for a noun."""


def _before_sign(tokens: Tokens, position: int) -> bool:
    """Decide `her` before a sign."""
    sign, following = tokens.form(position + 1), tokens.word(position + 2)
    if sign in "/&":
        return _shares_noun(tokens, position)
    if sign in MONEY:
        return _before_number(tokens, position)
    if sign == "@":
        return True
    closes = tokens.touches(position)
    if sign not in OPENING_MARKS or closes or not following[:1].isalnum():
        return False
    if tokens.word(position - 1) in verbs.SPEECH_VERBS:
        return False
    if following in contexts.FUNCTION_WORDS:
        return False
    if sign == "(":
        return _after_bracket_noun(tokens, position + 2)
    return not _is_long_quotation(tokens, position + 2)


def _after_bracket_noun(tokens: Tokens, position: int) -> bool:
    """Tell whether a noun phrase goes on behind a bracket, as in `her (late) aunt`."""
    for place in range(position, min(position + 5, len(tokens))):
        if tokens.form(place) == ")":
            return not is_break(tokens, place + 1)
    return False


def _is_long_quotation(tokens: Tokens, position: int) -> bool:
    """Tell whether a quotation has more than three words, or is a sentence."""
    for place in range(position, min(position + 4, len(tokens))):
        if tokens.form(place) in "\"”’»'*_])":
            return tokens.form(place - 1) in ".!?,"
    return True


def _his_before_sign(tokens: Tokens, position: int) -> bool:
    sign, following = tokens.form(position + 1), tokens.word(position + 2)
    if sign in "/&":
        return _shares_noun(tokens, position)
    if sign not in OPENING_MARKS or tokens.touches(position):
        return False
    if sign == "(":
        return _after_bracket_noun(tokens, position + 2)
    return following[:1].isalnum() and following not in contexts.FUNCTION_WORDS


def _shares_noun(tokens: Tokens, position: int) -> bool:
    """Decide `his or her book`, `her/his book`, `his and Mary's house`."""
    joint, other = tokens.word(position + 1), tokens.word(position + 2)
    is_his = tokens.word(position) == "his"
    if other == "her" and is_his:
        return is_possessive(tokens, position + 2)
    if other == "his" and not is_his:
        alone = joint == "and" and not _opens_noun_phrase(tokens, position)
        return not alone and precedes_noun(tokens, position + 2)
    if other in ("their", "my", "your", "our") and joint in ("or", "and", "/"):
        return is_his and joint != "and"
    if joint == "/":
        return other not in ("him", "hers", "he", "she", "them", "theirs")
    if not is_his and not _opens_noun_phrase(tokens, position):
        return False
    return any(tokens.has_possessive(place) for place in _next_words(tokens, position))


def _next_words(tokens: Tokens, position: int) -> list[int]:
    """Return the places of up to three words that follow `her and` or `his and`."""
    places = []
    for place in range(position + 2, min(position + 5, len(tokens))):
        if not tokens.form(place)[0].isalpha():
            break
        places.append(place)
    return places


def _opens_noun_phrase(tokens: Tokens, position: int) -> bool:
    """Tell whether a sentence begins here, or a preposition of place precedes."""
    before = tokens.word(position - 1)
    places = ("of", "in", "at", "on", "from", "during")
    return tokens.starts_sentence(position) or before in places


def _before_number(tokens: Tokens, position: int) -> bool:
    """Decide `her two dogs`, `gave her two dogs` and `took her two hours`."""
    before, after = tokens.word(position - 1), tokens.word(position + 1)
    scored = after[0].isdigit() and tokens.form(position + 3)[:1].isdigit()
    if scored and tokens.form(position + 2) in HYPHENS:
        return False
    last = last_of_phrase(tokens, position + 1)
    phrase = tokens.lower[position + 1 : last + 1]
    if not OWNED.isdisjoint(phrase):
        return True
    if before in verbs.DURATION_VERBS:
        return tokens.word(last) not in contexts.DURATIONS and last > position + 1
    if before in verbs.DITRANSITIVES and before not in verbs.KEEPERS:
        return False
    if after in contexts.NUMBERS and after != "half":
        return not is_break(tokens, position + 2) or before == "of"
    return True


def _before_special_word(tokens: Tokens, position: int) -> bool | None:
    """Decide `her` before words of more than one kind; None for all others."""
    decide = _SPECIAL.get(tokens.word(position + 1))
    return None if decide is None else decide(tokens, position)


def _with_own(tokens: Tokens, position: int) -> bool:
    return True


def _with_coordination(tokens: Tokens, position: int) -> bool:
    return _shares_noun(tokens, position)


def _with_time(tokens: Tokens, position: int) -> bool:
    """Decide `saw her last week` and `in her last year`."""
    if tokens.word(position + 2) not in contexts.TIME_NOUNS:
        return True
    before, beyond = tokens.word(position - 1), tokens.word(position + 3)
    is_free = before not in contexts.PREPOSITIONS and not tokens.starts_sentence(
        position
    )
    return not (is_free and beyond not in ("of", "as") and beyond not in APOSTROPHES)


def _with_back(tokens: Tokens, position: int) -> bool:
    return tokens.word(position - 1) not in verbs.RETURNED_BY


def _with_home(tokens: Tokens, position: int) -> bool:
    if tokens.word(position - 1) not in verbs.HOME_BRINGERS:
        return True
    return not is_break(tokens, position + 2)


def _with_right(tokens: Tokens, position: int) -> bool:
    beyond = tokens.word(position + 2)
    return beyond not in ("away", "now", "there", "here", "back", "after", "before")


def _with_all(tokens: Tokens, position: int) -> bool:
    gives = tokens.word(position - 1) in ("give", "gives", "gave", "giving", "given")
    return gives and is_end(tokens, position + 2)


def _with_every(tokens: Tokens, position: int) -> bool:
    return tokens.word(position + 2) in contexts.EVERY_NOUNS


def _with_more(tokens: Tokens, position: int) -> bool:
    """Decide `her more recent book` and `gave her more`."""
    before = tokens.word(position - 1)
    opens = before in contexts.PREPOSITIONS or tokens.starts_sentence(position)
    return opens and not is_break(tokens, position + 2)


def _with_most(tokens: Tokens, position: int) -> bool:
    described = describes_object(tokens, position)
    return not (described or is_break(tokens, position + 2))


def _with_very(tokens: Tokens, position: int) -> bool:
    """Decide `her very first car`, `loves her very much` and `made her very happy`."""
    if describes_object(tokens, position):
        return False
    return tokens.word(position + 2) not in ("much", "well", "often", "hard", "badly")


def _with_will(tokens: Tokens, position: int) -> bool:
    """Decide `against her will` and `those who know her will agree`."""
    owned = ("against", "in", "of", "signed", "changed", "wrote", "with", "made")
    beyond = tokens.word(position + 2)
    return (
        tokens.word(position - 1) in owned
        or tokens.starts_sentence(position)
        or beyond in ("is", "was", "to", "power")
        or not beyond
    )


def _with_can(tokens: Tokens, position: int) -> bool:
    return tokens.word(position + 2) == "of"


def _with_gerund(tokens: Tokens, position: int) -> bool:
    """Decide `despite her being late` and `saw her being carried`."""
    before = tokens.word(position - 1)
    return before in contexts.PREPOSITIONS or tokens.starts_sentence(position)


def _with_little(tokens: Tokens, position: int) -> bool:
    masses = ("choice", "time", "chance", "hope", "to", "reason", "room", "by", "else")
    return tokens.word(position + 2) not in masses


def _with_former(tokens: Tokens, position: int) -> bool:
    """Decide `her then boyfriend` and `kissed her then`."""
    return tokens.word(position + 2) in ("boyfriend", "girlfriend", "husband", "wife")


_SPECIAL = {
    "own": _with_own,
    "other": _with_own,
    "and": _with_coordination,
    "or": _with_coordination,
    "last": _with_time,
    "next": _with_time,
    "back": _with_back,
    "home": _with_home,
    "right": _with_right,
    "all": _with_all,
    "every": _with_every,
    "more": _with_more,
    "most": _with_most,
    "very": _with_very,
    "will": _with_will,
    "can": _with_can,
    "might": _with_can,
    "being": _with_gerund,
    "having": _with_gerund,
    "little": _with_little,
    "then": _with_former,
    "now": _with_former,
}
