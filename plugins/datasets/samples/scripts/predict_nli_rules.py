"""Predict entailment from shared words and a handful of hand-written rules.

The system starts from the same lexical overlap as ``predict_nli_overlap.py`` and
then lets six kinds of evidence speak, each of which raises or lowers the score of
one or more labels:

* negation: one of the two sentences is negated and the other is not;
* antonyms: a word of the one has its opposite in the other;
* numbers: a number that is new, or a comparison which the context's numbers settle;
* quantifiers: *none* against *some*, *some* against *all*, and the like;
* hedges: what may or will be so need not be so, or not yet;
* comparisons: that something is more than another thing is seldom implied.

The word lists are general English. The rules do not parse: they look for words
anywhere in a sentence, and go wrong where it matters who did what to whom.

The few weights were set with the sample in view, so the system's score on the sample
is an example of a score, and no estimate of how it does elsewhere.
"""

from __future__ import annotations

import math
import re
from typing import Any

from _shared import content_stems, main, rounded_shares, stem, word_set, words

LABELS = ("entailed", "neutral", "contradictory")

NEGATORS = word_set(
    """
    cannot hardly neither never no nobody none nor not nothing nowhere without
    """
)

_ANTONYMS = """
above/below accept/reject accepted/refused ahead/behind alive/dead
always/never asleep/awake before/after begin/end big/small borrow/lend bought/sold
build/demolish built/destroyed buy/sell calm/rough calm/wild cheap/expensive clean/dirty
closed/open cold/hot day/night deep/shallow different/same difficult/easy dry/wet
dull/exciting early/late earlier/later east/west empty/full fail/pass fail/succeed
far/near fast/slow fewer/more finish/start finish/begin first/last found/lost gain/lose
happy/sad hate/love healthy/ill heavy/light high/low increase/decrease inside/outside
large/small left/right less/more loud/quiet narrow/wide north/south old/young
older/younger opened/shut praise/criticise pull/push remember/forget rise/fall
short/long short/tall shut/open strong/weak summer/winter thick/thin true/false
upstairs/downstairs win/lose won/lost
"""
ANTONYMS = frozenset(
    frozenset(stem(word) for word in pair.split("/")) for pair in _ANTONYMS.split()
)

_SYNONYMS = """
almost/nearly autumn/fall begin/start begun/started big/large build/construct built/made
buy/purchase car/vehicle couple/pair cost/price delay/postpone delayed/postponed
end/finish ended/finished error/mistake flat/apartment forest/wood fridge/refrigerator
gift/present happy/glad home/house ill/sick kid/child kids/children lift/elevator
film/movie plane/airplane quick/fast shop/store shut/closed start/commence street/road
trip/journey
"""
SYNONYMS = {
    stem(one): stem(other)
    for one, other in (pair.split("/") for pair in _SYNONYMS.split())
}

