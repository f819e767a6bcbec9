"""Full forms for contractions."""

from __future__ import annotations

import re
from random import Random

from evalkit import Edit
from evalkit_perturbations_text.letter_case import with_capitals_of
from evalkit_perturbations_text.text_perturbations import TextPerturbation
from evalkit_perturbations_text.wording.auxiliaries import (
    ADJECTIVES,
    ADVERBS,
    BARE_VERBS,
    CLAUSE_WORDS,
    DETERMINERS,
    NEGATIONS,
    PLACE_WORDS,
    QUESTION_WORDS,
    SUBJECTS,
    is_gerund,
    is_participle,
)
from evalkit_perturbations_text.words import WORD

_SUFFIX = re.compile(r"(?i)(?:n['’]t|['’](?:m|re|ve|ll|s|d))")
"""Endings that may be written in full; each word may have several."""

_NEGATED = {short: verb for verb, short in NEGATIONS.items()} | {
    "shan't": "shall",
    "mightn't": "might",
    "oughtn't": "ought",
}

_IRREGULAR = {"can't": "cannot", "won't": "will not", "shan't": "shall not"}

_PRONOUNS = SUBJECTS | {"that", "there", "this", "who"}
"""Words that cannot be in the possessive with 's."""

_POINTERS = frozenset({"it", "there", "this", "that", "these", "those"})
"""Subjects that also stand after a verb: `isn't that good`."""

_MAY_INVERT = SUBJECTS - {"it"}

_UNCLEAR = BARE_VERBS | {"always", "ever", "even"}
"""Words behind `not` that may be participles (`become`) or stand before them."""

_MAIN_VERBS = frozenset({"aren't", "isn't", "wasn't", "weren't"})


