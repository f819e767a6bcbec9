"""Predict entailment from shared words alone: the lexical overlap baseline.

The system knows nothing but the share of the hypothesis' content words that also
occur in the context. When most are shared it answers *entailed*, when hardly any
are, *neutral*; whatever lies between it takes for *contradictory*, since a sentence
that denies another one tends to repeat a part of its words.

The three shares were set with the sample in view, so the system's score on the sample
is an example of a score, and no estimate of how it does elsewhere.
"""

from __future__ import annotations

import math
from typing import Any

from _shared import content_stems, main, rounded_shares

CENTRES: dict[str, float] = {"entailed": 0.68, "neutral": 0.0, "contradictory": 0.3}
"""The share of known words which is typical of each label."""

WIDTH = 0.25
"""How far from its centre a label is still plausible."""


def overlap(context: str, hypothesis: str) -> float:
    """Measure how much of the hypothesis is already in the context.

    Args:
        context: What is known.
        hypothesis: What is claimed.

    Returns:
        The share of the hypothesis' content words which the context has too,
        from 0 to 1.
    """
    known = set(content_stems(context))
    claimed = content_stems(hypothesis)
    return sum(stem in known for stem in claimed) / max(len(claimed), 1)


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Label one pair of sentences.

    Args:
        row: A row with ``context`` and ``hypothesis``.

    Returns:
        The label, and the probability of each label.
    """
    share = overlap(row["context"], row["hypothesis"])
    weights = [
        math.exp(-(((share - centre) / WIDTH) ** 2) / 2) for centre in CENTRES.values()
    ]
    prob = dict(zip(CENTRES, rounded_shares(weights), strict=True))
    return {"label": max(prob, key=lambda label: prob[label]), "prob": prob}


if __name__ == "__main__":
    main("sample-nli", "overlap", predict)
