"""Predict ``sample-hs`` with a profanity classifier (``alt-profanity-check``).

The classifier was trained to find profane and offensive comments, not hate
speech. It is here as a system that reacts to words and not to what is said.
"""

from __future__ import annotations

from typing import Any

from _shared import main
from profanity_check import predict_prob

THRESHOLD = 0.5


def predict(row: dict[str, Any]) -> dict[str, Any]:
    """Predict whether one statement is hateful.

    Args:
        row: A row of the data set, without its gold fields.

    Returns:
        The label, and the probabilities of both labels.
    """
    # Rounded before the comparison, so that label and probability agree.
    hateful = round(float(predict_prob([row["statement"]])[0]), 4)
    label = "hateful" if hateful >= THRESHOLD else "not-hateful"
    prob = {"hateful": hateful, "not-hateful": round(1.0 - hateful, 4)}
    return {"label": label, "prob": prob}


if __name__ == "__main__":
    main("sample-hs", "profanity", predict)
