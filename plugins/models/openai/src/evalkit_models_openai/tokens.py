"""Generated tokens, with log-probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit_models_base import Token
from evalkit_models_openai.bodies import Alternative, Choice, TextLogprobs
from evalkit_models_openai.unusable import Unusable

_PIECE = "\ufffd"
"""What stands for a part of a character; several tokens may be written so."""


def tokens_of(
    choice: Choice, text: str, thinking: str | None, wanted: int
) -> list[Token]:
    """Return the tokens of an answer."""
    found = _told(choice)
    if found is None or (text and not found):
        raise Unusable(
            "the server tells no log-probabilities of generated tokens, which were "
            "asked for (logprobs)",
            is_fatal=True,
        )
    _check_alternatives(found, wanted)
    return _of_answer(found, text) if thinking else found


def _told(choice: Choice) -> list[Token] | None:
    told = choice.logprobs
    if isinstance(told, TextLogprobs):
        return _of_lists(told)
    if told is None or told.content is None:
        return None
    return [
        Token(
            text=each.token,
            logprob=each.logprob,
            alternatives=_likeliest(each.top_logprobs or []),
        )
        for each in told.content
    ]


def _likeliest(alternatives: Sequence[Alternative]) -> dict[str, float]:
    """Return log-probabilities by text; of several tokens the likeliest counts."""
    found: dict[str, float] = {}
    for each in alternatives:
        found[each.token] = max(each.logprob, found.get(each.token, each.logprob))
    return found


def _of_lists(told: TextLogprobs) -> list[Token]:
    nothing = [None] * len(told.tokens)
    try:
        return [
            Token(text=text, logprob=logprob, alternatives=alternatives or {})
            for text, logprob, alternatives in zip(
                told.tokens,
                told.token_logprobs,
                told.top_logprobs or nothing,
                strict=True,
            )
        ]
    except ValueError as error:
        raise Unusable(
            "the server's lists of tokens and log-probabilities differ in length",
            is_retriable=True,
        ) from error


def _check_alternatives(tokens: Sequence[Token], wanted: int) -> None:
    """Refuse too few alternatives.

    Where every token has too few the server has a limit, and nothing else would be
    answered. Tokens whose texts are the same count once.
    """
    counts = [len(token.alternatives) for token in tokens]
    fewest = min(counts, default=wanted)
    if fewest >= wanted:
        return
    is_shared = any(_PIECE in text for token in tokens for text in token.alternatives)
    raise Unusable(
        f"the server tells {fewest} alternatives to a token where {wanted} were asked "
        "for (logprobs); ask for so many only",
        is_fatal=max(counts) < wanted and not is_shared,
    )


def _of_answer(tokens: Sequence[Token], text: str) -> list[Token]:
    """Leave out the tokens of what was thought."""
    tail = ""
    for place in range(len(tokens) - 1, -1, -1):
        tail = tokens[place].text + tail
        if tail.startswith(text) and text:
            return list(tokens[place:])
    if not text or not tokens:
        return []
    raise Unusable("the tokens of the answer cannot be told from those of the thinking")
