"""Asks a judge batch after batch, within limits that hold for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evalkit import Reply, Request
from evalkit.storage import is_offline
from evalkit_annotators_judge.declaration import Limits

_FEWEST_ERRORS = 20
_SHARE_OF_ERRORS = 0.05


class Heard(NamedTuple):
    """What came of a request."""

    reply: Reply
    is_cached: bool
    is_asked: bool
    """Whether it was asked at all, or found in the cache."""


class Budget:
    """What a judge may be asked yet.

    Args:
        limits: The limits.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._asked = self._failed = self._tokens = 0
        self._why_ended: str | None = None

    def ask(self, model: str, requests: Sequence[Request]) -> list[Heard]:
        """Ask a model, or say of each request why it is not asked.

        Args:
            model: The model.
            requests: What it is asked.
        """
        from evalkit.asking import Asked, ask

        if not requests:
            return []
        if self._why_ended is not None and not is_offline():
            return [Heard(Reply(error=self._why_ended), False, False)] * len(requests)
        self._asked += len(requests)
        limits = self._limits
        limit = limits.token_limit
        found = ask(
            model,
            requests,
            asked=Asked(
                concurrency=limits.concurrency,
                retries=limits.retries,
                seconds=limits.timeout,
                requests_per_minute=limits.requests_per_minute,
                tokens_per_minute=limits.tokens_per_minute,
                token_limit=None if limit is None else max(1, limit - self._tokens),
                max_errors=max(0, self._errors_allowed - self._failed),
                is_cached=limits.cache,
            ),
        )
        self._why_ended = found.ended
        heard = [
            Heard(reply, is_cached, found.ended is None or reply.error != found.ended)
            for reply, is_cached in zip(found.replies, found.cached, strict=True)
        ]
        for each in heard:
            if each.is_asked and not each.is_cached:
                self._count(each.reply)
        return heard

    @property
    def _errors_allowed(self) -> int:
        most = self._limits.max_errors
        if most is None:
            return max(_FEWEST_ERRORS, int(_SHARE_OF_ERRORS * self._asked))
        return int(most) if most >= 1 else int(most * self._asked)

    def _count(self, reply: Reply) -> None:
        usage = reply.usage
        self._failed += reply.error is not None
        self._tokens += (usage.input_tokens or 0) + (usage.output_tokens or 0)
