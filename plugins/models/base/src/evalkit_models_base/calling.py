"""Calls a model once, within a time, and says what came of it."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from evalkit import TryAgain
from evalkit.errors import EvalkitError, PluginError
from evalkit_models_base.bound import BoundModel
from evalkit_models_base.loops import begin_in_thread
from evalkit_models_base.requests import NotAnswered, Reply, Request
from evalkit_models_base.responses import Responses

Asked = Request | Mapping[str, Any]
"""A request, or an input of a task."""

_GRACE = 2.0
"""Seconds that a model has to end by itself when the time is up."""


class Running:
    """The call in a thread that a batch waits for, which may take longer than that."""

    def __init__(self) -> None:
        self.future: asyncio.Future[Any] | None = None
        self._asked: Sequence[Asked] = ()

    @property
    def is_on(self) -> bool:
        """Whether there is one."""
        return self.future is not None and not self.future.done()

    async def outcome(self, asked: Sequence[Asked], function: Callable[[], Any]) -> Any:
        """Call a function in a thread, unless the same is asked there already."""
        if self.future is not None and self._asked != asked:
            await asyncio.wait([self.future])
            self.future = None
        if self.future is None:
            self.future, self._asked = begin_in_thread(function), asked
        await asyncio.wait([self.future])  # it goes on when nobody waits any longer
        ended, self.future = self.future, None
        return ended.result()


class Broken(Exception):
    """Some of a batch were answered, and the next one breaks the model."""

    def __init__(self, replies: list[Reply], error: EvalkitError) -> None:
        super().__init__(str(error))
        self.replies, self.error = replies, error


class Caller:
    """Calls a model."""

    def __init__(
        self, model: BoundModel, seconds: float, responses: Responses | None
    ) -> None:
        self._model, self._seconds, self._responses = model, seconds, responses
        ends = model.way == "predict" and "seconds" in model.arguments_of("predict")
        self._grace = _GRACE if ends else 0.0
        self.one_by_one = 0
        """How many batches failed as a whole."""

    async def replies(self, asked: Sequence[Asked], running: Running) -> list[Reply]:
        """Ask for the replies to a batch.

        A call that nothing stops is not made again while it goes on: what it returns
        is waited for again.
        """
        started = time.monotonic()
        seconds = self._seconds * len(asked)
        limit = asyncio.timeout(seconds + self._grace)
        try:
            async with limit:
                found = await self._not_cancelled(asked, running)
        except NotAnswered as error:
            if len(asked) > 1:
                return await self._one_by_one(asked, running)
            return [Reply(error=error.reason)]
        except TryAgain as error:
            return [_later(error.reason, error.after)] * len(asked)
        except TimeoutError as error:
            is_ours = limit.expired()  # else the model did not wait so long
            reason = _too_slow(error, seconds if is_ours else None, running)
            return [_later(reason)] * len(asked)
        except ConnectionError as error:
            return [_later(f"no connection: {error}")] * len(asked)
        except PluginError as error:
            if len(asked) == 1 or not _is_bug(error):
                raise
            return await self._one_by_one(asked, running)
        if self._responses is not None:  # nobody asks how long one of them took
            return found
        waited = time.monotonic() - started
        return [_timed(reply, waited / len(asked)) for reply in found]

    async def _one_by_one(
        self, asked: Sequence[Asked], running: Running
    ) -> list[Reply]:
        """Ask for what a batch breaks at, and for the rest."""
        self.one_by_one += 1
        found: list[Reply] = []
        for each in asked:
            try:
                found += await self.replies([each], running)
            except EvalkitError as error:
                raise Broken(found, error) from error
            if running.is_on:  # it takes no other call
                late = _later(str(found[-1].error))
                return found + [late] * (len(asked) - len(found))
        return found

    async def _not_cancelled(
        self, asked: Sequence[Asked], running: Running
    ) -> list[Reply]:
        """Call the model, which may not cancel the work of others."""
        try:
            return await self._call(asked, running)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise PluginError(
                f"{self._model.component.origin}: {self._model.way} raised "
                "CancelledError, and nobody had cancelled it"
            ) from error

    async def _call(self, asked: Sequence[Asked], running: Running) -> list[Reply]:
        if self._model.way == "predict":
            inputs = cast(Sequence[Mapping[str, Any]], asked)
            seconds = self._seconds * len(inputs)
            entries = await running.outcome(
                asked, lambda: self._model.predict([*map(_copied, inputs)], seconds)
            )
            assert self._responses is not None
            return self._responses.replies(inputs, entries)
        requests = cast(Sequence[Request], asked)
        if self._model.way == "generate":
            replies: list[Reply] = await running.outcome(
                asked, lambda: self._model.generate(requests)
            )
            return replies
        (request,) = requests
        with self._model.guard_of_asking():
            if inspect.iscoroutinefunction(getattr(self._model.plugin, "ask", None)):
                found = await self._model.ask(request)
            else:
                found = await running.outcome(asked, lambda: self._model.ask(request))
                if inspect.isawaitable(found):
                    found = await found
        return [self._model.checked(found, request)]


def _copied(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of an input, which a model may change."""
    return {
        name: deepcopy(value) if isinstance(value, list | dict) else value
        for name, value in row.items()
    }


def _too_slow(error: TimeoutError, seconds: float | None, running: Running) -> str:
    if seconds is None:
        return f"no reply in time: {error}".removesuffix(": ")
    runs_on = ", and the call cannot be stopped" if running.is_on else ""
    return f"no reply within {seconds:g} s{runs_on}"


def _is_bug(error: PluginError) -> bool:
    """Tell whether a model failed at what it was asked, and does not say so itself."""
    cause = error.__cause__
    return isinstance(cause, Exception) and not isinstance(cause, EvalkitError)


def _later(reason: str, after: float | None = None) -> Reply:
    return Reply(error=reason, is_retriable=True, retry_after=after)


def _timed(reply: Reply, seconds: float) -> Reply:
    if reply.seconds is not None:
        return reply
    return reply.model_copy(update={"seconds": seconds})
