"""Log-probabilities of texts that were given, from echoed tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from evalkit_models_base import Continuation
from evalkit_models_openai.bodies import Choice, TextLogprobs
from evalkit_models_openai.unusable import Unusable

Span = tuple[int, int]
"""Where a token begins and ends, in characters."""

_ROUNDING = 1e-3
"""By how much a logarithm of a probability may be above 0."""

_NO_ECHO = (
    "the server does not tell the log-probabilities of a text that it is given (it "
    "does not honour `echo`, as llama.cpp): it cannot be asked for the probability of "
    "continuations"
)


def continuation_of(choice: Choice, prompt: str, continuation: str) -> Continuation:
    """Return the log-probability of a continuation: the sum over its tokens.

    These are the tokens that begin at the end of the prompt or later, and end with the
    continuation; the token generated after it is left out. A special token before the
    prompt, which has no log-probability, is too.
    """
    whole = prompt + continuation
    told = choice.logprobs
    if not isinstance(told, TextLogprobs) or not (choice.text or "").startswith(whole):
        raise Unusable(_NO_ECHO, is_fatal=True)
    if len(told.tokens) != len(told.token_logprobs):
        raise Unusable(
            "the server tells fewer log-probabilities than tokens", is_fatal=True
        )
    spans = _spans(told, whole)
    logprobs = _between(told, spans, len(prompt), len(whole))
    if not logprobs:
        raise Unusable("the continuation has no tokens of its own")
    total = sum(logprobs)
    if total > _ROUNDING:
        raise Unusable("the server tells probabilities above 1", is_fatal=True)
    return Continuation(
        logprob=min(total, 0.0),
        tokens=len(logprobs),
        token_logprobs=tuple(logprobs),
        conditioning_tokens=sum(stop <= len(prompt) for _, stop in spans),
    )


def _between(
    told: TextLogprobs, spans: Sequence[Span], begin: int, end: int
) -> list[float]:
    """Return the log-probabilities of the tokens within a part of the text."""
    found: list[float] = []
    for (start, stop), logprob in zip(spans, told.token_logprobs, strict=True):
        if start >= end or (start < begin and stop <= begin):
            continue
        if start < begin or stop > end:
            across = "beginning" if start < begin else "end"
            raise Unusable(
                f"a token lies across the {across} of the continuation, so that its "
                "probability is not known: let the continuation begin with the space, "
                "and the prompt end without"
            )
        if logprob is None:
            raise Unusable(
                "the server tells no log-probability of the continuation's first "
                "token, as no prompt stands before it"
            )
        found.append(logprob)
    return found


def _spans(told: TextLogprobs, whole: str) -> list[Span]:
    """Return where tokens begin and end in the text.

    By their own texts, as servers count places differently; by these where tokens are
    parts of a character.
    """
    texts = list(told.tokens)
    lead: list[Span] = []
    is_special = texts and told.token_logprobs[0] is None
    if is_special and not whole.startswith(texts[0]):
        lead, texts = [(-1, 0)], texts[1:]
    if not "".join(texts).startswith(whole):
        return _said_spans(told, whole)
    stops = [*accumulate(map(len, texts))]
    return [*lead, *zip([0, *stops], stops, strict=False)]


def _said_spans(told: TextLogprobs, whole: str) -> list[Span]:
    starts = told.text_offset or []
    if len(starts) != len(told.tokens) or starts != sorted(starts) or starts[:1] != [0]:
        raise Unusable(_NO_ECHO, is_fatal=True)
    spans = [*pairwise([*starts, starts[-1] + len(told.tokens[-1])])]
    pieces = [_is_piece(text) for text in told.tokens]
    differ = [
        start < len(whole) and whole[start:stop] != text and not is_piece
        for (start, stop), text, is_piece in zip(
            spans, told.tokens, pieces, strict=True
        )
    ]
    if any(differ) or not any(pieces):
        raise Unusable(
            "the server's tokens are not those of the text that it was given",
            is_fatal=not any(pieces),
        )
    return spans


def _is_piece(token: str) -> bool:
    """Tell whether a token is a part of a character, as servers write these."""
    return "\ufffd" in token or token.startswith("bytes:")