_UP_TO_TWENTY = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen twenty
"""
NUMBERS = {word: value for value, word in enumerate(_UP_TO_TWENTY.split())} | {
    "dozen": 12,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
    "thousand": 1000,
    "million": 1_000_000,
}

ALL = word_set("all both each every everybody everyone everything")
SOME = word_set("few many most one several some somebody someone something two")
NONE = word_set("neither no nobody none nothing")

HEDGES = word_set(
    """
    believe believes could either hope hopes if may maybe might or perhaps plan plans
    possibly probably say says should think thinks want wants whether will
    """
)

_COMPARISON = re.compile(
    r"\b(?P<word>more than|over|at least|fewer than|less than|under|at most)\s+"
    r"(?:an?\s+)?(?P<number>[\w.,]+)"
)


def number(word: str) -> float | None:
    """Read a number.

    Args:
        word: A lower-case word, such as ``4,200`` or ``twelve``.

    Returns:
        Its value, or None if it is no number.
    """
    digits = word.replace(",", "").strip("€£$.")
    if re.fullmatch(r"\d+(\.\d+)?", digits):
        return float(digits)
    value = NUMBERS.get(word)
    return None if value is None else float(value)


def numbers(text: str) -> list[float]:
    """List the numbers of a text.

    Args:
        text: Any text.

    Returns:
        The values, in order; *one* is left out, for it is mostly a pronoun.
    """
    values = (number(word) for word in words(text) if word != "one")
    return [value for value in values if value is not None]


def is_negated(text: str) -> bool:
    """Tell whether a sentence is negated.

    Args:
        text: A sentence.

    Returns:
        True if it holds an odd number of negating words.
    """
    found = [
        word in NEGATORS
        or (word.endswith(("n't", "n’t", "less")) and word not in ("less", "unless"))
        for word in words(text)
    ]
    return sum(found) % 2 == 1


def overlap(context: str, hypothesis: str) -> float:
    """Measure how much of the hypothesis is already in the context.

    Args:
        context: What is known.
        hypothesis: What is claimed.

    Returns:
        The share of the hypothesis' content words which the context has too, up
        to synonyms, from 0 to 1.
    """
    known = {SYNONYMS.get(item, item) for item in content_stems(context)}
    claimed = [
        SYNONYMS.get(item, item)
        for item in content_stems(hypothesis)
        if item not in NEGATORS
    ]
    return sum(item in known for item in claimed) / max(len(claimed), 1)


def has_antonyms(context: str, hypothesis: str) -> bool:
    """Tell whether a word of the hypothesis is the opposite of one in the context.

    Args:
        context: What is known.
        hypothesis: What is claimed.

    Returns:
        True if there is such a pair and the hypothesis does not have both words.
    """
    known = {stem(word) for word in words(context)}
    claimed = {stem(word) for word in words(hypothesis)}
    return any(
        len(pair & claimed) == 1
        and len(pair & known) == 1
        and not pair & claimed & known
        for pair in ANTONYMS
    )


def number_evidence(context: str, hypothesis: str) -> dict[str, float]:
    """Compare the numbers of the two sentences.

    Args:
        context: What is known.
        hypothesis: What is claimed.

    Returns:
        What to add to the score of each label.
    """
    known = numbers(context)
    claimed = numbers(hypothesis)
    if not known or not claimed:
        return {"neutral": 0.5} if claimed else {}
    match = _COMPARISON.search(hypothesis.lower())
    limit = number(match["number"]) if match else None
    if match and limit is not None:
        if match["word"] in ("more than", "over", "at least"):
            holds = max(known) >= limit
        else:
            holds = max(known) <= limit
        return {"entailed": 1.5} if holds else {"contradictory": 2.0}
    if all(value in known for value in claimed):
        return {"entailed": 0.5}
    # "At least a dozen" leaves open how many; a bare number does not.
    if _COMPARISON.search(context.lower()):
        return {"neutral": 2.0}
    return {"contradictory": 1.5, "entailed": -1.0}


def is_reversed(context: str, hypothesis: str) -> bool:
    """Tell whether one sentence denies what the other one affirms.

    Args:
        context: What is known.
        hypothesis: What is claimed.

    Returns:
        True if only one of them is negated, or if the one speaks of none and the
        other of some or all.
    """
    known, claimed = set(words(context)), set(words(hypothesis))
    return (
        is_negated(context) != is_negated(hypothesis)
        or bool(known & NONE and claimed & (SOME | ALL) and not claimed & NONE)
        or bool(claimed & NONE and known & (SOME | ALL) and not known & NONE)
    )


def quantifier_evidence(context: str, hypothesis: str) -> dict[str, float]:
    """Compare how many the two sentences speak of, *none* apart.

    Args:
        context: What is known.
        hypothesis: What is claimed.

    Returns:
        What to add to the score of each label.
    """
    known, claimed = set(words(context)), set(words(hypothesis))
    if known & ALL and claimed & SOME:
        return {"entailed": 1.0}
    if known & SOME and claimed & ALL:
        return {"neutral": 1.0, "contradictory": 0.5}
    return {}


def scores(context: str, hypothesis: str) -> dict[str, float]:
    """Add up the evidence for each label.

    Args:
        context: What is known.
        hypothesis: What is claimed.

    Returns:
        A score for each label; the highest wins.
    """
    share = overlap(context, hypothesis)
    total = {
        "entailed": 4.0 * (share - 0.5),
        "neutral": 2.0 * (0.6 - share),
        "contradictory": 0.0,
    }
    # One reversal denies the context, the more surely the more else is the same;
    # two of them cancel each other out.
    flips = is_reversed(context, hypothesis) + has_antonyms(context, hypothesis)
    evidence: list[dict[str, float]] = [
        {0: {}, 1: {"contradictory": 1.0 + share}, 2: {"entailed": 1.0}}[flips],
        number_evidence(context, hypothesis),
        quantifier_evidence(context, hypothesis),
    ]
    if HEDGES & set(words(context)) and not HEDGES & set(words(hypothesis)):
        evidence.append({"neutral": 3.0})
    if "than" in words(hypothesis) and "than" not in words(context):
        evidence.append({"neutral": 1.0})
    for item in evidence:
        for label, amount in item.items():
            total[label] += amount
    return total


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Label one pair of sentences.

    Args:
        row: A row with ``context`` and ``hypothesis``.

    Returns:
        The label, and the probability of each label.
    """
    total = scores(row["context"], row["hypothesis"])
    shares = rounded_shares([math.exp(total[label]) for label in LABELS])
    prob = dict(zip(LABELS, shares, strict=True))
    return {"label": max(LABELS, key=lambda label: prob[label]), "prob": prob}


if __name__ == "__main__":
    main("sample-nli", "rules", predict)
