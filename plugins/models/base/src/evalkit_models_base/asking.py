"""Asks a model: many requests at once, again where that may help, and in order."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from itertools import count, islice, takewhile
from typing import Any, Self

import anyio
from aiolimiter import AsyncLimiter
from anyio.from_thread import start_blocking_portal
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    stop_after_attempt,
)

from evalkit.places import is_offline
from evalkit_models_base.cache import ReplyCache
from evalkit_models_base.calling import Caller
from evalkit_models_base.inputs import ModelInputs
from evalkit_models_base.limits import (
    Asked,
    AskingEnded,
    Budget,
    even_limiter,
    price_of,
)
from evalkit_models_base.model import BoundModel
from evalkit_models_base.models import identity_of, names_of
from evalkit_models_base.questions import Answer, Question
from evalkit_models_base.requests import Reply
from evalkit_models_base.services import LONGEST_SERVER_WAIT

_FIRST_WAIT = 1.0
"""Seconds before a request is sent again; twice as many each time."""

_LONGEST_WAIT = 60.0

_PATIENCE = 0.2
"""Seconds within which an interrupt is noticed."""

_AHEAD = 4
_LEAST_AHEAD = 256
"""Batches that are begun for each one that may be under way, and questions at least, so
that a slow one holds up no others while replies are handed on in order."""


class Again(Exception):
    """A reply that may come when the request is sent again."""

    def __init__(self, reason: str, after: float | None) -> None:
        super().__init__(reason)
        self.after = after


class _Coming:
    """A reply that is under way."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.reply: Reply | None = None


