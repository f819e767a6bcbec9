"""Requests of who reads the replies itself."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from model_servers import Cached

from evalkit.errors import PluginError
from evalkit_models_base import Asked, Model, Reply, Request, Session, ask, text_reply


class Counting(Cached):
    """Says how often it was asked, and fails where it is told to."""

    abilities = ("text",)
    batch_requests = 1

    def __init__(self) -> None:
        self.asked: list[str] = []

    def describe(self) -> dict[str, str]:
        return {"name": "counting"}

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked += [str(request.prompt) for request in requests]
        return [
            Reply(error="no key", is_fatal=True)
            if request.prompt == "fatal"
            else Reply(error="too long")
            if request.prompt == "long"
            else text_reply(f"{request.prompt}!")
            for request in requests
        ]


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path))


def requests(*prompts: str) -> list[Request]:
    return [Request(prompt=prompt) for prompt in prompts]


def said(found: Sequence[Reply]) -> list[str]:
    return [
        reply.completions[0].text if reply.error is None else str(reply.error)
        for reply in found
    ]


def test_replies_are_in_order_and_kept() -> None:
    model = Counting()
    first = ask(model, requests("a", "b", "a"))
    assert said(first.replies) == ["a!", "b!", "a!"]
    assert first.cached.count(True) == 1
    told: list[int] = []
    second = ask(model, requests("b", "c", "a"), progress=told.append)
    assert said(second.replies) == ["b!", "c!", "a!"]
    assert second.cached == (True, False, True)
    assert told == [1, 2, 3]
    assert sorted(model.asked) == ["a", "b", "c"]
    ask(model, requests("a"), replication="2")
    ask(model, requests("a"), asked=Asked(is_cached=False))
    assert len(model.asked) == 5
    assert ask(model, []).replies == ()


def test_offline_the_cache_answers_and_nothing_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Counting()
    ask(model, requests("a"))
    monkeypatch.setattr(Counting, "uses_network", True)
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    found = ask(model, requests("b", "a"))
    assert model.asked == ["a"]
    assert found.cached == (False, True)
    assert "cannot be asked, as EVALKIT_OFFLINE forbids" in str(found.replies[0].error)


def test_a_model_that_answers_inputs_is_refused() -> None:
    with pytest.raises(PluginError, match="answers inputs of tasks, and no requests"):
        ask("constant:answer=x", requests("a"))


def test_what_failed_by_itself_keeps_its_reason_where_too_much_fails() -> None:
    class Failing(Model):
        """Answers every other request."""

        abilities = ("text",)
        batch_requests = 4

        def describe(self) -> dict[str, str]:
            return {"name": "failing"}

        def generate(self, requests: Any) -> list[Reply]:
            return [
                Reply(error=f"no to {each.prompt}")
                if int(str(each.prompt)) % 2
                else text_reply("yes")
                for each in requests
            ]

    requests = [Request(prompt=str(number)) for number in range(12)]
    for is_cached in (False, True):
        asked = Asked(max_errors=1, is_cached=is_cached, concurrency=1)
        found = ask(Failing(), requests, asked=asked)
        errors = [reply.error for reply in found.replies]
        assert errors[:4] == [None, "no to 1", None, "no to 3"]
        assert "2 requests failed, and 1 may" in str(found.ended)
        assert found.ended == errors[-1]


class Closing(Counting):
    """Tells when it is closed."""

    closed = 0

    async def close(self) -> None:
        type(self).closed += 1


def test_a_session_asks_within_limits_that_hold_for_all() -> None:
    model = Closing()
    with Session(model, asked=Asked(max_errors=1)) as session:
        assert said(session.ask(requests("a")).replies) == ["a!"]
        assert session.ask(requests("long", "b")).ended is None
        assert Closing.closed == 0
        ended = session.ask(requests("long", "c"), replication="2").ended
        assert "2 requests failed, and 1 may" in str(ended)
        assert session.ask(requests("a", "d")).ended == ended  # but for what is known
    assert Closing.closed == 1


def test_a_session_where_a_loop_runs_already() -> None:
    async def whole() -> list[str]:
        with Session(Counting()) as session:
            return [
                *said(session.ask(requests("x")).replies),
                *said(session.ask(requests("y")).replies),
            ]

    assert asyncio.run(whole()) == ["x!", "y!"]
