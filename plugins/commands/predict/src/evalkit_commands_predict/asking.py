"""Asks a model many things at once, again where that may help, and in order."""

from __future__ import annotations

import asyncio
import inspect
import math
import random
import threading
import time
from collections import deque
from collections.abc import (
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from aiolimiter import AsyncLimiter
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
from evalkit_commands_predict.settings import Asked

_T = TypeVar("_T")

_FIRST_WAIT = 1.0
"""Seconds before a request is asked again; twice as many each time."""

_LONGEST_WAIT = 60.0

LONGEST_SERVER_WAIT = 600.0
"""Seconds that a server may ask for; what it wants to be asked later has failed."""

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
    is_cached: bool


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
        self._count = asked.concurrency or model.concurrency
        self._slots = asyncio.Semaphore(self._count)
        self._limiter = _even_limiter(asked.requests_per_minute)
        self._token_limiter = _limiter(asked.tokens_per_minute)

    async def answers(self, questions: Iterable[Question]) -> AsyncIterator[Answer]:
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
        known = [self._kept(key) for key in keys]
        open_places = [n for n, reply in enumerate(known) if reply is None]
        replies = await self._ask(
            [batch[n] for n in open_places], [keys[n] for n in open_places]
        )
        come = dict(zip(open_places, replies, strict=True))
        return [
            Answer(question, reply or come[n], reply is not None)
            for n, (question, reply) in enumerate(zip(batch, known, strict=True))
        ]

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
        found = [_within_patience(reply) for reply in asked]
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
            return await _in_thread(lambda: self._model.generate(requests))
        (request,) = requests
        with self._model.guard_of_asking():
            if inspect.iscoroutinefunction(getattr(self._model.plugin, "ask", None)):
                found = await self._model.ask(request)
            else:
                found = await _in_thread(lambda: self._model.ask(request))
                if inspect.isawaitable(found):
                    found = await found
        return [self._model.checked(found, request)]


async def _in_thread(function: Callable[[], _T]) -> _T:
    """Await a function in a thread, which holds up no end of the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def tell(settle: Callable[[Any], None], outcome: Any) -> None:
        if not done.done():  # else nobody waits any more
            settle(outcome)

    def work() -> None:
        settle: Callable[[Any], None]
        try:
            settle, outcome = done.set_result, function()
        except StopIteration as error:  # which no future takes
            settle, outcome = done.set_exception, RuntimeError(repr(error))  # type: ignore[assignment]
        except BaseException as error:
            settle, outcome = done.set_exception, error  # type: ignore[assignment]
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(tell, settle, outcome)

    threading.Thread(target=work, name="evalkit-ask", daemon=True).start()
    return await done


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


def _within_patience(reply: Reply) -> Reply:
    """Take a reply for final that a server wants to be asked for much later."""
    after = reply.retry_after
    if not reply.is_retriable or after is None or after <= LONGEST_SERVER_WAIT:
        return reply
    error = f"{reply.error}; the server wants to be asked again in {after:,.0f} s"
    return reply.model_copy(update={"error": error, "is_retriable": False})


def _later(reason: str, after: float | None = None) -> Reply:
    return Reply(error=reason, is_retriable=True, retry_after=after)


def _wait(state: RetryCallState) -> float:
    """Return the seconds to wait: the server's wish, or twice as many each time."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _Again) and error.after is not None:
        return float(error.after)
    longest = min(_LONGEST_WAIT, math.ldexp(_FIRST_WAIT, state.attempt_number - 1))
    return longest * random.uniform(0.5, 1.0)


def _even_limiter(per_minute: float | None) -> AsyncLimiter | None:
    """Return what lets one after another pass; a burst would make a minute too full."""
    return None if per_minute is None else AsyncLimiter(1, 60.0 / per_minute)


def _limiter(per_minute: float | None) -> AsyncLimiter | None:
    return None if per_minute is None else AsyncLimiter(max(1.0, per_minute), 60.0)


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