class _Batch:
    """Questions that are asked together, by their keys, and what came of them."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = questions
        self.done = anyio.Event()
        self.answers: list[Answer] | None = None


class Engine:
    """Asks one model, loaded once, within limits that hold until it is closed.

    All that is asked goes through `ask_all`; the model runs in one event loop, in a
    thread of its own.

    Args:
        model: The model.
        given: What the user named it by.
        asked: Limits.
        inputs: What a model is asked that answers inputs.

    Raises:
        EvalkitError: The price or the cache cannot be used.
    """

    def __init__(
        self,
        model: BoundModel,
        given: Any,
        asked: Asked,
        inputs: ModelInputs | None = None,
    ) -> None:
        self.model, self.asked = model, asked
        self.cache: ReplyCache | None = None
        self._ended_by: BaseException | None = None
        self._serving = start_blocking_portal(name="evalkit-asking")
        self._portal = self._serving.__enter__()
        try:
            self.identity = identity_of(model, given)
            self.price = price_of(asked.price, names_of(model, given, self.identity))
            self.budget = Budget(model.component.id, asked, self.price)
            if asked.is_cached and model.has("describe_request"):
                self.cache = ReplyCache(model)
        except BaseException:
            self.close()
            raise
        self._caller = Caller(model, asked.seconds, inputs)
        wanted = asked.concurrency or model.concurrency
        self.places = wanted if model.way == "ask" else min(wanted, model.concurrency)
        self._coming: dict[str, _Coming] = {}
        self._calls: set[anyio.CancelScope] = set()
        self._limiter = even_limiter(asked.requests_per_minute)
        rate = asked.tokens_per_minute
        self._tokens = None if rate is None else AsyncLimiter(max(1.0, rate), 60.0)
        self._numbers = count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the model and the cache go."""
        try:
            self._portal.call(self._close_model)
        finally:
            self._serving.__exit__(None, None, None)
            if self.cache is not None:
                self.cache.close()

    async def _close_model(self) -> None:
        try:  # a model may look at what ended the work
            if self._ended_by is not None:
                raise self._ended_by
        except BaseException:
            await self.model.close()
        else:
            await self.model.close()

    def ask_all(
        self, questions: Iterable[Question], total: int, take: Callable[[Answer], None]
    ) -> None:
        """Ask questions, and hand on the answers in their order.

        When the work ends early, no further request is sent, and the replies under way
        are waited for and kept; an interrupt waits for nothing.

        Args:
            questions: They are made as they are needed.
            total: How many there are.
            take: Takes an answer.

        Raises:
            AskingEnded: The work ended early.
            EvalkitError: The model or the cache is broken.
        """
        self.budget.requests += total
        work = self._portal.start_task_soon(self._run, questions, take)
        try:
            while not wait([work], _PATIENCE).done:
                pass  # a system may wake another thread than this at a signal
            work.result()
        except KeyboardInterrupt as error:
            self._ended_by = self._ended_by or error
            work.cancel()
            self._portal.call(self._interrupt)
            kept = "not kept" if self.cache is None else "kept, and not asked again"
            error.add_note(f"the replies so far are {kept}")
            raise

    def kept_reply(self, question: Question) -> Reply | None:
        """Return the reply to a question that the cache holds."""
        if self.cache is None:
            return None
        return next(
            iter(self.cache.get_all({self.cache.key(question): question}).values()),
            None,
        )

    async def _interrupt(self) -> None:
        for call in self._calls:
            call.cancel()

    async def _run(
        self, questions: Iterable[Question], take: Callable[[Answer], None]
    ) -> None:
        size = 1 if self.model.way == "ask" else self.model.batch_requests
        ahead = max(_AHEAD * self.places, _LEAST_AHEAD // size)
        left = iter(questions)
        batches = iter(lambda: [*islice(left, size)], [])
        begun: deque[_Batch] = deque()
        self._slots = anyio.CapacityLimiter(self.places)

        async def hand_on(most: int) -> None:
            while len(begun) > most and self._ended_by is None:
                await begun[0].done.wait()
                for answer in begun.popleft().answers or ():
                    take(answer)

        async with anyio.create_task_group() as tasks:
            self._scope = tasks.cancel_scope
            try:
                for batch in takewhile(lambda _: self._ended_by is None, batches):
                    begun.append(_Batch(batch))
                    tasks.start_soon(self._answer, begun[-1])
                    await hand_on(ahead - 1)
                await hand_on(0)
            except Exception as error:
                self._end(error)
        if isinstance(self._ended_by, AskingEnded):  # also those that came since
            for whole in takewhile(lambda batch: batch.answers is not None, begun):
                for answer in whole.answers or ():
                    take(answer)
        if self._ended_by is not None:
            raise self._ended_by

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know, once all was asked."""
        broken, model = self._caller.one_by_one, self.model
        found = []
        if broken:
            what = "1 batch" if broken == 1 else f"{broken:,} batches"
            found.append(f"{what} failed as a whole, and was asked one by one")
        if self.asked.is_cached and model.uses_network and self.cache is None:
            found.append(
                f"replies are not cached: {model.component.id} does not describe its "
                "requests (describe_request)"
            )
        return tuple(found)

    def _end(self, error: BaseException) -> None:
        """Send nothing more; calls that are under way are shielded."""
        if self._ended_by is None:
            self._ended_by = error
            self._scope.cancel()

    async def _answer(self, batch: _Batch) -> None:
        try:
            batch.answers = await self._answers(batch.questions)
        except Exception as error:
            self._end(error)
        finally:
            batch.done.set()

    async def _answers(self, questions: Sequence[Question]) -> list[Answer]:
        """Find the answers: in the cache, under way, or by asking."""
        if self.cache is None:  # what is asked anew is asked for each example
            keys = [f"#{next(self._numbers)}" for _ in questions]
        else:
            keys = [*map(self.cache.key, questions)]
        by_key = dict(zip(keys, questions, strict=True))
        known = {} if self.cache is None else self.cache.get_all(by_key)
        own = {
            key: question
            for key, question in by_key.items()
            if key not in known and key not in self._coming
        }
        self._coming |= {key: _Coming() for key in own}
        # at once: others are forgotten when they have come
        waits = {key: self._coming[key] for key in by_key if key not in known}
        try:
            await self._ask(own)
        finally:
            for key in own:
                self._coming.pop(key).done.set()
        for key, coming in waits.items():
            if coming.reply is None:
                await coming.done.wait()
            assert coming.reply is not None  # else the work has ended
            known[key] = coming.reply
        fresh, answers = {*own}, []
        for key, question in zip(keys, questions, strict=True):
            short = None if self.cache is None else bytes.fromhex(key[:32])
            answers.append(Answer(question, known[key], short, key not in fresh))
            fresh.discard(key)
        return answers

    async def _ask(self, questions: Mapping[str, Question]) -> None:
        """Ask for replies until all have come or will not; errors become replies."""
        if not questions:
            return
        open_ = dict.fromkeys(questions, 0)
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(Again),
            stop=stop_after_attempt(self.asked.retries + 1),
            wait=_wait,
            sleep=anyio.sleep,
            reraise=True,
        )
        async with self._slots:
            if self.model.uses_network and is_offline():
                raise AskingEnded(
                    f"{self.model.component.id} cannot be asked, as EVALKIT_OFFLINE "
                    "forbids the network, and the reply is not in the cache: unset it"
                )
            try:
                async for attempt in retrying:
                    with attempt:
                        await self._try(questions, open_)
            except Again:
                pass  # what they were answered last stands for them
            except Exception as error:
                self._end(error)  # before another one gets the slot
                raise
            replies = [self._coming[key].reply for key in questions]
            final = [reply for reply in replies if reply is not None]
            try:
                for reply in sorted(final, key=lambda reply: not reply.is_fatal):
                    self.budget.take(reply)
            except AskingEnded as error:  # these are still handed on
                self._end(error)

    async def _try(
        self, questions: Mapping[str, Question], open_: dict[str, int]
    ) -> None:
        """Ask for the replies that are missing, or that may come now.

        Args:
            questions: All questions of the batch.
            open_: How often each was asked that has no final reply.
        """
        if self._limiter is not None:
            for _ in open_:
                await self._limiter.acquire()
        asked = {key: questions[key] for key in open_}
        with self._shielded():
            came = await self._caller.replies([each.request for each in asked.values()])
            replies = {
                key: _patient(reply, open_[key] + 1)
                for key, reply in zip(asked, came, strict=True)
            }
            # at once, as others of the batch may take long, or end all
            kept = self.cache.keep(replies, asked) if self.cache else replies
        tokens = sum(map(self.budget.spend, replies.values()))
        for key, reply in kept.items():
            self._coming[key].reply = reply
            open_[key] += 1
            if not reply.is_retriable:
                del open_[key]
        enough = self.budget.why_enough()
        if enough is not None:
            self._end(AskingEnded(enough))
        elif self._tokens is not None and tokens:
            await self._tokens.acquire(min(tokens, int(self._tokens.max_rate)))
        later = [reply for reply in replies.values() if reply.is_retriable]
        if later and not any(reply.is_fatal for reply in replies.values()):
            waits = [each.retry_after for each in later if each.retry_after]
            raise Again(str(later[0].error), max(waits, default=None))

    @contextmanager
    def _shielded(self) -> Any:
        """Let a call end also where the work ends; an interrupt cancels it."""
        with anyio.CancelScope(shield=True) as call:
            self._calls.add(call)
            try:
                yield
            finally:
                self._calls.discard(call)


def _patient(reply: Reply, attempts: int) -> Reply:
    """Take a reply for final that a server wants to be asked for much later."""
    changes: dict[str, Any] = {"attempts": attempts}
    after = reply.retry_after
    if reply.is_retriable and after is not None and after > LONGEST_SERVER_WAIT:
        error = f"{reply.error}; the server wants to be asked again in {after:,.0f} s"
        changes |= {"error": error, "is_retriable": False}
    return reply.model_copy(update=changes)


def _wait(state: RetryCallState) -> float:
    """Return the seconds to wait: the server's wish, or twice as many each time."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, Again) and error.after is not None:
        return float(error.after)
    longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(state.attempt_number - 1, 60))
    return longest * random.uniform(0.5, 1.0)
