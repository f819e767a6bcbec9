"""Asks a model many things at once, again where that may help, and in order."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import math
import random
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from pydantic import ValidationError
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
)

from evalkit import NotAnswered, Reply, Request, TryAgain
from evalkit.catalog import BoundModel
from evalkit.errors import EvalkitError
from evalkit.storage import is_offline
from evalkit_commands_predict.cache import ReplyCache, reply_key
from evalkit_commands_predict.limits import even_limiter, limiter, within_patience
from evalkit_commands_predict.loops import in_thread
from evalkit_commands_predict.settings import Asked

_FIRST_WAIT = 1.0
"""Seconds before a request is asked again; twice as many each time."""

_LONGEST_WAIT = 60.0

_AHEAD = 4
"""Batches that are under way for each one that may be asked, so that a slow one holds
up no others while replies are handed on in order."""


class Question(NamedTuple):
    """What is asked of one example."""

    uid: str
    request: Request
    replication: str = ""


class Answer(NamedTuple):
    """What came of a question."""

    question: Question
    reply: Reply
    key: bytes
    """The same for questions that are the same."""
    is_cached: bool
    """Whether the reply was there, or is asked for another question too."""


class AskingEnded(EvalkitError):
    """Asking ended before all was asked."""


class _Again(Exception):
    """A reply that may come when it is asked for again."""

    def __init__(self, reason: str, after: float | None) -> None:
        super().__init__(reason)
        self.reason, self.after = reason, after


class Asker:
    """Asks a model, within limits.

    Args:
        model: The model, which implements `generate` or `ask`.
        identity: What tells it from others, for the cache.
        asked: The limits.
        cache: Where replies are kept; None for nowhere.
        requests: How many questions there will be.
    """

    def __init__(
        self,
        model: BoundModel,
        identity: Mapping[str, Any],
        asked: Asked,
        cache: ReplyCache | None,
        requests: int,
    ) -> None:
        self._model, self._identity, self._asked = model, identity, asked
        self._cache = cache
        self._errors_allowed = asked.errors_allowed(requests)
        self._failed = 0
        self._tokens = 0
        self._why_ended: str | None = None
        self._numbers = itertools.count()
        self._coming: dict[str, tuple[asyncio.Future[list[Reply]], int]] = {}
        self._count = asked.concurrency or model.concurrency
        self._slots = asyncio.Semaphore(self._count)
        self._limiter = even_limiter(asked.requests_per_minute)
        self._token_limiter = limiter(asked.tokens_per_minute)

    async def answers(
        self, questions: Iterable[Question]
    ) -> AsyncGenerator[Answer, None]:
        """Ask all questions.

        Args:
            questions: The questions; taken as they are needed.

        Yields:
            An answer to each, in their order.

        Raises:
            AskingEnded: Too many failed, a limit was reached, or the model says that
                nothing will be answered.
            PluginError: The model failed.
        """
        size = self._model.batch_requests if self._model.way == "generate" else 1
        under_way: deque[asyncio.Task[list[Answer]]] = deque()
        try:
            for batch in _batches(questions, size):
                under_way.append(asyncio.create_task(self._answer(batch)))
                if len(under_way) >= _AHEAD * self._count:
                    for answer in await under_way.popleft():
                        yield answer
            while under_way:
                for answer in await under_way.popleft():
                    yield answer
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _answer(self, batch: Sequence[Question]) -> list[Answer]:
        keys = [
            reply_key(self._identity, each.request, each.replication) for each in batch
        ]
        if self._cache is None:  # what is asked anew is asked for each example
            replies = await self._ask(batch, keys)
            return [
                Answer(question, reply, number.to_bytes(8, "big"), False)
                for question, reply, number in zip(
                    batch, replies, self._numbers, strict=False
                )
            ]
        known = [self._kept(key) for key in keys]
        own = {
            key: question
            for key, question, reply in zip(keys, batch, known, strict=True)
            if reply is None and key not in self._coming
        }
        replies = await self._come(own, keys, known)
        fresh = {*own}
        answers = []
        for question, key, reply in zip(batch, keys, replies, strict=True):
            short = bytes.fromhex(key[:32])
            answers.append(Answer(question, reply, short, key not in fresh))
            fresh.discard(key)
        return answers

    async def _come(
        self,
        own: Mapping[str, Question],
        keys: Sequence[str],
        known: Sequence[Reply | None],
    ) -> list[Reply]:
        """Ask questions, and wait for what others ask already.

        Args:
            own: What is asked here, by its key.
            keys: The keys of a batch.
            known: The replies that are there.
        """
        asking = asyncio.ensure_future(self._ask([*own.values()], [*own]))
        self._coming |= {key: (asking, n) for n, key in enumerate(own)}
        # at once: others are forgotten when they have come
        waits = [
            reply or self._coming[key] for key, reply in zip(keys, known, strict=True)
        ]
        try:
            return [
                each
                if isinstance(each, Reply)
                else (await asyncio.shield(each[0]))[each[1]]
                for each in waits
            ]
        finally:
            for key in own:
                del self._coming[key]
            asking.cancel()
            with suppress(BaseException):  # it is told by who waits for it
                asking.exception()

    def _kept(self, key: str) -> Reply | None:
        text = None if self._cache is None else self._cache.get(key)
        if text is None:
            return None
        try:
            return Reply.model_validate_json(text)
        except ValidationError:  # of a version that wrote otherwise: it is asked anew
            return None

    def _keep(self, key: str, reply: Reply) -> Reply:
        """Keep a reply, and return the one that stands.

        Of a request that was under way twice, as of two examples that say the same,
        this is the first one, so that a repeated run finds what this one did.
        """
        if self._cache is None or reply.error is not None:
            return reply
        before = self._kept(key)
        if before is None:
            self._cache.put(key, reply.model_dump_json(exclude_defaults=True))
        return before or reply

    async def _ask(
        self, questions: Sequence[Question], keys: Sequence[str]
    ) -> list[Reply]:
        """Ask what nobody asked before."""
        if not questions:
            return []
        refuse_offline(self._model, f"the example {questions[0].uid!r}")
        async with self._slots:
            replies = await self._ask_again_and_again([q.request for q in questions])
            # before they are counted, as that may wait, or end all
            kept = [self._keep(*each) for each in zip(keys, replies, strict=True)]
            for reply in replies:
                await self._count_in(reply)
        return kept

    def _go_on(self) -> None:
        if self._why_ended is not None:
            raise AskingEnded(self._why_ended)

    async def _count_in(self, reply: Reply) -> None:
        usage = reply.usage
        tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
        self._tokens += tokens
        if self._token_limiter is not None and tokens:
            most = int(self._token_limiter.max_rate)
            await self._token_limiter.acquire(min(tokens, most))
        limit = self._asked.token_limit
        if limit is not None and self._tokens >= limit:
            self._why_ended = (
                f"{self._tokens:,} tokens were taken, and the limit is {limit:,}"
            )
        if reply.error is None:
            return
        self._failed += 1
        if reply.is_fatal:
            self._why_ended = f"the model answers nothing: {reply.error}"
            raise AskingEnded(self._why_ended)
        if self._failed > self._errors_allowed:
            self._why_ended = (
                f"{self._failed:,} requests failed, and {self._errors_allowed:,} may "
                f"(--max-errors); the last one: {reply.error}"
            )
            raise AskingEnded(self._why_ended)

    async def _ask_again_and_again(self, requests: Sequence[Request]) -> list[Reply]:
        """Ask for replies until all have come or will not; errors become replies."""
        replies: dict[int, Reply] = {}
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(_Again),
            stop=stop_after_attempt(self._asked.retries + 1),
            wait=_wait,
            reraise=True,
        )
        try:
            async for attempt in retrying:
                with attempt:
                    await self._try(requests, replies)
        except _Again:
            pass  # what they were answered last stands for them
        return [replies[n] for n in range(len(requests))]

    async def _try(
        self, requests: Sequence[Request], replies: dict[int, Reply]
    ) -> None:
        """Ask for the replies that are missing, or that may come now.

        Raises:
            AskingEnded: Nothing more is asked, of what failed before either.
            _Again: Some may come later.
        """
        places = [
            n
            for n in range(len(requests))
            if n not in replies or replies[n].is_retriable
        ]
        if self._limiter is not None:
            for _ in places:
                await self._limiter.acquire()
        self._go_on()
        asked = await self._once([requests[n] for n in places])
        found = [within_patience(reply) for reply in asked]
        replies.update(zip(places, found, strict=True))
        later = [reply for reply in found if reply.is_retriable]
        if later:
            raise _Again(
                str(later[0].error),
                max((r.retry_after for r in later if r.retry_after), default=None),
            )

    async def _once(self, requests: Sequence[Request]) -> list[Reply]:
        started = time.monotonic()
        limit = asyncio.timeout(self._asked.seconds)
        try:
            async with limit:
                found = await self._call(requests)
        except NotAnswered as error:
            return [Reply(error=error.reason)] * len(requests)
        except TryAgain as error:
            return [_later(error.reason, error.after)] * len(requests)
        except TimeoutError as error:
            reason = f"no reply within {self._asked.seconds:g} s"
            if not limit.expired():  # it is the model that did not wait so long
                reason = f"no reply in time: {error}".removesuffix(": ")
            return [_later(reason)] * len(requests)
        except ConnectionError as error:
            return [_later(f"no connection: {error}")] * len(requests)
        waited = time.monotonic() - started
        return [
            reply
            if reply.seconds is not None
            else reply.model_copy(update={"seconds": waited / len(requests)})
            for reply in found
        ]

    async def _call(self, requests: Sequence[Request]) -> list[Reply]:
        if self._model.way == "generate":
            return await in_thread(lambda: self._model.generate(requests))
        (request,) = requests
        with self._model.guard_of_asking():
            if inspect.iscoroutinefunction(getattr(self._model.plugin, "ask", None)):
                found = await self._model.ask(request)
            else:
                found = await in_thread(lambda: self._model.ask(request))
                if inspect.isawaitable(found):
                    found = await found
        return [self._model.checked(found, request)]


def refuse_offline(model: BoundModel, what: str) -> None:
    """Refuse to ask another machine where the network is forbidden.

    Args:
        model: The model.
        what: What it would be asked about.

    Raises:
        AskingEnded: `EVALKIT_OFFLINE` is set.
    """
    if model.uses_network and is_offline():
        raise AskingEnded(
            f"{model.component.id} cannot be asked about {what}, as EVALKIT_OFFLINE "
            "forbids the network, and no reply is in the cache: unset it"
        )


def _later(reason: str, after: float | None = None) -> Reply:
    return Reply(error=reason, is_retriable=True, retry_after=after)


def _wait(state: RetryCallState) -> float:
    """Return the seconds to wait: the server's wish, or twice as many each time."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _Again) and error.after is not None:
        return float(error.after)
    longest = min(_LONGEST_WAIT, math.ldexp(_FIRST_WAIT, state.attempt_number - 1))
    return longest * random.uniform(0.5, 1.0)


def _batches(questions: Iterable[Question], size: int) -> Iterator[list[Question]]:
    left = iter(questions)
    while batch := list(islice(left, size)):
        yield batch


async def close(model: BoundModel) -> None:
    """Let a model give up what it holds.

    Args:
        model: The model.
    """
    if not model.has("close"):
        return
    with model.guard("close"):
        done = model.row_function("close")()
        if inspect.isawaitable(done):
            await done
