"""Asks a model a number of requests, for who reads the replies itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from evalkit import Registry, Reply, Request
from evalkit.errors import PluginError
from evalkit.storage import is_offline
from evalkit_commands_predict.asking import Asker, AskingEnded, Question, close
from evalkit_commands_predict.cache import (
    ReplyCache,
    cache_folder,
    closed_after,
    reply_key,
)
from evalkit_commands_predict.loops import run
from evalkit_commands_predict.models import (
    bind_model,
    identity_of,
    is_told_apart,
    names_of,
)
from evalkit_commands_predict.prices import price_of
from evalkit_commands_predict.settings import Asked
from evalkit_commands_predict.usage import Usage


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


def ask(
    model: Any,
    requests: Sequence[Request],
    *,
    replication: str = "",
    asked: Asked | None = None,
    progress: Callable[[int], None] | None = None,
    registry: Registry | None = None,
) -> Replies:
    """Ask a model requests, within limits, and keep its replies.

    Args:
        model: As for `predict`; it must answer requests.
        requests: What is asked.
        replication: Name of the repetition; another name asks anew.
        asked: Limits.
        progress: Told how many are answered.
        registry: Where plugins are found.

    Returns:
        The replies. Where asking ended early, what is not in the cache has that as its
        error.

    Raises:
        PluginError: The model is unknown or broken, or answers no requests.
        StorageError: The cache cannot be used.
    """
    bound = bind_model(model, registry)
    if bound.way == "predict":
        raise PluginError(
            f"{bound.component.origin} answers inputs of tasks, and no requests"
        )
    identity, asked = identity_of(bound, model), asked or Asked()
    price = price_of(asked.price, names_of(bound, model, identity))
    is_kept = asked.is_cached and bound.keeps_replies and is_told_apart(bound)
    cache = ReplyCache(cache_folder()) if is_kept else None
    usage, found = Usage(price), list[tuple[Reply, bool]]()
    ended: str | None = None

    async def ask_all() -> None:
        asker = Asker(bound, identity, asked, cache, len(requests), price=price)
        questions = (
            Question(f"request {number}", request, replication)
            for number, request in enumerate(requests, start=1)
        )
        try:
            async with aclosing(asker.answers(questions)) as answers:
                async for answer in answers:
                    usage.add(answer)
                    found.append((answer.reply, answer.is_cached))
                    if progress is not None:
                        progress(len(found))
        finally:
            await close(bound)

    with closed_after(cache):
        try:
            run(ask_all)
        except AskingEnded as error:
            ended = str(error)
            if bound.uses_network and is_offline():
                ended = (
                    f"{bound.component.id} cannot be asked, as EVALKIT_OFFLINE forbids "
                    "the network, and the reply is not in the cache: unset it"
                )
            for request in requests[len(found) :]:
                key = reply_key(identity, request, replication)
                found.append(_kept_or_not(cache, key, ended))
    replies, cached = zip(*found, strict=True) if found else ((), ())
    return Replies(replies, cached, usage.figures, ended)


def _kept_or_not(cache: ReplyCache | None, key: str, why: str) -> tuple[Reply, bool]:
    """Return the reply that is kept, or one that says why there is none."""
    text = None if cache is None else cache.get(key)
    try:
        if text is not None:
            return Reply.model_validate_json(text), True
    except ValidationError:  # of a version that wrote otherwise
        pass
    return Reply(error=why), False
