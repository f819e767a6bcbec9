"""Models that do what a test says, and a cache of its own for each test."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from model_servers import Cached

import evalkit
from evalkit_models_base import Reply, Request, asking, text_reply

Answering = Callable[[str], Any]


PROMPT = {"query": "{statement}", "cue": "Label:", "form": "text"}
LABELS = ("positive", "negative", "neutral")


class Sentiments(evalkit.Dataset):
    """Statements of two splits."""

    task = "sentiment"
    splits = ("train", "test")
    default_split = "test"

    def __init__(self, train: Sequence[Any], test: Sequence[Any]) -> None:
        self._rows = {"train": [*train], "test": [*test]}

    def load(self, split: str) -> list[Mapping[str, Any]]:
        return self._rows[split]


class Scripted(Cached):
    """Answers by a function of the prompt, and remembers what it was asked."""

    abilities = ("text", "chat", "logprobs", "continuations")
    concurrency = 4

    def __init__(self, answer: Answering, *, seconds: float = 0.0) -> None:
        self._answer, self._seconds = answer, seconds
        self.asked: list[Request] = []
        self.most, self._now = 0, 0

    def describe(self) -> dict[str, str]:
        return {"name": "scripted"}

    async def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            await asyncio.sleep(self._seconds)
            said = self._answer(text_of(request))
        finally:
            self._now -= 1
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, Reply) else text_reply(said)


def text_of(request: Request) -> str:
    return request.prompt or request.messages[-1].content


@pytest.fixture
def scripted() -> type[Scripted]:
    return Scripted


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(asking, "_FIRST_WAIT", 0.001)
    return tmp_path / "cache"


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    labels = ("positive", "negative", "neutral")
    return [
        {"uid": str(n), "statement": f"text {n}", "label": labels[n % 3]}
        for n in range(12)
    ]
