"""Words that tell which verb a contraction stands for, and where one may stand.

Short lists written for this package; none is complete. A word that is in none leaves a
text as it is.
"""

from __future__ import annotations


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
