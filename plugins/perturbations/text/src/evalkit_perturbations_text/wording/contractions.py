"""Contractions for full forms."""

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
    COMPARISONS,
    DETERMINERS,
    NEGATIONS,
    PREPOSITIONS,
    QUESTION_WORDS,
    is_gerund,
    is_participle,
    is_regular_participle,
)
from evalkit_perturbations_text.words import WORD

_CANDIDATE = re.compile(
    r"\b(?:not|am|is|are|has|have|had|will|would)\b|\bcannot\b", re.IGNORECASE
)

_SUFFIXES = {
    "am": "'m",
    "is": "'s",
    "are": "'re",
    "has": "'s",
    "have": "'ve",
    "had": "'d",
    "will": "'ll",
    "would": "'d",
}

_HOSTS = {
    "am": {"i"},
    "is": {"he", "she", "it", "that", "there", "here", "what", "where", "who"},
    "are": {"you", "we", "they"},
    "has": {"he", "she", "it"},
    "have": {"i", "you", "we", "they"},
    "had": {"i", "you", "he", "she", "we", "they"},
    "will": {"i", "you", "he", "she", "it", "we", "they"},
    "would": {"i", "you", "he", "she", "we", "they"},
}
"""The words that each verb is drawn together with."""


class Contractions(TextPerturbation):
    """Draws verbs together with `not` and with pronouns (`is not` to `isn't`).

    Deterministic. Left alone is a verb that has its stress, as at the end of a clause
    (`I know you are.`, `than he is now`) or in capitals of its own (`it is NOT`), so
    what follows has to be a word that shows that the clause goes on. The apostrophe is
    the typographic one in a text that has no other.
    """

    def edits_of(self, text: str, rng: Random) -> list[Edit]:
        """Find the pairs of words that are drawn together."""
        if _CANDIDATE.search(text) is None:
            return []
        words = list(WORD.finditer(text))
        apostrophe = "’" if "’" in text and "'" not in text else "'"
        edits = []
        place = 0
        while place < len(words):
            found = _negation(text, words, place) or _verb(text, words, place)
            if found is not None:
                edit, used = found
                edits.append(edit._replace(text=edit.text.replace("'", apostrophe)))
                place += used
            else:
                place += 1
        return edits


_Words = list[re.Match[str]]


def _negation(text: str, words: _Words, place: int) -> tuple[Edit, int] | None:
    """Return the edit of an auxiliary verb and `not`, and how many words it takes."""
    match = words[place]
    word = match[0].lower()
    if word == "cannot":
        return Edit(match.start() + 3, match.end(), with_capitals_of(match[0], "'t")), 1
    negated = NEGATIONS.get(word)
    if negated is None or not _are_beside(text, words, place):
        return None
    other = words[place + 1]
    if other[0].lower() != "not" or not _same_case(match[0], other[0]):
        return None
    after = _word_after(text, words, place + 1)
    may_be_noun = word in ("can", "need", "will") and after == "to"
    if may_be_noun or after == "only" or text[other.end() : other.end() + 1] == "-":
        return None
    if negated.startswith(word):
        start, new = match.end(), negated[len(word) :]
    else:
        start, new = match.start(), match[0][0] + negated[1:]
        new = new.upper() if match[0].isupper() else new
    new = with_capitals_of(other[0], new) if start > match.start() else new
    return Edit(start, other.end(), new), 2


def _verb(text: str, words: _Words, place: int) -> tuple[Edit, int] | None:
    """Return the edit of a pronoun and a verb, and how many words it takes."""
    if not _are_beside(text, words, place):
        return None
    host, verb = words[place], words[place + 1]
    name = verb[0].lower()
    if name not in _SUFFIXES or host[0].lower() not in _HOSTS[name]:
        return None
    if not _same_case(host[0], verb[0]) or not _goes_on(name, text, words, place):
        return None
    return Edit(host.end(), verb.end(), with_capitals_of(verb[0], _SUFFIXES[name])), 2


def _goes_on(verb: str, text: str, words: _Words, place: int) -> bool:
    """Whether what follows shows that the verb has no stress."""
    before = _word_before(text, words, place)
    if before in COMPARISONS or _is_object(before) or before in NEGATIONS:
        return False
    following = place + 2
    after = _word_after(text, words, following - 1)
    if verb in ("am", "is", "are") and before in QUESTION_WORDS:
        return is_gerund(after) or is_regular_participle(after)
    while after in ADVERBS:
        after = _word_after(text, words, following)
        following += 1
    if verb in ("will", "would"):
        return after in BARE_VERBS
    if verb in ("has", "have", "had"):
        # what they have left, he had made for him
        return is_participle(after) and after not in ("left", "made")
    return (
        after in DETERMINERS
        or after in ADJECTIVES
        or is_gerund(after)
        or is_regular_participle(after)
    )


def _is_object(before: str) -> bool:
    """Whether a pronoun after this word is no subject (`doing it is a mistake`)."""
    return before in PREPOSITIONS or is_gerund(before)


def _are_beside(text: str, words: _Words, place: int) -> bool:
    if place + 1 >= len(words):
        return False
    end = words[place].end()
    return words[place + 1].start() == end + 1 and text[end] == " "


def _word_after(text: str, words: _Words, place: int) -> str:
    """Return the next word in lower case, "" where another sign comes first."""
    return words[place + 1][0].lower() if _are_beside(text, words, place) else ""


def _word_before(text: str, words: _Words, place: int) -> str:
    if place == 0 or not _are_beside(text, words, place - 1):
        return ""
    return words[place - 1][0].lower()


def _same_case(first: str, second: str) -> bool:
    """Whether neither of two words is in capitals alone; `I` goes with both."""
    if len(first) == 1:
        return True
    return first.isupper() == second.isupper()
