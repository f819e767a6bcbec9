"""Models are asked within limits, again where that may help, and nothing twice."""

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from model_servers import Cached

import evalkit
from evalkit.places import cache_folder
from evalkit_models_base import (
    Asked,
    Continuation,
    Model,
    NotAnswered,
    Reply,
    Request,
    Usage,
    predict,
    text_reply,
)
from evalkit_models_base.limits import AskingEnded

Rows = list[dict[str, Any]]

PROMPT = {"query": "{statement}"}


def ask(rows: Rows, model: Any, **options: Any) -> Any:
    asked = Asked(**options)
    return predict(data=rows, task="sentiment", model=model, prompt=PROMPT, asked=asked)


def test_answers_are_in_the_order_of_the_data(rows: Rows, scripted: Any) -> None:
    class Unsteady(scripted):  # type: ignore[misc]
        async def ask(self, request: Request) -> Reply:
            number = int(request.messages[-1].content.split()[1])
            await asyncio.sleep(0.02 if number % 4 == 0 else 0)
            return text_reply(f"answer {number}")

    found = ask(rows, Unsteady(str))
    assert found.rows == [{"id": str(n), "label": f"answer {n}"} for n in range(12)]


def test_no_more_are_under_way_than_the_model_or_the_user_says(
    rows: Rows, scripted: Any
) -> None:
    model = scripted(str.upper, seconds=0.01)
    ask(rows, model)
    assert model.most == 4
    model = scripted(str.upper, seconds=0.01)
    ask(rows, model, concurrency=2, is_cached=False)
    assert model.most == 2


def test_nothing_is_asked_twice(rows: Rows, scripted: Any) -> None:
    first, again = scripted(str.upper), scripted(str.upper)
    before = ask(rows, first)
    after = ask(rows, again)
    assert (len(first.asked), len(again.asked)) == (12, 0)
    assert (before.from_cache, after.from_cache) == (0, 12)
    assert before.rows == after.rows
    assert before.usage.pop("seconds") > 0
    assert after.usage.pop("seconds") is None  # of some of it only
    assert before.usage == after.usage
    assert before.system == after.system
    other = predict(
        data=rows, task="sentiment", model=again, prompt={"query": "So: {statement}"}
    )
    assert (other.from_cache, len(again.asked)) == (0, 12)
    ask(rows, again, is_cached=False)
    assert len(again.asked) == 24


def test_what_may_be_answered_later_is_asked_again(rows: Rows, scripted: Any) -> None:
    times: dict[str, int] = {}

    def answer(text: str) -> Any:
        times[text] = times.get(text, 0) + 1
        failures: list[Any] = [
            evalkit.TryAgain("throttled", 0.001),
            Reply(error="overloaded", is_retriable=True),
            TimeoutError(),
            ConnectionResetError("cut"),
        ]
        return failures[times[text] - 1] if times[text] <= 4 else "neutral"

    found = ask(rows, scripted(answer))
    assert {row["label"] for row in found.rows} == {"neutral"}
    assert set(times.values()) == {5}


def test_what_fails_for_good_is_a_row_with_its_error(rows: Rows, scripted: Any) -> None:
    def answer(text: str) -> Any:
        return {
            "text 1": NotAnswered("refused"),
            "text 2": evalkit.TryAgain("busy"),
            "text 3": Reply(error="too long"),
        }.get(text, "neutral")

    model = scripted(answer)
    found = ask(rows, model, max_errors=3, retries=2)
    assert found.rows[1:4] == [
        {"id": "1", "error": "refused"},
        {"id": "2", "error": "busy"},
        {"id": "3", "error": "too long"},
    ]
    assert found.errors == {"refused": 1, "busy": 1, "too long": 1}
    assert len(model.asked) == 12 + 2
    result = evalkit.evaluate(
        data=rows, task="sentiment", predictions=found.rows, on_invalid="wrong"
    )
    assert result.counts["invalid"] == 3
    # an error is not kept: it is asked for again, and nothing else is
    later = scripted(lambda text: "neutral")
    assert ask(rows, later).failed == 0
    assert len(later.asked) == 3


