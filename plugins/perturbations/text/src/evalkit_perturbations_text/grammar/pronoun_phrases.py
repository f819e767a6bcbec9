"""Phrases that tell what a pronoun stands for, and the verbs of persons."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from evalkit_perturbations_text.grammar import pronoun_contexts as contexts
from evalkit_perturbations_text.grammar import pronoun_verbs as verbs
from evalkit_perturbations_text.grammar.tokens import APOSTROPHES, Tokens, word_set

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


MORE_PREDICATES = word_set(
    """
    absent active aggressive agile alert allergic aloof apprehensive attentive bitter
    bland blank bloody bold bulky buoyant carefree carsick catatonic chaste cheap cheeky
    chilly choosy chubby clear close clumsy cocky comatose competitive complacent
    confident content cosy cozy crabby cranky creative crooked cruel defensive dense
    dependent devout diabetic dim distant distraught docile drastic dreary drowsy dull
    ecstatic edgy eerie elegant emotional enthusiastic erratic euphoric exempt expensive
    faint fake fertile fluent foggy fond frail frank frantic frigid frugal fussy fuzzy
    gentle giddy glad gloomy greasy greedy groggy grumpy hard harsh hectic hesitant
    hoarse hollow homesick humble hysterical idle ignorant immature immense immobile
    immortal impatient important impotent impressive impulsive incoherent independent
    indifferent indignant inert infertile intact intense intolerant itchy jaded jittery
    jolly jubilant jumpy lanky lean legendary lethargic limp literate lively livid loyal
    lucid manic mature meek merry messy mobile modest moody muddy naive nasty needy
    neutral nostalgic nosy numb obese odd optimistic panicky paranoid passionate passive
    pathetic persistent pessimistic picky polite productive profound prominent psychotic
    pushy queasy quick radiant reluctant resistant reticent rigid robust sarcastic sassy
    sceptical seasick sensitive sentimental sexy shabby shaggy shaky shy sincere
    skeptical skinny slender sloppy slow sly snappy soft solvent sore sour steady stern
    sticky stiff strict stubborn sturdy suicidal sulky sullen supportive sweaty swift
    talkative tall tame teary tender tense tidy timid tipsy tolerant tough tranquil
    trendy unfit unkind unsafe unsure upbeat upright vain vigilant violent vivid vocal
    wary weary weepy wild wise woozy
    """
)
"""Adjectives that may say something of an object before them, and are seldom nouns;
those of `PREDICATES` and with the endings below are not repeated."""

_ENDINGS = ("less", "ous", "able", "ible", "ful", "ish", "some", "worthy")

_NOUNS = word_set(
    """
    table vegetable constable cable fable bible syllable timetable crucible parable
    handful mouthful spoonful armful fistful plateful cupful roomful lawful polish
    rubbish relish radish varnish finish dish fish wish parish british english spanish
    danish swedish polish irish scottish turkish finnish lavish blush brush unless bless
    lesson ransom foursome threesome twosome
    """
) - {"lawful", "lavish"}
"""Words with the same endings that are no adjectives of the kind."""

_FEWEST_LETTERS = 6

_DEGREES = word_set("very more most less rather fairly pretty all")

_MOST_ADVERBS = 2

_IDIOMS = frozenset(
    (verb, "cool") for verb in ("keep", "keeps", "kept", "keeping", "lose", "lost")
)
"""Where the adjective is what somebody has: `kept her cool`."""


def describes_object(tokens: Tokens, position: int) -> bool:
    """Tell whether an adjective behind `her` says something of her."""
    before = tokens.word(position - 1)
    if before not in verbs.COMPLEMENT_VERBS:
        return False
    place = position + 1
    while place - position <= _MOST_ADVERBS and _is_degree(tokens.word(place)):
        if _ends_phrase(tokens, place + 1):
            break
        place += 1
    word = tokens.word(place)
    if (before, word) in _IDIOMS or not _ends_phrase(tokens, place + 1):
        return False
    return is_predicate(word)


def is_predicate(word: str) -> bool:
    """Tell whether a word in lower case may say something of an object before it."""
    if word in contexts.PREDICATES or word in MORE_PREDICATES:
        return True
    if word in verbs.PARTICIPLES:
        return True
    if word.endswith("ed"):
        return word not in contexts.ED_NOUNS
    return (
        len(word) >= _FEWEST_LETTERS and word.endswith(_ENDINGS) and word not in _NOUNS
    )


def _is_degree(word: str) -> bool:
    return word in _DEGREES or is_adverb(word)


def _ends_phrase(tokens: Tokens, position: int) -> bool:
    """Tell whether no noun follows; `last night` is none that belongs to it."""
    is_time = tokens.word(position + 1) in contexts.TIME_NOUNS
    return is_break(tokens, position) or (
        is_time and tokens.word(position) in ("last", "next")
    )


PERSONAL_VERBS = word_set("""
    said says asked told tells bought buys sold earns earned wants wanted ate eats went
    goes walked walks reads read writes wrote thinks thought knows knew lives lived
    works worked laughed smiled cried likes loves loved hates hated baked bakes drove
    drives decided plans planned collects collected saved saves spent spends
    """)
"""Verbs of people."""


_PAST_FORMS = word_set("""
    saw broke found left lost cut put hit bit built caught dealt dug drew fought froze
    hung hurt knelt laid lent let meant rode set shook shot shut stole stuck struck
    swore swept tore wept won swung slid sped spun split spread leapt lit overheard
    withdrew chews bids owns owes owned receives rents triples doubles estimates
    multiplies adds has was had is does did originally could would should
    """)
"""Other forms of verbs as they stand after a name in the singular."""


@cache
def infinitives() -> frozenset[str]:
    """Return verbs as they stand after `to`, in lower case."""
    return verbs.PURE_VERBS | verbs.NOUN_VERBS | {"be", "have", "do"}


@cache
def verb_forms() -> frozenset[str]:
    """Return verbs as they stand after a name in the singular."""
    forms = set(PERSONAL_VERBS | _PAST_FORMS)
    forms |= verbs.FINITE_VERBS | contexts.AUXILIARIES
    forms |= {"will", "can", "might", "who", "never", "always", "also", "often", "then"}
    for verb in infinitives():
        forms |= set(_inflected(verb))
    return frozenset(forms - {"not", "n", "be", "been", "am", "are", "were"})


def _inflected(verb: str) -> Iterable[str]:
    """Return the third person and the regular past of a verb."""
    if verb.endswith("y") and verb[-2] not in "aeou":
        return (verb[:-1] + "ies", verb[:-1] + "ied")
    past = verb + ("d" if verb.endswith("e") else "ed")
    ending = "es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else "s"
    return (verb + ending, past, verb + verb[-1] + "ed")
