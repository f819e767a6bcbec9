"""Predict ``sample-hs`` with a small system of rules.

A statement is hateful when a group of people is named and, close to it, there
is a derogatory or excluding word or a sweeping generalisation. Quoted words are
left out, a word that is negated does not count, and neither does a sentence that
reports or rejects what somebody else has said. The rules give no probabilities.
"""

from __future__ import annotations

import re
from typing import Any

from _shared import main, sentences, words

WINDOW = 7
"""How many words apart a group and a derogatory or excluding word may be."""

NEGATION_REACH = 2
"""How many words before a derogatory word a negation may stand."""

_PEOPLE = r"(?:people|folks?|men|man|women|woman|kids|children|persons?|couples?)"

GROUP = re.compile(
    r"\b(?:wom[ae]n|girls?|wives|wife|females?|men"
    r"|(?:im)?migrants?|foreigners?|refugees?|asylum[ -]seekers?"
    r"|muslims?|jews?|jewish|christians?|hindus?|sikhs?|buddhists?|atheists?"
    r"|disabled|handicapped|deaf|wheelchairs?|autistic|the blind"
    r"|elderly|pensioners?|teenagers?|(?:old|young|black|white) " + _PEOPLE + "|"
    r"gays?|lesbians?|bisexuals?|trans|transgender|homosexuals?"
    r"|africans?|asians?|arabs?|roma|latinos?)\b"
)

DEROGATORY = re.compile(
    r"\b(?:animals|apes|backward|beasts|brainless|brutes|burden|cheats"
    r"|cockroaches|cowards|crazy|criminals|crooks|devils|dim|dirty"
    r"|disease|disgusting|dumb|evil|filth|filthy|fools|freaks|idiots"
    r"|immoral|incapable|inferior|insane|insects|lazy|leeches|liars"
    r"|menace|monkeys|morons|nuisance|parasites|perverts|pests|plague"
    r"|primitive|rats|savages|scroungers|scum|sheep|sick|sinful|sneaky"
    r"|steal|stink|stupid|subhuman|terrorists|thief|thieves|trash|ugly"
    r"|uncivilised|unclean|unnatural|untrustworthy|useless|vermin"
    r"|violent|weak|worthless)\b"
)

EXCLUDING = re.compile(
    r"\b(?:send (?:\w+ ){0,3}(?:back|home)|go (?:back|home)|get out|kick\w* out"
    r"|throw\w* out|keep (?:\w+ ){1,3}(?:out|away)|ban(?:ned)?|deport\w*"
    r"|(?:don't|doesn't|do not|does not) belong|no place|out of (?:our|my|this)"
    r"|should(?: not|n't| never) be allowed|should be (?:locked|banned|kept|shut)"
    r"|lock(?:ed)? up|belongs? in the kitchen)\b"
)

SWEEPING = re.compile(
    r"\b(?:all of them|none of them|every(?: single)? one of (?:them|you)"
    r"|each and every|they are all|they're all|all the same|the whole lot"
    r"|by nature|in their (?:nature|blood))\b"
)

QUANTIFIER = re.compile(r"\b(?:all|every|any|no|none of) (?:the |these |those )?$")

NEGATION = frozenset({"not", "no", "never", "nor", "neither", "without"})

REPORTING = re.compile(
    r"\b(?:says?|said|saying|claim(?:s|ed|ing)?|call(?:ed|ing)|shout(?:s|ed|ing)"
    r"|describ(?:e[sd]?|ing)|accus(?:e[sd]?|ing)|reject(?:s|ed|ing)?"
    r"|den(?:y|ies|ied)|not true|untrue|a (?:\w+ )?(?:lie|myth))\b"
)

_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"")


def is_negated(text: str, start: int) -> bool:
    """Tell whether a negation stands shortly before a position.

    Args:
        text: The text of a sentence.
        start: Where the word in question starts.

    Returns:
        Whether one of the words just before it is a negation.
    """
    before = words(text[:start])[-NEGATION_REACH:]
    return any(word in NEGATION or word.endswith("n't") for word in before)


def distance(text: str, first: re.Match[str], second: re.Match[str]) -> int:
    """Count the words between two matches in a sentence.

    Args:
        text: The text of a sentence.
        first: One match.
        second: Another match.

    Returns:
        The number of words between them; 0 if they touch or overlap.
    """
    left, right = sorted((first, second), key=lambda match: match.start())
    return len(words(text[left.end() : right.start()]))


def is_hateful(text: str) -> bool:
    """Apply the rules to one statement.

    Args:
        text: The statement.

    Returns:
        Whether the rules find it hateful.
    """
    text = _QUOTED.sub(" ", text.replace("\u2019", "'"))
    if REPORTING.search(text.lower()):
        return False
    found_group = False
    for sentence in map(str.lower, sentences(text)):
        groups = list(GROUP.finditer(sentence))
        found_group = found_group or bool(groups)
        # A generalisation may be in a later sentence than the group it is about.
        if found_group and SWEEPING.search(sentence):
            return True
        signs = [
            match
            for match in DEROGATORY.finditer(sentence)
            if not is_negated(sentence, match.start())
        ]
        signs.extend(EXCLUDING.finditer(sentence))
        for group in groups:
            if QUANTIFIER.search(sentence[: group.start()]):
                return True
            if any(distance(sentence, group, sign) <= WINDOW for sign in signs):
                return True
    return False


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Predict whether one statement is hateful.

    Args:
        row: A row of the data set, without its gold fields.

    Returns:
        The label.
    """
    return {"label": "hateful" if is_hateful(row["statement"]) else "not-hateful"}


if __name__ == "__main__":
    main("sample-hs", "keywords", predict)
