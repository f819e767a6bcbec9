"""Predict ``sample-sentiment`` with VADER (package ``vaderSentiment``).

VADER gives a compound score from -1 to 1. The label follows from its usual
thresholds: positive from 0.05 upwards, negative from -0.05 downwards, and
neutral in between.
"""

from __future__ import annotations

import math
from typing import Any

from _shared import main, rounded_shares
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

THRESHOLD = 0.05
SCALE = 0.2

_ANALYZER = SentimentIntensityAnalyzer()


def label_of(compound: float) -> str:
    """Apply the usual thresholds to a compound score.

    Args:
        compound: The compound score, from -1 to 1.

    Returns:
        ``positive``, ``negative`` or ``neutral``.
    """
    if compound >= THRESHOLD:
        return "positive"
    if compound <= -THRESHOLD:
        return "negative"
    return "neutral"


def probabilities(compound: float) -> dict[str, float]:
    """Turn a compound score into probabilities of the three labels.

    This is a softmax over the distances of the score from the two thresholds,
    so the most probable label is the one that the thresholds choose. VADER's own
    ``pos``, ``neu`` and ``neg`` are shares of the words of a text, and say nothing
    of how likely a label is. The scale is fixed, not fitted to any data.

    Args:
        compound: The compound score, from -1 to 1.

    Returns:
        Probabilities with four digits, which sum to 1.
    """
    logits = {
        "positive": (compound - THRESHOLD) / SCALE,
        "negative": (-compound - THRESHOLD) / SCALE,
        "neutral": 0.0,
    }
    shares = rounded_shares([math.exp(logit) for logit in logits.values()])
    return dict(zip(logits, shares, strict=True))


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Predict the sentiment of one statement.

    Args:
        row: A row of the data set, without its gold fields.

    Returns:
        The label, and the probabilities of all labels.
    """
    compound = _ANALYZER.polarity_scores(row["statement"])["compound"]
    return {"label": label_of(compound), "prob": probabilities(compound)}


if __name__ == "__main__":
    main("sample-sentiment", "vader", predict)
