"""What a model is asked, and what it replies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from evalkit.base.terms import storable

Role = Literal["system", "user", "assistant"]
"""Who says something in a conversation."""

Finite = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0)]


def _without_halves(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("holds half of a surrogate pair, which is no text") from error
    return text


def _no_truth(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"must be a number, is {value}")
    return value


Text = Annotated[str, AfterValidator(_without_halves)]
Whole = Annotated[int, BeforeValidator(_no_truth)]
Real = Annotated[Finite, BeforeValidator(_no_truth)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Message(_Frozen):
    """What one side says in a conversation."""

    role: Role
    content: Text


class Sampling(_Frozen):
    """How a model generates; None leaves a setting to the model."""

    temperature: Annotated[Real, Field(ge=0)] | None = 0.0
    top_p: Annotated[Real, Field(gt=0, le=1)] | None = None
    top_k: Annotated[Whole, Field(ge=1)] | None = None
    max_tokens: Annotated[Whole, Field(ge=1)] | None = None
    """The most tokens that are generated."""
    stop: tuple[Text, ...] = ()
    """Texts before which generation ends."""
    completions: Annotated[Whole, Field(ge=1)] = 1
    """How many texts are generated."""
    seed: Whole | None = None
    presence_penalty: Real | None = None
    frequency_penalty: Real | None = None
    logprobs: Annotated[Whole, Field(ge=0)] | None = None
    """Of how many alternatives to each generated token the log-probability is asked
    for; 0 for the token's own alone, None for none."""


class Request(Sampling):
    """One question to a model: a text that it continues, or a conversation.

    It holds all that the reply may depend on but the model itself, so that it is what
    replies are kept by.
    """

    prompt: Text | None = None
    """The text to continue; None where `messages` are given."""
    messages: tuple[Message, ...] = ()
    """The conversation so far."""
    continuations: tuple[Text, ...] = ()
    """Texts whose log-probabilities after the prompt are asked for; nothing is
    generated then."""

    @property
    def texts(self) -> int:
        """How many texts are generated."""
        return 0 if self.continuations else self.completions

    @model_validator(mode="after")
    def _is_one_question(self) -> Self:
        if (self.prompt is None) == (not self.messages):
            raise ValueError("a request has either a prompt or messages")
        if self.continuations and self.completions != 1:
            raise ValueError("with continuations nothing is generated")
        return self


class Token(_Frozen):
    """A generated token."""

    text: str
    logprob: Finite | None = None
    """Natural logarithm of its probability; None where the model did not say it."""
    alternatives: Mapping[str, Finite] = {}
    """Log-probabilities of the likeliest tokens at its place, by their text."""


class Completion(_Frozen):
    """A text that a model generated."""

    text: str
    """The answer, without what was thought before it."""
    tokens: tuple[Token, ...] | None = None
    """Its tokens; None where the model did not tell them."""
    finish_reason: str | None = None
    """Why it ends, in the model's words, such as `stop` or `length`."""
    thinking: str | None = None
    """What the model wrote before it answered, where it tells that apart."""


class Continuation(_Frozen):
    """The log-probability of a text that was given."""

    model_config = ConfigDict(ser_json_inf_nan="constants")

    logprob: Annotated[float, Field(le=0)]
    """Natural logarithm of its probability after the prompt: the sum over its
    tokens; negative infinity where the model says that it is 0."""
    tokens: Annotated[int, Field(ge=1)]
    """Into how many tokens the model takes it apart."""
    token_logprobs: tuple[float, ...] | None = None
    """The log-probability of each; None where the model does not say them."""
    conditioning_tokens: Count | None = None
    """Tokens that stand before it."""


class Usage(_Frozen):
    """Tokens that a reply took; None where the model did not count them."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    """Generated tokens, those of thinking included."""
    thinking_tokens: Count | None = None
    cached_tokens: Count | None = None
    """Those of the input that the model had read before."""


class Reply(_Frozen):
    """What a model replies to one request."""

    completions: tuple[Completion, ...] = ()
    """One for each that was asked for."""
    continuations: tuple[Continuation, ...] = ()
    """One for each of the request's, in their order."""
    error: str | None = None
    """Why there is no reply; None where there is one."""
    is_retriable: bool = False
    """Whether the same request may be answered when it is asked again."""
    is_fatal: bool = False
    """Whether no other request would be answered either, as with a wrong key."""
    retry_after: Annotated[Finite, Field(ge=0)] | None = None
    """Seconds after which the server wants to be asked again."""
    usage: Usage = Usage()
    seconds: Annotated[Finite, Field(ge=0)] | None = None
    """How long the model took; None for the time that was waited."""
    model: str | None = None
    """What answered, in its own words, such as the name with a date."""
    received: datetime | None = None
    """When it came. A model leaves this field and the next ones to evalkit."""
    attempts: int = 1
    """How often the request was sent."""
    batch_size: int | None = None
    """How many requests were sent together."""
    batch_seconds: float | None = None
    """Seconds that these took together."""

    @property
    def is_text(self) -> bool:
        """Whether all that was generated is text: no half of a surrogate pair, say."""
        said: list[str] = []
        for each in self.completions:
            said += (each.text, each.thinking or "", each.finish_reason or "")
            for token in each.tokens or ():
                said += (token.text, *token.alternatives)
        try:
            "\n".join(said).encode()
        except (TypeError, UnicodeEncodeError):
            return False
        return True

    @model_validator(mode="after")
    def _answers_or_says_why_not(self) -> Self:
        answers = bool(self.completions or self.continuations)
        if self.error is None and not answers:
            raise ValueError("a reply has completions, continuations or an error")
        if self.error is not None and answers:
            raise ValueError("a reply with an error answers nothing")
        if self.error is None and (self.is_retriable or self.is_fatal):
            raise ValueError("only an error is retriable or fatal")
        return self


class InputReply(Reply):
    """What a model replies to an input of a task."""

    response: Any = None
    """Fields of the task's `Output`, but for the id."""

    @model_validator(mode="after")
    def _answers_or_says_why_not(self) -> Self:
        return self


def text_reply(text: str, **more: Any) -> Reply:
    """Return the reply that is one text, with further fields of a reply."""
    return Reply(completions=(Completion(text=text),), **more)


class NotAnswered(Exception):
    """Says, from a model, that it has no answer to one request, and why.

    The row has the reason as its `error`, and is invalid; it is never an empty answer.
    It is a few words that many rows may share, such as `refused`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = storable(str(reason))


def plain(value: Any) -> Any:
    """Return a number or list of numpy's and the like as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no type of JSON")
