"""Asks one model again and again, loaded once and within limits that hold for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from evalkit import Registry
from evalkit.errors import PluginError
from evalkit_models_base.asking import Engine
from evalkit_models_base.limits import Asked, AskingEnded, Totals
from evalkit_models_base.models import bind_model
from evalkit_models_base.questions import Answer, Question
from evalkit_models_base.requests import Reply, Request


@dataclass(frozen=True)
class Replies:
    """What a model replied, with what is known of how the replies came.

    Attributes:
        replies: A reply to each request, in their order; one without an answer has the
            `error`.
        cached: Whether each was there already, or is that to another request too.
        usage: Seconds and tokens that they took together, as far as they are known.
        ended: Why asking ended before all was asked; None if it did not.
    """

    replies: tuple[Reply, ...]
    cached: tuple[bool, ...]
    usage: dict[str, Any]
    ended: str | None = None


class Session:
    """A model that is loaded once and asked many times, within the same limits.

    Rates, failures and cost are counted over all that is asked until it is closed; when
    asking has ended early, nothing more is asked.

    Args:
        model: As for `predict`; it must answer requests.
        asked: Limits.
        registry: Where plugins are found.

    Raises:
        PluginError: The model is unknown or broken, or answers no requests.
        StorageError: The cache cannot be used.
    """

    def __init__(
        self,
        model: Any,
        *,
        asked: Asked | None = None,
        registry: Registry | None = None,
    ) -> None:
        bound = bind_model(model, registry)
        if bound.way == "predict":
            raise PluginError(
                f"{bound.component.origin} answers inputs of tasks, and no requests"
            )
        self._engine = Engine(bound, model, asked or Asked())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ask(
        self,
        requests: Sequence[Request],
        *,
        replication: str = "",
        progress: Callable[[int], None] | None = None,
    ) -> Replies:
        """Ask requests, and keep the replies; another replication asks anew.

        If asking ends early, what is not in the cache has that as its error.

        Raises:
            PluginError: The model is broken.
            StorageError: The cache cannot be used.
        """
        usage, found = Totals(self._engine.price), list[tuple[Reply, bool]]()
        questions = [
            Question(f"request {number}", request, replication)
            for number, request in enumerate(requests, start=1)
        ]

        def take(answer: Answer) -> None:
            usage.add(answer)
            found.append((answer.reply, answer.is_cached))
            if progress is not None:
                progress(len(found))

        ended: str | None = None
        try:
            self._engine.ask_all(questions, len(questions), take)
        except AskingEnded as error:
            ended = str(error)
            for question in questions[len(found) :]:
                kept = self._engine.kept_reply(question)
                found.append((kept or Reply(error=ended), kept is not None))
        replies, cached = zip(*found, strict=True) if found else ((), ())
        return Replies(replies, cached, usage.figures, ended)

    def close(self) -> None:
        """Let the model give up what it holds."""
        self._engine.close()


def ask(
    model: Any,
    requests: Sequence[Request],
    *,
    asked: Asked | None = None,
    registry: Registry | None = None,
    **how: Any,
) -> Replies:
    """Ask a model requests, as `Session.ask` does, in a session of their own."""
    with Session(model, asked=asked, registry=registry) as session:
        return session.ask(requests, **how)
