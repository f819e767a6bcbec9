"""Short forms of verbs: joining them and writing them out."""

from __future__ import annotations

import re
from random import Random

from evalkit import Edit
from evalkit_perturbations_text.text_perturbations import (
    WORD,
    TextPerturbation,
    with_capitals_of,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SUBJECTS = frozenset({"i", "you", "he", "she", "it", "we", "they"})
"""Pronouns that are only, or nearly only, subjects."""

NEGATIONS = {
    "are": "aren't",
    "can": "can't",
    "could": "couldn't",
    "did": "didn't",
    "do": "don't",
    "does": "doesn't",
    "had": "hadn't",
    "has": "hasn't",
    "have": "haven't",
    "is": "isn't",
    "must": "mustn't",
    "need": "needn't",
    "should": "shouldn't",
    "was": "wasn't",
    "were": "weren't",
    "will": "won't",
    "would": "wouldn't",
}
"""The negated form of each auxiliary verb."""

DETERMINERS = _words(
    "a an the my your his her its our their some any every each no another"
)

ADVERBS = _words(
    "already also always just never not often only quite rather really so usually very"
)
"""Those that stand between an auxiliary verb and what follows it."""

QUESTION_WORDS = _words(
    "how what when where which who whom whose why however whatever whenever wherever "
    "whichever"
)

PREPOSITIONS = _words("about at behind between by for from near of on to under with")
"""Those that begin no clause."""

PLACE_WORDS = _words(
    "about at behind for from here in inside like near of on out outside over there "
    "under up with"
)
"""Words that say where, when or for whom something is, and begin no verb."""

CLAUSE_WORDS = _words("because how me him them us what when where who why")
"""Words that stand behind `it is` and `that is`."""

COMPARISONS = frozenset({"as", "than"})

_NO_GERUNDS = _words(
    "anything during evening everything king morning nothing ring spring something "
    "string thing wing"
)

_NO_PARTICIPLES = _words("bed bleed breed feed indeed need red seed speed")

BARE_VERBS = _words(
    "accept add agree allow answer appear ask assume avoid be become begin believe "
    "break bring build buy call carry cause change check choose come consider contain "
    "continue cost create decide deny depend describe die do draw drink drive eat "
    "enjoy enter exist expect explain fail fall feel fight find finish fit fly follow "
    "forget forgive get give go grow happen hate have hear help hold hope hurt include "
    "increase introduce judge keep kill know laugh learn leave let lie like listen "
    "live look lose love make marry matter mean meet mention mind miss move need "
    "notice obey offer open own panic pass pay play prevent produce promise provide "
    "pull push put raise reach read receive refuse remain remember remove require "
    "return run save say see seem sell send serve share show sing sit sleep smoke "
    "speak spend stand start stay steal stop study suffer suggest support surrender "
    "swim take talk teach tell think throw touch travel treat trust try turn "
    "understand use visit wait walk want waste watch wear win wish wonder work worry "
    "write"
)
"""Verbs as they stand after `will`, `do` and `not`."""

PARTICIPLES = _words(
    "been begun broken chosen done drawn driven eaten fallen flown forgotten forgiven "
    "gone gotten grown had heard held kept known left lost made meant met paid said "
    "seen sent shown spoken stolen stood swum taken taught thought told thrown "
    "understood won worn written"
)
"""Past participles that are no bare verb."""

ADJECTIVES = _words(
    "able afraid alive amazing angry available aware bad beautiful better big certain "
    "clear close cold common dangerous dark dead different difficult easy essential "
    "expensive false famous fine free full funny glad good great happy hard high hot "
    "huge human hungry illegal important impossible interesting large late legal "
    "likely long low lucky necessary new nice normal obvious old poor popular possible "
    "proud ready real responsible rich right rude sad safe sick similar simple small "
    "smart sorry strange strong stupid sure tall terrible tired true ugly unable "
    "unclear unlikely useful useless warm weak welcome well wonderful worse worth "
    "wrong young"
)


def is_gerund(word: str) -> bool:
    """Whether a word in lower case looks like the -ing form of a verb."""
    return len(word) > 4 and word.endswith("ing") and word not in _NO_GERUNDS


def is_regular_participle(word: str) -> bool:
    """Whether a word in lower case looks like the -ed form of a verb."""
    return len(word) > 4 and word.endswith("ed") and word not in _NO_PARTICIPLES


def is_participle(word: str) -> bool:
    """Whether a word in lower case is the past participle of a verb, and no more."""
    return word in PARTICIPLES or is_regular_participle(word)


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


def _edits_of_word(text: str, words: _Words, place: int) -> list[Edit]:
    match = words[place]
    word = match[0].replace("’", "'").lower()
    suffixes = list(_SUFFIX.finditer(text, match.start(), match.end()))
    if not suffixes or suffixes[-1].end() != match.end():
        return []
    base = word[: suffixes[0].start() - match.start()]
    context = _Context(text, words, place)
    if _NEGATED.get(word.removesuffix("'ve")) is not None:
        return _expand_negation(match, word, context)
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


def _expand_negation(match: re.Match[str], word: str, context: _Context) -> list[Edit]:
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
