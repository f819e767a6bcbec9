"""Replies, from what servers send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalkit_models_base import Completion, Continuation, Reply, Request, Token, Usage
from evalkit_models_openai.refusals import Unusable

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Alternative(_Body):
    """A token with its log-probability."""

    token: str
    logprob: Number


class TokenLogprob(Alternative):
    """A generated token with the likeliest ones at its place."""

    top_logprobs: list[Alternative] | None = None


class TokenLogprobs(_Body):
    """The tokens of a message; llama.cpp tells those of texts so too."""

    content: list[TokenLogprob] | None


class TextLogprobs(_Body):
    """The tokens of a text, in lists that belong together."""

    tokens: list[str]
    token_logprobs: list[Number | None]
    top_logprobs: list[dict[str, Number] | None] | None = None
    text_offset: list[int] | None = None


class Said(_Body):
    """The message that answers a chat."""

    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class Choice(_Body):
    """One of the answers: to a chat with `message`, of a text with `text`."""

    index: int = 0
    message: Said | None = None
    text: str | None = None
    finish_reason: str | None = None
    logprobs: TokenLogprobs | TextLogprobs | None = None


class _Details(_Body):
    cached_tokens: Count | None = None
    reasoning_tokens: Count | None = None


class Used(_Body):
    """Tokens that were counted."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None


class Body(_Body):
    """The answer of a server."""

    choices: list[Choice] = []
    usage: Used | None = None
    model: str | None = None
    error: Any = None
    """Some gateways send errors with status 200."""


Span = tuple[int, int]
"""Where a token begins and ends, in characters."""

_PIECE = "\ufffd"
"""What stands for a part of a character; several tokens may be written so."""

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
    # parts of a character, as servers write these
    pieces = [_PIECE in text or text.startswith("bytes:") for text in told.tokens]
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
            # of several tokens with one text the likeliest counts, which comes last
            alternatives={
                other.token: other.logprob
                for other in sorted(each.top_logprobs or [], key=lambda a: a.logprob)
            },
        )
        for each in told.content
    ]


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


def read_body(content: bytes) -> Body:
    """Read what a server sent."""
    try:
        return Body.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        problem = (
            "no JSON" if first["type"] == "json_invalid" else "not of the protocol"
        )
        raise Unusable(
            f"the server's reply is {problem}" + (f" at {place}" if place else ""),
            is_retriable=True,
        ) from error


def reply_of(body: Body, request: Request, clean: Callable[[Any], str]) -> Reply:
    """Return the reply to a request."""
    if body.error is not None:
        raise Unusable(f"the server says: {clean(body.error)}", is_retriable=True)
    told = {"usage": _usage(body.usage), "model": body.model}
    if request.continuations:
        choices = _choices(body, len(request.continuations))
        return Reply(
            continuations=tuple(
                continuation_of(choice, request.prompt or "", given)
                for choice, given in zip(choices, request.continuations, strict=True)
            ),
            **told,
        )
    choices = _choices(body, request.completions)
    completions = tuple(_completion(choice, request) for choice in choices)
    _refuse_silence(completions)
    return Reply(completions=completions, **told)


def _choices(body: Body, wanted: int) -> list[Choice]:
    choices = sorted(body.choices, key=lambda choice: choice.index)
    if not choices:
        raise Unusable("the server's reply has no choices", is_retriable=True)
    if len(choices) != wanted:
        raise Unusable(
            f"the server gives {len(choices)} texts where {wanted} were asked for in "
            "one request",
            is_fatal=True,
        )
    return choices


def _completion(choice: Choice, request: Request) -> Completion:
    said = choice.message
    if said is None and choice.text is None:
        raise Unusable(
            "the server's reply is not of the protocol: a choice without text",
            is_retriable=True,
        )
    thinking = None if said is None else said.reasoning_content or said.reasoning
    text = choice.text if said is None else said.content
    reason = choice.finish_reason
    if not text and said is not None and said.refusal:
        return Completion(text=said.refusal, finish_reason="refusal", thinking=thinking)
    tokens = None
    if request.logprobs is not None:
        tokens = tuple(tokens_of(choice, text or "", thinking, request.logprobs))
    return Completion(
        text=text or "", tokens=tokens, finish_reason=reason, thinking=thinking or None
    )


def _refuse_silence(completions: Sequence[Completion]) -> None:
    """Refuse a reply without any text that was cut off, as that is no empty answer."""
    first = completions[0]
    if any(each.text for each in completions):
        return
    if first.finish_reason == "content_filter":
        raise Unusable("the server's content filter held the answer back")
    if first.finish_reason == "length":
        raise Unusable(
            "the limit of tokens was reached before the answer began, as thinking "
            "counts too: raise max_tokens"
        )


def _usage(used: Used | None) -> Usage:
    used = used or Used()
    inputs = used.prompt_tokens_details or _Details()
    outputs = used.completion_tokens_details or _Details()
    return Usage(
        input_tokens=used.prompt_tokens,
        output_tokens=used.completion_tokens,
        thinking_tokens=outputs.reasoning_tokens,
        cached_tokens=inputs.cached_tokens,
    )
