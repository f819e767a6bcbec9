"""Verbs as they stand after the name of one person."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from evalkit_perturbations_text.grammar import pronoun_contexts as contexts
from evalkit_perturbations_text.grammar import pronoun_verbs as verbs
from evalkit_perturbations_text.grammar.tokens import word_set

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