def test_asking_ends_when_too_many_fail(rows: Rows, scripted: Any) -> None:
    model = scripted(lambda text: NotAnswered("no"))
    with pytest.raises(AskingEnded, match=r"2 requests failed, and 1 may .*: no"):
        ask(rows, model, max_errors=1, concurrency=1)
    assert len(model.asked) == 2
    with pytest.raises(AskingEnded, match="2 requests failed, and 1 may"):
        ask(rows, scripted(lambda text: NotAnswered("no")))


def test_a_fatal_reply_ends_the_work_and_the_same_command_goes_on(
    rows: Rows, scripted: Any
) -> None:
    def answer(text: str) -> Any:
        is_end = text == "text 7"
        return Reply(error="wrong key", is_fatal=True) if is_end else "neutral"

    first = scripted(answer)
    with pytest.raises(AskingEnded, match=r"models/.* answers nothing: wrong key"):
        ask(rows, first, concurrency=1)
    assert len(first.asked) == 8
    then = scripted(lambda text: "neutral")
    assert ask(rows, then).from_cache == 7
    assert len(then.asked) == 5


def test_a_failure_of_the_model_is_named(rows: Rows, scripted: Any) -> None:
    with pytest.raises(evalkit.PluginError, match="ask failed with ValueError: a bug"):
        ask(rows, scripted(lambda text: ValueError("a bug")))
    with pytest.raises(evalkit.PluginError, match="for 0 continuations, gave 1"):
        ask(rows, scripted(lambda text: Reply(continuations=(LIKELY,))))


LIKELY = Continuation(logprob=-0.5, tokens=1)


def test_a_reply_is_waited_for_no_longer_than_is_said(
    rows: Rows, scripted: Any
) -> None:
    model = scripted(str.upper, seconds=30)
    found = ask(rows[:2], model, seconds=0.02, retries=1, max_errors=2)
    assert found.errors == {"no reply within 0.02 s": 2}
    assert len(model.asked) == 4


def test_a_server_says_how_long_to_wait(rows: Rows, scripted: Any) -> None:
    times: list[float] = []

    def answer(text: str) -> Any:
        times.append(time.monotonic())
        return evalkit.TryAgain("busy", 0.2) if len(times) == 1 else "neutral"

    ask(rows[:1], scripted(answer))
    assert times[1] - times[0] >= 0.19


def test_tokens_may_have_a_limit(rows: Rows, scripted: Any) -> None:
    usage = Usage(input_tokens=8, output_tokens=2)
    model = scripted(lambda text: text_reply("neutral", usage=usage))
    with pytest.raises(AskingEnded, match="30 tokens were taken, and the limit is 25"):
        ask(rows, model, token_limit=25, concurrency=1)
    assert len(model.asked) == 3


def test_usage_is_added_up(rows: Rows, scripted: Any) -> None:
    usage = Usage(input_tokens=8, output_tokens=2)
    reply = text_reply("neutral", usage=usage, seconds=0.5)
    found = ask(rows, scripted(lambda text: reply))
    assert 0 < found.usage.pop("seconds") < 6  # of the clock
    assert found.usage == {
        "examples": 12,
        "input_tokens": 96,
        "output_tokens": 24,
        "cost": None,
    }


class Batching(Cached):
    """Answers in batches, in the thread that it is called in."""

    abilities = ("text",)
    batch_requests = 5

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.threads: set[str] = set()
        self.failures: list[Any] = []

    def describe(self) -> dict[str, str]:
        return {"name": "batching"}

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.batches.append(len(requests))
        self.threads.add(threading.current_thread().name)
        if self.failures:
            return list(self.failures.pop(0))
        return [text_reply(f"<{each.prompt}>") for each in requests]


def test_batches_are_as_large_as_the_model_takes_them(rows: Rows) -> None:
    model = Batching()
    found = ask(rows, model)
    assert model.batches == [5, 5, 2]
    assert found.rows[11] == {"id": "11", "label": "<text 11>"}
    assert model.threads == {"evalkit-ask"}
    model.batches.clear()
    more = [*rows[:3], {"uid": "x", "statement": "new", "label": "neutral"}, *rows[3:]]
    assert ask(more, model).from_cache == 12
    assert model.batches == [1]


