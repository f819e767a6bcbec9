"""Asks one model again and again, loaded once and within limits that hold for all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Self

from evalkit import Registry
from evalkit.errors import PluginError
from evalkit_models_base.asking import Asker, AskingEnded, Question, close
from evalkit_models_base.cache import ReplyCache
from evalkit_models_base.loops import end, run
from evalkit_models_base.models import bind_model, identity_of, names_of
from evalkit_models_base.prices import price_of
from evalkit_models_base.requests import Reply, Request
from evalkit_models_base.settings import Asked
from evalkit_models_base.usage import Usage


@dataclass(frozen=True)
class Replies:
    """What a model replied, with what is known of how the replies came.

    Attributes:
        replies: A reply to each request, in their order; one that there is none to has
            the `error`.
        cached: Whether each was there already, or is asked for another request too.
        usage: Seconds and tokens that they took together, as far as they are known.
        ended: Why asking ended before all was asked; None where it did not.
    """

    replies: tuple[Reply, ...]
    cached: tuple[bool, ...]
    usage: dict[str, Any]
    ended: str | None = None


class Session:
    """A model that is loaded once and asked many times, within the same limits.

    Rates, and what may fail and be spent, are counted over all that is asked until it
    is closed; when asking has ended early, nothing more is asked.

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
        self._bound = bound = bind_model(model, registry)
        if bound.way == "predict":
            raise PluginError(
                f"{bound.component.origin} answers inputs of tasks, and no requests"
            )
        identity, asked = identity_of(bound, model), asked or Asked()
        self._price = price_of(asked.price, names_of(bound, model, identity))
        is_kept = asked.is_cached and bound.has("describe_request")
        self._cache = ReplyCache() if is_kept else None
        self._asker = Asker(bound, asked, self._cache, 0, price=self._price)
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._is_used = False

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

        Where asking ended early, what is not in the cache has that as its error.

        Raises:
            PluginError: The model is broken.
            StorageError: The cache cannot be used.
        """
        self._asker.budget.expect(len(requests))
        self._is_used = True
        usage, found = Usage(self._price), list[tuple[Reply, bool]]()

        questions = [
            Question(f"request {number}", request, replication)
            for number, request in enumerate(requests, start=1)
        ]

        async def ask_all() -> None:
            async with aclosing(self._asker.answers(questions)) as answers:
                async for answer in answers:
                    usage.add(answer)
                    found.append((answer.reply, answer.is_cached))
                    if progress is not None:
                        progress(len(found))

        ended: str | None = None
        try:
            run(ask_all, self._runner.run)
        except KeyboardInterrupt as error:
            kept = "not kept" if self._cache is None else "kept, and not asked again"
            error.add_note(f"the replies so far are {kept}")
            raise
        except AskingEnded as error:
            ended = str(error)
            for question in questions[len(found) :]:
                kept_reply = self._asker.kept_reply(question)
                reply = kept_reply or Reply(error=ended)
                found.append((reply, kept_reply is not None))
        replies, cached = zip(*found, strict=True) if found else ((), ())
        return Replies(replies, cached, usage.figures, ended)

    def close(self) -> None:
        """Let the model give up what it holds."""
        try:
            if self._is_used:
                self._is_used = False
                run(lambda: close(self._bound), self._runner.run)
        finally:
            end(self._runner)
            if self._cache is not None:
                self._cache.close()


def ask(
    model: Any,
    requests: Sequence[Request],
    *,
    replication: str = "",
    asked: Asked | None = None,
    progress: Callable[[int], None] | None = None,
    registry: Registry | None = None,
) -> Replies:
    """Ask a model requests, as `Session.ask` does, in a session of their own."""
    with Session(model, asked=asked, registry=registry) as session:
        return session.ask(requests, replication=replication, progress=progress)
