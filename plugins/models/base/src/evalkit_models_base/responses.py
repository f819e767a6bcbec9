"""What a model says of inputs, as replies that are kept like others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import ValidationError, model_validator

from evalkit import TryAgain
from evalkit.base.ids import RESPONSE_ID_KEYS, read_id
from evalkit.errors import DataError, PluginError
from evalkit_models_base.bound import BoundModel
from evalkit_models_base.inputs import ModelInputs
from evalkit_models_base.requests import NotAnswered, Reply, Request
from evalkit_models_base.saving import plain


class InputReply(Reply):
    """What a model replies to an input of a task."""

    response: Any = None
    """Fields of the task's `Output`, but for the id."""

    @model_validator(mode="after")
    def _answers_or_says_why_not(self) -> Self:
        return self


class Responses:
    """Makes replies of what `predict` returns."""

    def __init__(self, model: BoundModel, inputs: ModelInputs) -> None:
        self._model, self._inputs = model, inputs

    def replies(
        self, inputs: Sequence[Mapping[str, Any]], entries: Sequence[Any]
    ) -> list[Reply]:
        """Return a reply for each entry."""
        uids = [given["uid"] for given in inputs]
        entries = [
            entry.model_dump(mode="json") if hasattr(entry, "model_dump") else entry
            for entry in entries
        ]
        by_id = dict(zip(map(str, map(_own_id, entries)), entries, strict=True))
        # the same input may be asked several times, which only the order tells apart
        if len(by_id) == len(entries) and by_id.keys() == {*uids}:
            entries = [by_id[uid] for uid in uids]
        return [self._reply(*pair) for pair in zip(uids, entries, strict=True)]

    def _reply(self, uid: Any, entry: Any) -> Reply:
        if isinstance(entry, NotAnswered):
            return Reply(error=entry.reason)
        if isinstance(entry, TryAgain):
            after = entry.after
            return Reply(error=entry.reason, is_retriable=True, retry_after=after)
        return InputReply(response=self._response(uid, entry))

    def _response(self, uid: Any, entry: Any) -> dict[str, Any]:
        if not isinstance(entry, Mapping):
            return {self._answer_field(): entry}
        own = _own_id(entry)
        if own not in (None, uid):
            wrong = repr(own) if isinstance(own, str) else f"with a wrong id ({own})"
            origin = self._model.component.origin
            raise PluginError(f"{origin}: predict answered {wrong} in place of {uid!r}")
        return {k: value for k, value in entry.items() if k not in RESPONSE_ID_KEYS}

    def _answer_field(self) -> str:
        if self._inputs.answer_field is None:
            raise DataError(
                f"{self._inputs.task} has a converter of its own, so that nobody knows "
                "where an answer alone would stand"
            )
        return self._inputs.answer_field


def _own_id(entry: Any) -> Any:
    """Return the id that an entry has, or its violation; None where it has none."""
    if not isinstance(entry, Mapping) or entry.keys().isdisjoint(RESPONSE_ID_KEYS):
        return None
    return read_id(entry, RESPONSE_ID_KEYS)


def as_text(reply: Reply) -> str:
    """Return a reply as it is kept."""
    if isinstance(reply, InputReply):
        return json.dumps({"response": reply.response}, default=plain)
    return reply.model_dump_json(exclude_defaults=True)


def answers_all(reply: Reply, asked: Request | Mapping[str, Any]) -> bool:
    """Tell whether a reply that was kept is one to what is asked."""
    if reply.error is not None:
        return False
    if not isinstance(asked, Request):
        return isinstance(reply, InputReply)
    wanted = 0 if asked.continuations else asked.completions
    return _counts(reply) == (wanted, len(asked.continuations))


def _counts(reply: Reply) -> tuple[int, int]:
    return len(reply.completions), len(reply.continuations)


def is_alike(kept: Reply, reply: Reply) -> bool:
    """Tell whether a reply that was kept may stand for one that came now."""
    is_same = type(kept) is type(reply) and _counts(kept) == _counts(reply)
    return kept.error is None and is_same


def from_text(text: str) -> Reply | None:
    """Return a reply that was kept; None for one that was written otherwise."""
    try:
        if text.startswith('{"response":'):
            return InputReply(response=json.loads(text)["response"])
        return Reply.model_validate_json(text)
    except (ValidationError, ValueError):
        return None
