"""Models: their base class, and how one is called that is loaded."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from evalkit import TryAgain
from evalkit.base.violations import entries_of, shorten
from evalkit.errors import PluginError
from evalkit.plugins.binding import Bound, Guard
from evalkit.plugins.classes import Plugin
from evalkit_models_base.hookspecs import (
    Ability,
    ModelAttributes,
    ModelKind,
)
from evalkit_models_base.requests import NotAnswered, Reply, Request

_hands_on_calls = True  # what fails here is in a model

Way = Literal["predict", "generate", "ask"]
WAYS: tuple[Way, ...] = ("predict", "generate", "ask")

_REFUSALS = (TryAgain, NotAnswered, TimeoutError, ConnectionError)


class Model(Plugin):
    """What answers inputs, or requests that are made of them.

    A subclass implements one of `predict`, `generate` and `ask`, and sets `abilities`
    for the latter two. `evalkit_models_base.hookspecs.ModelAttributes` says what
    each attribute means.

    Example:
        ```python
        class Polite(Model):
            abilities = ("text", "chat")

            def generate(self, requests):
                return [text_reply("I would rather not say.") for _ in requests]
        ```
    """

    version: ClassVar[str] = "1"
    abilities: Sequence[Ability] = ()
    context_length: int | None = None
    concurrency: int = 1
    batch_requests: int = 32
    kind: ModelKind | None = None
    uses_network: bool = False


class BoundModel(Bound, ModelAttributes):
    """A model that is loaded."""

    @property
    def way(self) -> Way:
        """The hook by which it answers."""
        return next(way for way in WAYS if self.has(way))

    def predict(
        self, inputs: Sequence[Mapping[str, Any]], seconds: float = 600.0
    ) -> list[Any]:
        """Return an entry for each of at most `batch_requests` inputs, unchecked.

        Raises:
            TryAgain, TimeoutError, ConnectionError, NotAnswered: Whatever of these it
                raised, for all of them.
            PluginError: It failed, or returned another number of entries.
        """
        first = inputs[0].get("uid") if inputs else None
        with self.guard("predict", "input", first, passes=_REFUSALS):
            returned = self.row_function("predict")(inputs=inputs, seconds=seconds)
            entries = returned.tolist() if hasattr(returned, "tolist") else returned
        return self._list_of("predict", entries, len(inputs))

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """Return a reply to each of at most `batch_requests` requests.

        It raises what `predict` raises.
        """
        with self.guard_of_asking("generate"):
            returned = self.row_function("generate")(requests=requests)
        replies = self._list_of("generate", returned, len(requests))
        return [*map(self.checked, replies, requests)]

    def ask(self, request: Request) -> Any:
        """Return its reply to a request, or an awaitable of it, unchecked."""
        return self.row_function("ask")(request=request)

    async def close(self) -> None:
        """Let it give up what it holds."""
        if not self.has("close"):
            return
        with self.guard("close"):
            done = self.row_function("close")()
            if inspect.isawaitable(done):
                await done

    def checked(self, reply: Any, request: Request) -> Reply:
        """Return a reply to a request.

        Raises:
            PluginError: It is no reply, or not to this request.
        """
        origin, way = self.component.origin, self.way
        if not isinstance(reply, Reply):
            raise PluginError(
                f"{origin}: {way} must give a Reply, gave {shorten(reply)}"
            )
        if reply.error is not None:
            return reply
        expected = {"continuations": len(request.continuations)}
        for name, count in (expected | {"completions": request.texts}).items():
            found = len(getattr(reply, name))
            if found != count:
                raise PluginError(
                    f"{origin}: {way} was asked for {count} {name}, gave {found}"
                )
        if not reply.is_text:
            error = "the reply holds what is no text: half of a surrogate pair"
            return Reply(error=error, usage=reply.usage, seconds=reply.seconds)
        return reply

    def describe(self) -> dict[str, Any]:
        """Return what it says of itself; nothing without the hook.

        Raises:
            PluginError: It failed, or returned anything but a JSON object.
        """
        if not self.has("describe"):
            return {}
        return self._json_object("describe", self.call("describe"))

    def describe_request(self, request: Request | Mapping[str, Any]) -> dict[str, Any]:
        """Return all that a service gets for a request.

        Raises:
            PluginError: The hook failed, or returned anything but a JSON object.
        """
        with self.guard("describe_request"):
            description = self.row_function("describe_request")(request=request)
        return self._json_object("describe_request", description)

    def _json_object(self, hook: str, value: Any) -> dict[str, Any]:
        reason = ""
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            value, reason = None, f": {error}"
        if not isinstance(value, Mapping):
            raise PluginError(
                f"{self.component.origin}: {hook} must return an object of JSON{reason}"
            )
        return dict(value)

    def guard_of_asking(self, way: str = "ask") -> Guard:
        """Return a context that names the model in what it raises.

        What says that there is no reply passes as it is.
        """
        from asyncio import CancelledError  # of who does not wait any longer

        return self.guard(way, passes=(*_REFUSALS, CancelledError))

    def _list_of(self, way: str, returned: Any, count: int) -> list[Any]:
        if not isinstance(returned, list | tuple) or len(returned) != count:
            raise PluginError(
                f"{self.component.origin}: {way} must return a list of {count} "
                f"entries, one for each, returned {entries_of(returned)}"
            )
        return list(returned)