def test_of_a_batch_only_what_failed_is_asked_again(rows: Rows) -> None:
    model = Batching()
    late = Reply(error="busy", is_retriable=True)
    done = text_reply("neutral")
    model.failures = [[late, done, late, done, done]]
    found = ask(rows[:5], model)
    assert model.batches == [5, 2]
    assert [row["label"] for row in found.rows] == [
        *("<text 0>", "neutral", "<text 2>", "neutral", "neutral")
    ]


def test_a_model_is_closed_that_is_not_asked(rows: Rows) -> None:
    class Closing(Batching):
        closed = 0

        def close(self) -> None:
            self.closed += 1

    model = Closing()
    with pytest.raises(evalkit.EvalkitError, match="--cost-limit needs"):
        ask(rows, model, cost_limit=1)
    assert (model.closed, model.batches) == (1, [])
    ask(rows, model)
    assert model.closed == 2


def test_a_cache_that_is_broken_is_named(
    rows: Rows, scripted: Any, cache: Path
) -> None:
    ask(rows, scripted(str.upper))
    file = cache / "replies.sqlite"
    connection = sqlite3.connect(file)
    connection.execute("UPDATE replies SET reply = '{\"completions\": 3}'")
    connection.commit()
    connection.close()
    model = scripted(str.upper)
    assert ask(rows, model).from_cache == 0  # what cannot be read is asked for anew
    assert len(model.asked) == 12
    for left in cache.glob("replies.sqlite*"):
        left.unlink()
    file.write_bytes(b"no database" * 1000)
    with pytest.raises(evalkit.StorageError, match=r"replies\.sqlite: .*--no-cache"):
        ask(rows, scripted(str.upper))


def test_no_reply_is_lost_or_mixed_between_processes_sharing_a_cache(
    rows: Rows, scripted: Any
) -> None:
    models = [scripted(str.upper, seconds=0.001) for _ in range(4)]
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda m=model: found.append(ask(rows, m).rows))
        for model in models
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(each == found[0] for each in found)
    assert ask(rows, scripted(str.upper)).from_cache == 12


