"""Asks a model a number of requests, for who reads the replies itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evalkit import Registry, Request
from evalkit_commands_predict.sessions import Replies as Replies
from evalkit_commands_predict.sessions import Session
from evalkit_commands_predict.settings import Asked


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
    with Session(model, asked=asked, registry=registry) as session:
        return session.ask(requests, replication=replication, progress=progress)
