"""Asks a model many things at once, again where that may help, and in order."""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
)

from evalkit_models_base.bound import BoundModel
from evalkit_models_base.cache import Keys, ReplyCache
from evalkit_models_base.calling import Caller
from evalkit_models_base.limits import Again, even_limiter, limiter, within_patience
from evalkit_models_base.limits import AskingEnded as AskingEnded
from evalkit_models_base.models import close as close
from evalkit_models_base.models import places_of, refuse_offline
from evalkit_models_base.prices import Price, refuse_unknown_cost
from evalkit_models_base.questions import Answer as Answer
from evalkit_models_base.questions import Batch, batches
from evalkit_models_base.questions import Question as Question
from evalkit_models_base.requests import Reply
from evalkit_models_base.responses import (
    Responses,
    answers_all,
    as_text,
    from_text,
    is_alike,
)
from evalkit_models_base.settings import Asked
from evalkit_models_base.spending import Budget

_FIRST_WAIT = 1.0
"""Seconds before a request is asked again; twice as many each time."""

_LONGEST_WAIT = 60.0

_AHEAD = 4
_LEAST_AHEAD = 256
"""Batches that are begun for each one that may be asked, and questions at least, so
that a slow one holds up no others while replies are handed on in order."""


class Asker:
    """Asks a model, within limits."""

    def __init__(
        self,
        model: BoundModel,
        asked: Asked,
        cache: ReplyCache | None,
        requests: int,
        responses: Responses | None = None,
        price: Price | None = None,
    ) -> None:
        self._model, self._asked, self._cache = model, asked, cache
        self._keys = None if cache is None else Keys(model)
        self._caller = Caller(model, asked.seconds, responses)
        refuse_unknown_cost(model.component.id, asked.cost_limit, price)
        self.budget = Budget(model.component.id, asked, requests, price)
        self._coming: dict[str, tuple[asyncio.Future[list[Reply]], int]] = {}
        self._places = places_of(model, asked)
        self._slots = asyncio.Semaphore(self._places)
        self._ended = asyncio.Event()
        self._ended_by: BaseException | None = None
        self._has_failed = False
        self._limiter = even_limiter(asked.requests_per_minute)
        self._token_limiter = limiter(asked.tokens_per_minute)

    async def answers(
        self, questions: Iterable[Question]
    ) -> AsyncGenerator[Answer, None]:
        """Ask all questions.

        When the work ends early, nothing more is asked, and what is under way is waited
        for and kept; an interrupt waits for nothing.
        """
        size = 1 if self._model.way == "ask" else self._model.batch_requests
        ahead = max(_AHEAD * self._places, _LEAST_AHEAD // size)
        under_way: deque[asyncio.Task[list[Answer]]] = deque()
        try:
            for batch in batches(questions, size):
                under_way.append(asyncio.create_task(self._answer(batch)))
                if len(under_way) >= ahead:
                    for answer in await under_way.popleft():
                        yield answer
            while under_way:
                for answer in await under_way.popleft():
                    yield answer
            if self._has_failed:
                self._go_on()
        except Exception as error:
            self._end(error)
            await asyncio.gather(*under_way, return_exceptions=True)
            assert self._ended_by is not None
            raise self._ended_by from self._ended_by.__cause__  # what came first
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know, once all was asked."""
        broken = self._caller.one_by_one
        if not broken:
            return ()
        what = "1 batch" if broken == 1 else f"{broken:,} batches"
        return (f"{what} failed as a whole, and was asked one by one",)

    def _end(self, error: BaseException) -> None:
        if self._ended_by is None:
            self._ended_by = error
            self._ended.set()

    def _go_on(self) -> None:
        if self._ended_by is not None:
            raise self._ended_by

    async def _answer(self, batch: Sequence[Question]) -> list[Answer]:
        if self._keys is None:  # what is asked anew is asked for each example
            replies = await self._ask(batch, None)
            return [
                Answer(question, reply, None, False)
                for question, reply in zip(batch, replies, strict=True)
            ]
        keys = [*map(self._keys.key, batch)]
        asked = dict(zip(keys, (each.request for each in batch), strict=True))
        known = {
            key: reply
            for key, reply in self._kept(keys).items()
            if answers_all(reply, asked[key])
        }
        own = {
            key: question
            for key, question in zip(keys, batch, strict=True)
            if key not in known and key not in self._coming
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
        known: Mapping[str, Reply],
    ) -> list[Reply]:
        """Ask questions, and wait for what others ask already."""
        asking = asyncio.ensure_future(self._ask([*own.values()], [*own]))
        self._coming |= {key: (asking, n) for n, key in enumerate(own)}
        # at once: others are forgotten when they have come
        waits = [known.get(key) or self._coming[key] for key in keys]
        futures = {each[0] for each in waits if not isinstance(each, Reply)}
        try:
            # also what is asked here when another fails: it was paid for
            await asyncio.wait({asking, *futures})
            return [
                each if isinstance(each, Reply) else each[0].result()[each[1]]
                for each in waits
            ]
        finally:
            for key in own:
                del self._coming[key]
            asking.cancel()
            with suppress(BaseException):  # it is told by who waits for it
                asking.exception()

    def kept_reply(self, question: Question) -> Reply | None:
        """Return the reply to a question that the cache holds."""
        if self._keys is None:
            return None
        return next(iter(self._kept([self._keys.key(question)]).values()), None)

    def _kept(self, keys: Sequence[str]) -> dict[str, Reply]:
        """Return the replies that are there, but for those that cannot be read."""
        if self._cache is None:
            return {}
        texts = self._cache.get_all(keys)
        found = {key: from_text(text) for key, text in texts.items()}
        return {key: reply for key, reply in found.items() if reply is not None}

    def _keep(self, replies: Mapping[str, Reply]) -> dict[str, Reply]:
        """Keep replies, and return those that stand.

        Of a request that was under way twice, as of two processes that ask the same,
        this is the first one, so that a repeated run finds what this one did.
        """
        if self._cache is None:
            return {**replies}
        given = {key: each for key, each in replies.items() if each.error is None}
        before = {
            key: reply
            for key, reply in self._kept([*given]).items()
            if is_alike(reply, given[key])
        }
        texts = {}
        for key in given.keys() - before.keys():
            with suppress(TypeError, ValueError):  # who writes it to a file says so
                texts[key] = as_text(given[key])
        if texts:
            self._cache.put_all(texts)
        return {**replies, **before}

    async def _ask(
        self, questions: Sequence[Question], keys: Sequence[str] | None
    ) -> list[Reply]:
        if not questions:
            return []
        batch = Batch([each.request for each in questions], keys)
        async with self._slots:
            try:
                self._go_on()
                refuse_offline(self._model)
                await self._ask_again_and_again(batch)
                self._count_in(batch)
            except Exception as error:
                self._end(error)
                raise
        return [batch.replies[n] for n in range(len(questions))]

    def _count_in(self, batch: Batch) -> None:
        """Count what stands; where that is too much, the batch is still handed on."""
        try:
            for reply in sorted(batch.replies.values(), key=lambda r: not r.is_fatal):
                self.budget.take(reply)
        except AskingEnded as error:
            self._has_failed = True
            self._end(error)

    async def _unless_ended(self, waiting: Awaitable[Any]) -> None:
        """Wait, but for no longer than anything is asked."""
        waits = asyncio.ensure_future(waiting)
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait([waits, ended], return_when=asyncio.FIRST_COMPLETED)
            if waits.done():
                waits.result()
        finally:
            waits.cancel()
            ended.cancel()

    async def _ask_again_and_again(self, batch: Batch) -> None:
        """Ask for replies until all have come or will not; errors become replies."""
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(Again),
            stop=stop_after_attempt(self._asked.retries + 1),
            wait=_wait,
            sleep=lambda seconds: self._unless_ended(asyncio.sleep(seconds)),
            reraise=True,
        )
        try:
            async for attempt in retrying:
                with attempt:
                    await self._try(batch)
        except Again:
            pass  # what they were answered last stands for them

    async def _try(self, batch: Batch) -> None:
        """Ask for the replies that are missing, or that may come now."""
        places = batch.open
        if self._limiter is not None:
            for _ in places:
                await self._unless_ended(self._limiter.acquire())
        self._go_on()
        came = await self._caller.replies([batch.asked[n] for n in places])
        found = [within_patience(reply) for reply in came]
        self._take_in(batch, places, found)
        await self._spend(found)
        later = [reply for reply in found if reply.is_retriable]
        if later and not any(reply.is_fatal for reply in found):
            raise Again(
                str(later[0].error),
                max((r.retry_after for r in later if r.retry_after), default=None),
            )

    def _take_in(
        self, batch: Batch, places: Sequence[int], came: Sequence[Reply]
    ) -> None:
        """Keep what came at once, as others of the batch may take long, or end all."""
        replies = dict(zip(places, came, strict=False))
        if batch.keys is not None:
            named = {batch.keys[n]: reply for n, reply in replies.items()}
            kept = self._keep(named)
            replies = {n: kept[batch.keys[n]] for n in replies}
        batch.replies.update(replies)

    async def _spend(self, replies: Sequence[Reply]) -> None:
        tokens = sum(map(self.budget.spend, replies))
        enough = self.budget.why_enough()
        if enough is not None:
            self._end(AskingEnded(enough))
        if self._token_limiter is not None and tokens:
            most = int(self._token_limiter.max_rate)
            await self._unless_ended(self._token_limiter.acquire(min(tokens, most)))


def _wait(state: RetryCallState) -> float:
    """Return the seconds to wait: the server's wish, or twice as many each time."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, Again) and error.after is not None:
        return float(error.after)
    longest = min(_LONGEST_WAIT, math.ldexp(_FIRST_WAIT, state.attempt_number - 1))
    return longest * random.uniform(0.5, 1.0)
