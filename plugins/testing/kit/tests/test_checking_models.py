import itertools
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from evalkit import EvalkitError
from evalkit_models_base import (
    Continuation,
    Model,
    NotAnswered,
    Reply,
    Request,
    text_reply,
)
from evalkit_testing import MODEL_LAWS, ModelLawError, check_model

BAD = Request(prompt="bad")


class Words(Model):
    """Keeps all laws: the base of those below, which break one each."""

    abilities = ("text", "chat")
    concurrency = 4

    def describe(self) -> dict[str, Any]:
        return {"name": "words"}

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        return [self.reply(request) for request in requests]

    def reply(self, request: Request) -> Reply:
        text = request.prompt or request.messages[-1].content
        if text == "bad":
            return Reply(error="nothing is known of it")
        return text_reply(text.split()[0])


class Fails(Words):
    def reply(self, request: Request) -> Reply:
        raise RuntimeError("no weights")


class Declines(Words):
    def reply(self, request: Request) -> Reply:
        return Reply(error="busy", is_retriable=True)


class NoLogprobs(Words):
    abilities = ("text", "logprobs")


class Counts(Words):
    count = itertools.count()

    def reply(self, request: Request) -> Reply:
        return text_reply(str(next(self.count)))


class OfInstance(Words):
    instances = itertools.count()

    def __init__(self) -> None:
        self.number = next(self.instances)

    def reply(self, request: Request) -> Reply:
        return text_reply(str(self.number))


class AfterAnother(Words):
    """What it says depends on what it was asked before."""

    before = "?"

    def reply(self, request: Request) -> Reply:
        text = request.prompt or request.messages[-1].content
        before, self.before = self.before, text[:3]
        return text_reply(before)


class OfBatch(Words):
    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        return [text_reply(str(len(requests))) for _ in requests]


class OneAtATime(Words):
    """Is confused by a second request before the first is answered."""

    asked = 0

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked += 1
        time.sleep(0.02)
        several = self.asked > 1
        self.asked -= 1
        if several:
            return [text_reply("what?") for _ in requests]
        return super().generate(requests)


class Writes(Model):
    def predict(self, inputs: Sequence[dict[str, Any]]) -> list[str]:
        for row in inputs:
            row["statement"] = ""
        return ["neutral" for _ in inputs]


class Clock(Words):
    ticks = itertools.count()

    def describe(self) -> dict[str, Any]:
        return {"name": "words", "at": next(self.ticks)}


class Hopeful(Words):
    def reply(self, request: Request) -> Reply:
        return text_reply("yes")


class Raises(Words):
    def reply(self, request: Request) -> Reply:
        if request.prompt == "bad":
            raise KeyError("bad")
        return super().reply(request)


class Tells(Words):
    def reply(self, request: Request) -> Reply:
        if request.prompt == "bad":
            return Reply(error="the key sk-0a1b2c3d4e is wrong")
        return super().reply(request)


class TellsOfItself(Words):
    def describe(self) -> dict[str, Any]:
        return {"name": "words", "key": "sk-0a1b2c3d4e"}


class ClosesOnce(Words):
    thread: Any = None

    def close(self) -> None:
        self.thread.join()


BROKEN: Mapping[str, Sequence[type[Model]]] = {
    "answers": [Fails, Declines],
    "logprobs": [NoLogprobs],
    "repeatable": [Counts],
    "stateless": [OfInstance],
    "order": [AfterAnother],
    "batches": [OfBatch],
    "concurrent": [OneAtATime],
    "inputs": [Writes],
    "described": [Clock],
    "failures": [Hopeful, Raises],
    "secrets": [Tells, TellsOfItself],
    "closed": [ClosesOnce],
}


def test_each_law_is_broken_by_a_model_below() -> None:
    assert [*BROKEN] == [law.name for law in MODEL_LAWS]


@pytest.mark.parametrize(
    ("law", "model"),
    [(law, model) for law, models in BROKEN.items() for model in models],
)
def test_a_model_that_breaks_a_law_is_told_which(law: str, model: Any) -> None:
    with pytest.raises(ModelLawError) as caught:
        check_model(
            model,
            task="sentiment",
            failing=[BAD],
            secrets=["sk-0a1b2c3d4e"],
            laws=[law],
        )
    assert caught.value.law == law
    assert "sk-0a1b2c3d4e" not in str(caught.value)


class Awaits(Model):
    abilities = ("text", "continuations")

    async def ask(self, request: Request) -> Reply:
        if request.prompt == "bad":
            raise NotAnswered("it is bad")
        if request.continuations:
            given = [Continuation(logprob=-1.0, tokens=1)] * 2
            return Reply(continuations=tuple(given))
        return text_reply("yes")

    async def close(self) -> None:
        pass


class Predicts(Model):
    def predict(self, inputs: Sequence[Mapping[str, Any]]) -> list[Any]:
        return [
            NotAnswered("it is bad") if row["statement"] == "bad" else "neutral"
            for row in inputs
        ]


@pytest.mark.parametrize("model", [Words, Words(), Awaits])
def test_a_model_that_keeps_the_laws_passes(model: Any) -> None:
    check_model(model, failing=[BAD])


def test_a_model_of_inputs_is_asked_a_task_or_what_is_given() -> None:
    check_model(Predicts, task="sentiment", failing=[{"uid": "9", "statement": "bad"}])
    check_model(Predicts, inputs=[{"uid": "1", "statement": "fine"}])
    with pytest.raises(EvalkitError, match="give check_model inputs="):
        check_model(Predicts)
    with pytest.raises(EvalkitError, match="must be lists that are not empty"):
        check_model(Predicts, inputs=[])


def test_what_is_random_is_not_compared() -> None:
    check_model(Counts, deterministic=False)


def test_secrets_are_looked_for_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-0a1b2c3d4e")
    with pytest.raises(ModelLawError, match="holds a secret"):
        check_model(TellsOfItself)


class Connected(Words):
    """Answers nothing once it was closed, as its connections are made at first."""

    def __init__(self) -> None:
        self.is_open = True

    def reply(self, request: Request) -> Reply:
        if not self.is_open:
            raise RuntimeError("the connections are closed")
        return super().reply(request)

    def close(self) -> None:
        self.is_open = False


@pytest.mark.parametrize("model", [Connected, Connected()])
def test_a_model_is_closed_when_all_was_asked(model: Any) -> None:
    check_model(model, failing=[BAD])
