"""Tells `make her drowsy` from `make her drowsy aunt`: adjectives after an object."""

from __future__ import annotations

from evalkit_perturbations_text.grammar import pronoun_contexts as contexts
from evalkit_perturbations_text.grammar import pronoun_verbs as verbs
from evalkit_perturbations_text.grammar.pronoun_phrases import is_adverb, is_break
from evalkit_perturbations_text.grammar.tokens import Tokens, word_set

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
