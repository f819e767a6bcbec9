"""Log-probabilities of what was generated, and what is computed from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from evalkit_models_base.requests import Completion, Token

_ROUNDING = 1e-3
"""Log-probabilities may be so much above 0, as models compute with few digits."""

_PIECE = "\ufffd"
"""What stands for a part of a character in the text of a token."""


class NoAnswer(Exception):
    """Says that replies hold no answer, and why."""


def tokens_of(completion: Completion) -> tuple[Token, ...]:
    """Return the tokens of a text."""
    if completion.tokens is None:
        raise NoAnswer("log-probabilities were asked for, and none came")
    return completion.tokens


def logprob_of(completion: Completion) -> dict[str, Any]:
    """Return the log-probability of a text, and how long it is."""
    tokens = tokens_of(completion)
    known = [each.logprob for each in tokens if each.logprob is not None]
    if len(known) < len(tokens):
        raise NoAnswer("some tokens came without their log-probability")
    _refuse_more_than_all(max(known, default=0.0))
    written = "".join(each.text for each in tokens)
    # tokens that are parts of characters do not show which ones
    text = completion.text if _PIECE in written else written
    return {
        "logprob": math.fsum(min(0.0, each) for each in known),
        "num_tokens": len(tokens),
        "num_bytes": len(text.encode()),
        "num_characters": len(text),
    }


def of_letter(token: Token, letter: str) -> list[float]:
    """Return the log-probabilities of the tokens that are a letter: `B` and ` B`."""
    return [
        logprob
        for text, logprob in token.alternatives.items()
        if text.strip() == letter.strip()
    ]


def log_sum(logprobs: Sequence[float]) -> float | None:
    """Return the logarithm of the sum of probabilities; None where there are none."""
    if not logprobs:
        return None
    most = max(logprobs)
    total = most + math.log(math.fsum(math.exp(x - most) for x in logprobs))
    _refuse_more_than_all(total)
    return min(0.0, total)


def _refuse_more_than_all(logprob: float) -> None:
    if logprob > _ROUNDING:
        raise NoAnswer(f"a log-probability is {logprob:g}, and none is more than 0")


def softmax(scores: Sequence[float]) -> list[float]:
    """Return shares of 1 that are as the exponentials of scores."""
    refuse_unbounded(scores)
    most = max(scores)
    shares = [math.exp(score - most) for score in scores]
    total = math.fsum(shares)
    return [share / total for share in shares]


def refuse_unbounded(scores: Sequence[float]) -> None:
    """Refuse scores by which nothing is ranked: those of texts of probability 0."""
    if any(math.isnan(score) or score == math.inf for score in scores):
        raise NoAnswer("a text has the probability 0 where it is calibrated")
    if max(scores, default=0.0) == -math.inf:
        raise NoAnswer("all texts that were asked about have the probability 0")
