"""What a model is asked, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from evalkit_models_base.requests import Reply, Request


class Question(NamedTuple):
    """What is asked of one example."""

    uid: str
    request: Request | Mapping[str, Any]
    """A request; or the input itself, of a model that answers inputs."""
    replication: str = ""
    row: Mapping[str, Any] | None = None
    """The input that a request is made of."""


class Answer(NamedTuple):
    """What came of a question."""

    question: Question
    reply: Reply
    key: bytes | None
    """The same for questions that are the same; None where each is asked."""
    is_cached: bool
    """Whether the reply was there, or is asked for another question too."""


class Batch:
    """What is asked in one call, and what came of it so far, by its place."""

    def __init__(
        self, asked: Sequence[Request | Mapping[str, Any]], keys: Sequence[str] | None
    ) -> None:
        self.asked, self.keys = asked, keys
        self.replies: dict[int, Reply] = {}

    @property
    def open(self) -> list[int]:
        """Places of what was not asked, or may be answered now."""
        return [
            n
            for n in range(len(self.asked))
            if n not in self.replies or self.replies[n].is_retriable
        ]


def batches(questions: Iterable[Question], size: int) -> Iterator[list[Question]]:
    """Take questions apart into lists of at most so many."""
    left = iter(questions)
    while batch := list(islice(left, size)):
        yield batch
