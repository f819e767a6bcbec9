"""What a model is asked, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit_models_base.requests import Reply, Request

Body = Request | Mapping[str, Any]
"""A request, or an input of a task."""


class Sent(NamedTuple):
    """How a request was made; see `request_columns`."""

    replication: str | None = None
    number: int = 0
    calibration: bool = False
    options: tuple[int, ...] = ()
    shots: tuple[str, ...] = ()
    shots_left_out: int = 0
    cut_field: str | None = None
    cut_characters: int = 0


class Question(NamedTuple):
    """What is asked of one example."""

    uid: str
    request: Body
    replication: str = ""
    """Tells apart requests that are sent anew although they are the same."""
    row: Mapping[str, Any] | None = None
    """The input that a request is made of."""
    sent: Sent = Sent()


class Answer(NamedTuple):
    """What came of a question."""

    question: Question
    reply: Reply
    key: bytes | None
    """The same for questions that are the same; None if each is sent."""
    is_cached: bool
    """Whether the reply was there, or answers an earlier question too."""