def test_what_is_kept_names_no_secret(
    rows: Rows, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Secretive(Batching):
        class Parameters(evalkit.Parameters):
            key_variable: str = "MY_KEY"

        def __init__(self, parameters: Any) -> None:
            super().__init__()

    monkeypatch.setenv("MY_KEY", "SECRET-VALUE")
    found = ask(rows, Secretive)
    assert "SECRET-VALUE" not in json.dumps(found.system)
    assert b"SECRET-VALUE" not in (cache / "replies.sqlite").read_bytes()


@pytest.mark.parametrize(
    "wrong",
    [
        {"concurrency": 0},
        {"retries": -1},
        {"seconds": 0},
        {"max_errors": -1},
        {"token_limit": 0},
        {"cost_limit": 0},
        {"requests_per_minute": 0},
    ],
)
def test_limits_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(evalkit.EvalkitError, match=f"{name} must be"):
        Asked(**wrong)


def test_a_server_is_not_waited_for_all_day(rows: Rows, scripted: Any) -> None:
    model = scripted(lambda text: evalkit.TryAgain("busy", 86_400))
    found = ask(rows[:1], model, max_errors=1)
    assert found.errors == {"busy; the server wants to be asked again in 86,400 s": 1}
    assert len(model.asked) == 1


def test_offline_the_cache_answers(
    rows: Rows, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Near(scripted):  # type: ignore[misc]
        uses_network = False

    before = ask(rows[:3], scripted(str.upper))
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    far = scripted(str.upper)
    assert ask(rows[:3], far).rows == before.rows
    with pytest.raises(AskingEnded, match="cannot be asked, as EVALKIT_OFFLINE"):
        ask(rows[:4], far)
    assert far.asked == []
    assert ask(rows[:4], Near(str.lower)).failed == 0


def test_of_examples_that_say_the_same_the_first_reply_stands(
    rows: Rows, scripted: Any
) -> None:
    times = iter(range(100))
    alike = [{**row, "statement": "the same"} for row in rows[:4]]
    model = scripted(lambda text: f"answer {next(times)}", seconds=0.01)
    usage = Usage(input_tokens=8, output_tokens=2)
    model._answer = lambda text: text_reply(f"{next(times)}", usage=usage)
    found = ask(alike, model)
    assert len(model.asked) == 1
    assert len({row["label"] for row in found.rows}) == 1
    assert (found.from_cache, found.usage["input_tokens"]) == (0, 8)
    assert found.usage["seconds"] is None
    (notice,) = found.notices
    assert notice.startswith("3 requests are the same as others in this command")
    anew = scripted(lambda text: f"answer {next(times)}")
    assert len({row["label"] for row in ask(alike, anew, is_cached=False).rows}) == 4
    again = ask(alike, model)
    assert (again.rows, again.from_cache) == (found.rows, 4)


def test_requests_a_minute_have_a_limit_that_those_sent_again_keep(
    rows: Rows, scripted: Any
) -> None:
    times: list[float] = []

    def answer(text: str) -> Any:
        times.append(time.monotonic())
        return evalkit.TryAgain("busy", 0) if len(times) < 3 else "neutral"

    ask(rows[:2], scripted(answer), requests_per_minute=1200)
    assert len(times) == 4
    assert times[3] - times[0] >= 0.14


def test_an_interrupt_ends_asking_where_a_loop_runs_already(
    rows: Rows, scripted: Any
) -> None:
    def answer(text: str) -> str:
        if text == "text 3":
            os.kill(os.getpid(), signal.SIGINT)
        return "neutral"

    async def within() -> Any:
        return ask(rows, model, is_cached=False, concurrency=1)

    model = scripted(answer, seconds=0.1)
    loop = asyncio.new_event_loop()  # `asyncio.run` would handle the signal
    # a shell has what runs in its background ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(within())
    finally:
        signal.signal(signal.SIGINT, before)
        loop.close()
    assert len(model.asked) <= 6
    assert "evalkit-ask" not in {each.name for each in threading.enumerate()}


class Saying(Model):
    """Says what it was made with, and nothing of that in advance."""

    abilities = ("text", "chat")
    uses_network = True

    def __init__(self, text: str) -> None:
        self._text = text

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        return [text_reply(self._text) for _ in requests]


def test_no_model_gets_the_replies_of_another_of_its_class(rows: Rows) -> None:
    one, other = ask(rows[:1], Saying("neutral")), ask(rows[:1], Saying("positive"))
    assert [one.rows[0]["label"], other.rows[0]["label"]] == ["neutral", "positive"]
    (notice,) = other.notices
    assert "models/saying does not describe its requests" in notice


@pytest.mark.parametrize(
    "kept",
    [
        {"continuations": [{"logprob": -1, "tokens": 1}]},
        {"completions": [{"text": "a"}, {"text": "b"}]},
        {"completions": [{"text": "a"}], "error": "none"},
        {"response": {"label": "a"}},
        {},
    ],
)
def test_a_kept_reply_to_something_else_is_asked_anew(
    rows: Rows, scripted: Any, tmp_path: Path, kept: Any
) -> None:
    before = ask(rows, scripted(str.upper))
    (file,) = cache_folder().rglob("*.sqlite")
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE replies SET reply = ?", (json.dumps(kept),))
    model = scripted(str.upper)
    after = ask(rows, model)
    assert (len(model.asked), after.rows) == (12, before.rows)


def test_a_model_that_cancels_is_a_failure_of_its_own(
    rows: Rows, scripted: Any
) -> None:
    class Cancelling(scripted):  # type: ignore[misc]
        async def ask(self, request: Request) -> Reply:
            raise asyncio.CancelledError

    with pytest.raises(evalkit.PluginError, match="raised CancelledError"):
        ask(rows, Cancelling(str))
