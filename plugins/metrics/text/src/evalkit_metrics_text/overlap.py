"""How much two lists of tokens have in common."""

from __future__ import annotations

from collections import Counter

Tokens = tuple[str, ...]


def token_f1(prediction: Tokens, answer: Tokens) -> float:
    """Return F1 of two lists of tokens, each counted as often as it occurs.

    Args:
        prediction: Tokens of the prediction.
        answer: Tokens of the answer.

    Returns:
        2 shared / (predicted + right); 1 where neither has tokens.
    """
    if prediction == answer:
        return 1.0
    if set(prediction).isdisjoint(answer):
        return 0.0  # also where one of them has no tokens
    shared = (Counter(prediction) & Counter(answer)).total()
    return 2 * shared / (len(prediction) + len(answer))
