"""Calls a model once, within a time, and says what came of it."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Mapping, Sequence
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


class Caller:
    """Calls a model."""

    def __init__(
        self, model: BoundModel, seconds: float, responses: Responses | None
    ) -> None:
        self._model, self._seconds, self._responses = model, seconds, responses
        # nothing stops a thread, so it is waited for
        is_stoppable = inspect.iscoroutinefunction(getattr(model.plugin, "ask", None))
        self._limit = seconds if is_stoppable else None
        self.one_by_one = 0
        """How many batches failed as a whole."""

    async def replies(self, asked: Sequence[Asked]) -> list[Reply]:
        """Ask for the replies to a batch."""
        started = time.monotonic()
        limit = asyncio.timeout(self._limit)
        try:
            async with limit:
                found = await self._not_cancelled(asked)
        except NotAnswered as error:
            if len(asked) > 1:
                return await self._one_by_one(asked)
            return [Reply(error=error.reason)]
        except TryAgain as error:
            return [_later(error.reason, error.after)] * len(asked)
        except TimeoutError as error:
            reason = f"no reply in time: {error}".removesuffix(": ")
            if limit.expired():  # else the model did not wait so long
                reason = f"no reply within {self._limit:g} s"
            return [_later(reason)] * len(asked)
        except ConnectionError as error:
            return [_later(f"no connection: {error}")] * len(asked)
        except PluginError as error:
            if len(asked) == 1 or not _is_bug(error):
                raise
            return await self._one_by_one(asked)
        if self._responses is not None:  # nobody asks how long one of them took
            return found
        waited = time.monotonic() - started
        return [_timed(reply, waited / len(asked)) for reply in found]

    async def _one_by_one(self, asked: Sequence[Asked]) -> list[Reply]:
        """Ask for what a batch breaks at, and for the rest."""
        self.one_by_one += 1
        return [reply for each in asked for reply in await self.replies([each])]

    async def _not_cancelled(self, asked: Sequence[Asked]) -> list[Reply]:
        """Call the model, which may not cancel the work of others."""
        try:
            return await self._call(asked)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise PluginError(
                f"{self._model.component.origin}: {self._model.way} raised "
                "CancelledError, and nobody had cancelled it"
            ) from error

    async def _call(self, asked: Sequence[Asked]) -> list[Reply]:
        if self._model.way == "predict":
            inputs = cast(Sequence[Mapping[str, Any]], asked)
            seconds = self._seconds * len(inputs)
            entries = await begin_in_thread(
                lambda: self._model.predict([*map(_copied, inputs)], seconds)
            )
            assert self._responses is not None
            return self._responses.replies(inputs, entries)
        requests = cast(Sequence[Request], asked)
        if self._model.way == "generate":
            return await begin_in_thread(lambda: self._model.generate(requests))
        (request,) = requests
        with self._model.guard_of_asking():
            if self._limit is not None:
                found = await self._model.ask(request)
            else:
                found = await begin_in_thread(lambda: self._model.ask(request))
                if inspect.isawaitable(found):
                    found = await asyncio.wait_for(found, self._seconds)
        return [self._model.checked(found, request)]


def _copied(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: deepcopy(value) if isinstance(value, list | dict) else value
        for name, value in row.items()
    }


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
