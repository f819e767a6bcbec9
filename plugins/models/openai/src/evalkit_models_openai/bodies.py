"""What servers send, as far as it is read.

Servers add fields of their own, and leave out those that they do not know; what is
read is checked strictly, as a number that is none must not become a score.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

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


class _InputDetails(_Body):
    cached_tokens: Count | None = None


class _OutputDetails(_Body):
    reasoning_tokens: Count | None = None


class Used(_Body):
    """Tokens that were counted."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None


class Body(_Body):
    """The answer of a server."""

    choices: list[Choice] = []
    usage: Used | None = None
    model: str | None = None
    error: Any = None
    """Some gateways send errors with status 200."""
