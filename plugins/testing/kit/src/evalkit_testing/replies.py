"""Asks a model questions in batches of any size, and says what it answered."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from evalkit import TryAgain
from evalkit_models_base import BoundModel, NotAnswered, Reply, Request

Question = Request | Mapping[str, Any]
"""A request, or the input of a model that implements `predict`."""

REFUSALS = (TryAgain, NotAnswered, TimeoutError, ConnectionError)
"""What a model raises where it does not answer."""

_SECONDS = 60.0


class Answer(NamedTuple):
    """What a model said to one question."""

    said: Any
    """What is compared: the answer, or the texts and numbers of a reply."""
    refusal: str | None = None
    """Why there is no answer."""
    reply: Reply | None = None


class Asker:
    """A model that is asked outside of an evaluation, so that nothing is kept.

    Args:
        model: The model.
    """

    def __init__(self, model: BoundModel) -> None:
        self.model = model
        self._runner = asyncio.Runner()

    def answers(
        self,
        questions: Sequence[Question],
        size: int | None = None,
        as_given: bool = False,
    ) -> list[Answer]:
        """Ask questions in their order."""
        most = min(size or self.model.batch_requests, self.model.batch_requests)
        # what a model does to them must not be what it is asked the next time
        questions = questions if as_given else copy.deepcopy([*questions])
        found: list[Answer] = []
        for start in range(0, len(questions), most):
            found += self._batch(questions[start : start + most])
        return found

    def at_once(self, questions: Sequence[Question]) -> list[Answer]:
        """Ask as many questions at the same time as the model takes."""
        most = self.model.concurrency
        questions = copy.deepcopy([*questions])
        if self.model.way == "ask":
            return self._runner.run(self._gathered(questions, most))
        with ThreadPoolExecutor(most) as pool:
            return [
                each[0] for each in pool.map(lambda one: self._batch([one]), questions)
            ]

    async def _gathered(self, questions: Sequence[Any], most: int) -> list[Answer]:
        limit = asyncio.Semaphore(most)

        async def one(question: Request) -> Answer:
            async with limit:
                return await self._asked(question)

        return [*await asyncio.gather(*map(one, questions))]

    def _batch(self, questions: Sequence[Any]) -> list[Answer]:
        if self.model.way == "ask":
            return [self._runner.run(self._asked(each)) for each in questions]
        try:
            return self._said(questions)
        except REFUSALS as error:
            if len(questions) > 1:
                return [self._batch([each])[0] for each in questions]
            return [_refused(error)]

    def _said(self, questions: Sequence[Any]) -> list[Answer]:
        if self.model.way == "predict":
            return [*map(_answer, self.model.predict(questions, _SECONDS))]
        return [*map(_of_reply, self.model.generate(questions))]

    async def _asked(self, request: Request) -> Answer:
        try:
            with self.model.guard_of_asking():
                function = self.model.row_function("ask")
                reply = await asyncio.to_thread(function, request=request)
                if inspect.isawaitable(reply):
                    reply = await asyncio.wait_for(reply, _SECONDS)
        except REFUSALS as error:
            return _refused(error)
        return _of_reply(self.model.checked(reply, request))

    def close(self) -> None:
        """Have the model give up what it holds."""
        if not self.model.has("close"):
            return
        with self.model.guard("close"):
            closed = self.model.row_function("close")()
            if inspect.isawaitable(closed):
                self._runner.run(_awaited(closed))

    def end(self) -> None:
        """Give up the event loop."""
        self._runner.close()


@contextmanager
def asked(model: BoundModel) -> Iterator[Asker]:
    """Ask a model, and have it closed at the end."""
    asker = Asker(model)
    try:
        yield asker
        asker.close()
    finally:
        asker.end()


async def _awaited(what: Any) -> Any:
    return await what


def _refused(error: BaseException) -> Answer:
    text = str(error) or type(error).__name__
    return Answer(text, text)


def _answer(entry: Any) -> Answer:
    if isinstance(entry, REFUSALS):
        return _refused(entry)
    return Answer(copy.deepcopy(entry))


def _of_reply(reply: Reply) -> Answer:
    if reply.error is not None:
        return Answer(reply.error, reply.error, reply)
    said = [(each.text, each.thinking) for each in reply.completions]
    given = [(each.logprob, each.tokens) for each in reply.continuations]
    return Answer(said or given, None, reply)


def shown(question: Question) -> str:
    """Show a question by what is asked, without settings that are usual."""
    if isinstance(question, Request):
        return repr(question.model_dump(exclude_defaults=True))
    return repr(dict(question))
