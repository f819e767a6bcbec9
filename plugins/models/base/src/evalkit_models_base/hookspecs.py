"""Hooks and attributes of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from evalkit.hookspecs import hookspec

if TYPE_CHECKING:
    from evalkit_models_base.requests import Reply, Request

Ability = Literal["text", "chat", "logprobs", "continuations"]
"""What a model can be asked.

A `text` to be continued; a `chat`; `logprobs` of the tokens that it generates;
log-probabilities of given `continuations`.
"""


ModelKind = Literal["base", "instruct", "reasoning"]
"""What a model was made for: to continue texts, to follow instructions, or to do so
after thinking."""


class ModelAttributes:
    """Attributes of a model."""

    version: str
    """Raised when the same request is answered otherwise, as far as that is known; it
    is part of the run's id."""
    abilities: Sequence[Ability]
    """What it can be asked: `text` to be continued, `chat`, `logprobs` of the tokens
    that it generates, log-probabilities of given `continuations`. What none of these
    covers is refused before the first request. Not read of a model that implements
    `predict`."""
    context_length: int | None
    """The most tokens of a request and its reply together; None where it is not
    known."""
    concurrency: int
    """The most requests that it gets at once, or batches of them; a user may lower it,
    and raise it for `ask`."""
    batch_requests: int
    """The most requests or inputs that `generate` or `predict` gets in one call."""
    kind: ModelKind | None
    """What it was made for, which chooses among the prompts of a data set; None where
    that is not known."""
    uses_network: bool
    """Whether it asks another machine, which `EVALKIT_OFFLINE` forbids."""


class ModelSpec:
    """Hooks of a model, which is written in one of three ways.

    `evalkit predict` and `evalkit eval --model` ask again where that may help, cache
    replies where `describe_request` says what they depend on, and write down what
    failed; a model never does so itself. It reads secrets from the environment when it
    is asked first, and puts them into no message.
    """

    @hookspec(firstresult=True)
    def predict(self, inputs: Sequence[Mapping[str, Any]], seconds: float) -> Any:
        """Answer inputs of a task, without prompts: at most `batch_requests` of them.

        Args:
            inputs: The fields of `Input` that the task sends to a model, and `uid`.
            seconds: Maximum time for all of them; a model that ends later raises
                `TimeoutError`.

        Returns:
            A list: for each input a response, as the task's `Output` describes it but
            for the id; or the answer alone. In the place of one,
            `evalkit_models_base.NotAnswered` or `evalkit.TryAgain`, which may also be
            raised, as by `ask`.
        """

    @hookspec(firstresult=True)
    def generate(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Answer requests: at most `batch_requests` of them.

        Args:
            requests: What is asked.

        Returns:
            A reply to each.
        """

    @hookspec(firstresult=True)
    def ask(self, request: Request) -> Any:
        """Answer one request; an `async def`, or a function, which is run in a thread.

        Args:
            request: What is asked.

        Returns:
            The reply, or an awaitable of it. It raises `evalkit.TryAgain`,
            `TimeoutError` or `ConnectionError` where the request may be answered later,
            `evalkit_models_base.NotAnswered` where it will not; what else it raises
            ends the work.
        """

    @hookspec(firstresult=True)
    def describe(self) -> Mapping[str, Any]:
        """Say what answers: part of the run's id. It may ask the server.

        Returns:
            `name`, what the model is called in runs, and what else tells it from
            others, such as `revision`; no secret, and nothing that changes by itself.
        """

    @hookspec(firstresult=True)
    def describe_request(self, request: Request | Mapping[str, Any]) -> Any:
        """Return all that a service gets: replies are cached by it.

        Without this hook, no reply is cached.

        Args:
            request: The request; an input, for a model with `predict`.

        Returns:
            A JSON object: the address with its query, headers and body, without keys
            and passwords.
        """

    @hookspec(firstresult=True)
    def close(self) -> Any:
        """Give up connections and processes; may be an `async def`."""
