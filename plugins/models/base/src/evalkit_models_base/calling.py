"""Calls a model once, within a time, and makes replies of what comes of it."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any, TypeVar

import anyio
from anyio import from_thread, lowlevel

from evalkit import TryAgain
from evalkit.base.ids import RESPONSE_ID_KEYS, read_id
from evalkit.errors import DataError, EvalkitError, PluginError
from evalkit_models_base.inputs import ModelInputs
from evalkit_models_base.model import BoundModel
from evalkit_models_base.questions import Body
from evalkit_models_base.requests import InputReply, NotAnswered, Reply

_T = TypeVar("_T")


class Caller:
    """Calls a model.

    Args:
        model: The model.
        seconds: Timeout of a reply.
        inputs: What a model is asked that answers inputs.
    """

    def __init__(
        self, model: BoundModel, seconds: float, inputs: ModelInputs | None
    ) -> None:
        self._model, self._seconds, self._inputs = model, seconds, inputs
        # nothing stops a thread, so it is waited for
        is_stoppable = inspect.iscoroutinefunction(getattr(model.plugin, "ask", None))
        self._limit = seconds if is_stoppable else None
        self.one_by_one = 0
        """How many batches failed as a whole."""

    async def replies(self, asked: Sequence[Body]) -> list[Reply]:
        """Ask for the replies to a batch."""
        started = time.monotonic()
        found: list[Reply] = []
        try:
            with anyio.move_on_after(self._limit) as scope:
                found = await self._not_cancelled(asked)
            if scope.cancelled_caught:
                late = f"no reply within {self._limit:g} s"
                found = [Reply(error=late, is_retriable=True)] * len(asked)
        except NotAnswered as error:
            if len(asked) > 1:
                return await self._one_by_one(asked)
            found = [Reply(error=error.reason)]
        except TryAgain as error:
            found = [_again(error)] * len(asked)
        except TimeoutError as error:
            late = f"no reply in time: {error}".removesuffix(": ")
            found = [Reply(error=late, is_retriable=True)] * len(asked)
        except ConnectionError as error:
            broken = f"no connection: {error}"
            found = [Reply(error=broken, is_retriable=True)] * len(asked)
        except PluginError as error:
            if len(asked) == 1 or not _is_bug(error):
                raise
            return await self._one_by_one(asked)
        waited = time.monotonic() - started
        facts: dict[str, Any] = {"received": datetime.now(UTC)}
        facts |= {"batch_size": len(asked), "batch_seconds": waited}
        own = {} if self._inputs is not None else {"seconds": waited / len(asked)}
        return [
            reply.model_copy(update=facts | (own if reply.seconds is None else {}))
            for reply in found
        ]

    async def _one_by_one(self, asked: Sequence[Body]) -> list[Reply]:
        """Ask for what a batch breaks at, and for the rest."""
        self.one_by_one += 1
        return [reply for each in asked for reply in await self.replies([each])]

    async def _not_cancelled(self, asked: Sequence[Body]) -> list[Reply]:
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

    async def _call(self, asked: Sequence[Any]) -> list[Reply]:
        model = self._model
        if self._inputs is not None:
            seconds = self._seconds * len(asked)
            copies = [*map(_copied, asked)]
            entries = await in_thread(lambda: model.predict(copies, seconds))
            return self._responses(asked, entries)
        if model.way == "generate":
            return await in_thread(lambda: model.generate(asked))
        (request,) = asked
        with model.guard_of_asking():
            if self._limit is not None:
                found = await model.ask(request)
            else:
                found = await in_thread(lambda: model.ask(request))
                if inspect.isawaitable(found):
                    with anyio.fail_after(self._seconds):
                        found = await found
        return [model.checked(found, request)]

    def _responses(
        self, inputs: Sequence[Mapping[str, Any]], entries: Sequence[Any]
    ) -> list[Reply]:
        """Return a reply for each entry that `predict` returned."""
        uids = [given["uid"] for given in inputs]
        entries = [
            entry.model_dump(mode="json") if hasattr(entry, "model_dump") else entry
            for entry in entries
        ]
        by_id = dict(zip(map(str, map(_own_id, entries)), entries, strict=True))
        # the same input may be asked several times, which only the order tells apart
        if len(by_id) == len(entries) and by_id.keys() == {*uids}:
            entries = [by_id[uid] for uid in uids]
        return [*map(self._response, uids, entries)]

    def _response(self, uid: Any, entry: Any) -> Reply:
        if isinstance(entry, NotAnswered):
            return Reply(error=entry.reason)
        if isinstance(entry, TryAgain):
            return _again(entry)
        if not isinstance(entry, Mapping):
            assert self._inputs is not None
            if self._inputs.answer_field is None:
                raise DataError(
                    f"{self._inputs.task} has a converter of its own, so that nobody "
                    "knows where an answer alone would stand"
                )
            return InputReply(response={self._inputs.answer_field: entry})
        own = _own_id(entry)
        if own not in (None, uid):
            wrong = repr(own) if isinstance(own, str) else f"with a wrong id ({own})"
            origin = self._model.component.origin
            raise PluginError(f"{origin}: predict answered {wrong} in place of {uid!r}")
        fields = {k: value for k, value in entry.items() if k not in RESPONSE_ID_KEYS}
        return InputReply(response=fields)


async def in_thread(function: Callable[[], _T]) -> _T:
    """Run a function in a thread, which holds up no end of the process."""
    token, done = lowlevel.current_token(), anyio.Event()
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.extend((function(), None))
        except BaseException as error:
            outcome.extend((None, error))
        with suppress(RuntimeError):  # the loop has ended
            from_thread.run_sync(done.set, token=token)

    threading.Thread(target=work, name="evalkit-ask", daemon=True).start()
    await done.wait()
    value, error = outcome
    if error is not None:
        raise error
    return value  # type: ignore[no-any-return]


def _own_id(entry: Any) -> Any:
    """Return the id that an entry has, or its violation; None without one."""
    if not isinstance(entry, Mapping) or entry.keys().isdisjoint(RESPONSE_ID_KEYS):
        return None
    return read_id(entry, RESPONSE_ID_KEYS)


def _copied(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: deepcopy(value) if isinstance(value, list | dict) else value
        for name, value in row.items()
    }


def _is_bug(error: PluginError) -> bool:
    """Tell whether a model failed without saying so itself."""
    cause = error.__cause__
    return isinstance(cause, Exception) and not isinstance(cause, EvalkitError)


def _again(error: TryAgain) -> Reply:
    return Reply(error=error.reason, is_retriable=True, retry_after=error.after)