class Expansions(TextPerturbation):
    """Writes contractions in full (`isn't` to `is not`) where only one form is meant.

    Deterministic. Left alone are inverted questions (`Isn't it?`, `Why don't you`), a
    possessive 's, and 's and 'd that grammar does not decide: `he's been` is `he has
    been`, `it's not` is `it is not`, `he's gone` stays. `'` and `’` are the same.
    """

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Find the contractions whose full form is certain."""
        if "'" not in text and "’" not in text:
            return []
        words = list(WORD.finditer(text))
        edits: list[Edit] = []
        for place, match in enumerate(words):
            word = match[0]
            if "'" in word or "’" in word:
                edits += _edits_of_word(text, words, place)
        return edits


_Words = list[re.Match[str]]


def _edits_of_word(text: str, words: _Words, place: int) -> list[Edit]:
    match = words[place]
    word = match[0].replace("’", "'").lower()
    suffixes = list(_SUFFIX.finditer(text, match.start(), match.end()))
    if not suffixes or suffixes[-1].end() != match.end():
        return []
    base = word[: suffixes[0].start() - match.start()]
    context = _Context(text, words, place)
    if _NEGATED.get(word.removesuffix("'ve")) is not None:
        return _negation(match, word, context)
    if len(suffixes) > 1:
        return []
    ending = suffixes[0][0].replace("’", "'").lower()
    full = _full_form(base, ending, context)
    if full is None:
        return []
    start, end = suffixes[0].span()
    new = full.upper() if text[start + 1 : end].isupper() else full
    return [Edit(start, end, " " + new)]


class _Context:
    """The words around one, in lower case, with `'` for each apostrophe."""

    def __init__(self, text: str, words: _Words, place: int) -> None:
        self._text = text
        self._words = words
        self._place = place

    def before(self) -> str:
        """Return the word before; "" at the beginning of a clause."""
        place = self._place
        if place == 0 or self._gap(place - 1) != " ":
            return ""
        return _plain(self._words[place - 1][0])

    def after(self, steps: int = 1) -> str:
        """Return the word so many steps later; "" where the clause ends before."""
        place = self._place
        if place + steps >= len(self._words):
            return ""
        if any(self._gap(place + step) != " " for step in range(steps)):
            return ""
        return _plain(self._words[place + steps][0])

    def after_adverbs(self) -> str:
        """Return the next word that is no adverb, "" where the clause ends before."""
        steps = 1
        while self.after(steps) in ADVERBS:
            steps += 1
        return self.after(steps)

    def has_capital_after(self) -> bool:
        """Whether the next word begins with a capital, and this one is not in them."""
        if not self.after() or self._words[self._place][0].isupper():
            return False
        return self._words[self._place + 1][0][0].isupper()

    def asks_before(self) -> bool:
        """Whether a question word stands before it in its sentence."""
        place = self._place
        while place > 0 and not re.search(r"[.!?;\n]", self._gap(place - 1)):
            place -= 1
            if _plain(self._words[place][0]) in QUESTION_WORDS:
                return True
        return False

    def _gap(self, place: int) -> str:
        return self._text[self._words[place].end() : self._words[place + 1].start()]


def _negation(match: re.Match[str], word: str, context: _Context) -> list[Edit]:
    short = word.removesuffix("'ve")
    if not _is_statement(short, context):
        return []
    start, end = match.span()
    more = " have" if short != word else ""
    if short == "can't":
        new = "not" + more
        return [Edit(start + 3, end, with_capitals_of(match[0], new))]
    if short in _IRREGULAR:
        new = _IRREGULAR[short] + more
        new = match[0][0] + new[1:]
        return [Edit(start, end, with_capitals_of(match[0], new))]
    base = len(_NEGATED[short])
    return [Edit(start + base, end, with_capitals_of(match[0], " not" + more))]


def _is_statement(short: str, context: _Context) -> bool:
    """Whether the subject stands before the verb, or there is none to stand after."""
    before, after = context.before(), context.after()
    if after in _MAY_INVERT:
        return False
    if before in SUBJECTS or before in ("there", "that"):
        return True
    if after in _POINTERS:
        return False
    orders = short not in _MAIN_VERBS and after in BARE_VERBS
    if before in ("", "and", "but", "or", "so", "then", "please", "just"):
        ends = before != "" and after == ""
        return ends or (orders and not context.has_capital_after())
    if before in ("who", "which"):
        return after not in DETERMINERS and not context.has_capital_after()
    if before in QUESTION_WORDS:
        return False
    may_ask = after in DETERMINERS or context.has_capital_after()
    return not (may_ask and context.asks_before())


def _full_form(base: str, ending: str, context: _Context) -> str | None:
    """Return the verb that an ending stands for, None where it is not certain."""
    if ending == "'m":
        return "am" if base == "i" else None
    if ending == "'re":
        return "are"
    if ending == "'ve":
        return "have"
    if ending == "'ll":
        return "will"
    if ending == "'s":
        return _full_s(base, context)
    return _full_d(base, context)


def _full_s(base: str, context: _Context) -> str | None:
    if base == "let":
        lets = context.after() == "not" or context.after() in BARE_VERBS
        return "us" if lets else None
    if base not in _PRONOUNS | {"here", "what", "where", "how"}:
        return None
    after = context.after_adverbs()
    if after in ("been", "had", "got"):
        return "has"
    if base in ("who", "what", "where", "how") and after in SUBJECTS:
        return None
    if after in DETERMINERS or is_gerund(after):
        return "is"
    if base in _PRONOUNS and _is_complement(after, context):
        return "is"
    return None


def _is_complement(after: str, context: _Context) -> bool:
    """Tell whether what follows a subject and 's needs `is`, and no participle can."""
    if after in ADJECTIVES or after in PLACE_WORDS or after in CLAUSE_WORDS:
        return True
    return context.after() == "not" and not (is_participle(after) or after in _UNCLEAR)


def _full_d(base: str, context: _Context) -> str | None:
    if base not in SUBJECTS:
        return None
    if context.after() in ("better", "best"):
        return "had" if context.after(2) in BARE_VERBS | {"not"} else None
    after = context.after_adverbs()
    if is_participle(after):
        return "had"
    if after in BARE_VERBS - {
        "become",
        "come",
        "cost",
        "fit",
        "hurt",
        "let",
        "put",
        "run",
    }:
        return "would"
    return None


def _plain(word: str) -> str:
    return word.replace("’", "'").lower()
