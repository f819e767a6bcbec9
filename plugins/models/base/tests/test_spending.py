"""Prices are the user's, limits are kept, and what was paid for is not lost."""

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from model_servers import Cached

import evalkit
from evalkit_models_base import (
    Asked,
    Model,
    NotAnswered,
    Reply,
    Request,
    Usage,
    asking,
    predict,
    text_reply,
)
from evalkit_models_base.limits import AskingEnded
from evalkit_models_base.planning import plan_requests

Rows = list[dict[str, Any]]

PROMPT = {"query": "{statement}"}
USAGE = Usage(input_tokens=800, output_tokens=200)
PAID = text_reply("neutral", usage=USAGE)
PRICE = {"input": 1, "output": 5}
"""A reply of `PAID` costs 0.0018."""


def ask(rows: Rows, model: Any, **limits: Any) -> Any:
    asked = Asked(**limits)
    return predict(data=rows, task="sentiment", model=model, prompt=PROMPT, asked=asked)


@pytest.mark.parametrize(
    "given",
    [
        PRICE,
        "input=1,output=5",
        {"scripted": PRICE, "other": {"input": 9, "output": 9}},
        Path("prices.yaml"),
        "prices.yaml",
    ],
)
def test_what_it_costs_is_told(
    rows: Rows,
    scripted: Any,
    given: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prices.yaml").write_text("scripted: {input: 1, output: 5, currency: EUR}\n")
    model, told = scripted(lambda text: PAID), []
    found = predict(
        data=rows,
        task="sentiment",
        model=model,
        prompt=PROMPT,
        asked=Asked(price=given),
        progress=lambda text, share: told.append(text),
    )
    currency = "EUR" if "prices" in str(given) else "USD"
    assert found.usage["cost"] == pytest.approx(12 * 0.0018)
    assert found.usage["currency"] == currency
    assert told[-1].endswith(f"12,000 tokens, 0.0216 {currency}")
    found.save("paid.jsonl")
    job = json.loads(Path("paid.job.json").read_text())
    assert job["cost"] == pytest.approx(0.0216)
    # no price is in the run's id, and what was in the cache is told alike
    again = ask(rows, model, price={"input": 2, "output": 10})
    assert again.from_cache == 12
    assert again.usage["cost"] == pytest.approx(2 * 0.0216)
    assert again.system == found.system
    assert ask(rows, model).usage["cost"] is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("input=1", "price: output is missing"),
        ("input=1,output=x", "price: output: Input should be a valid number"),
        ("input=1,output=-1", "price: output: Input should be greater"),
        ("input=1,output=inf", "price: output: Input should be a finite"),
        ("input=1,output=2,currency=dollars", "price: currency: String should match"),
        ("input=1,output=2,tax=3", "there is no 'tax'; there is input, output, cached"),
        ({}, "a price is input=…,output=…"),
        ({"scripted": {"input": 1}}, "price: scripted: output is missing"),
        ("none.yaml", "none.yaml"),
    ],
)
def test_what_is_no_price_is_refused(
    rows: Rows, scripted: Any, given: Any, message: str
) -> None:
    model = scripted(lambda text: PAID)
    with pytest.raises(evalkit.EvalkitError, match=message):
        ask(rows, model, price=given)
    assert model.asked == []


def test_a_limit_of_cost_is_kept(rows: Rows, scripted: Any) -> None:
    model = scripted(lambda text: PAID)
    limits = {"price": PRICE, "cost_limit": 0.005, "concurrency": 1}
    with pytest.raises(AskingEnded, match=r"0\.0054 USD were spent, and the limit"):
        ask(rows, model, **limits)
    assert len(model.asked) == 3
    with pytest.raises(evalkit.EvalkitError, match="--cost-limit needs what the tok"):
        ask(rows, model, cost_limit=1)
    with pytest.raises(evalkit.EvalkitError, match="--cost-limit needs what the tok"):
        ask(rows, model, cost_limit=1, price={"other": PRICE})
    (notice,) = ask(rows, model, price={"other": PRICE}).notices
    assert notice == "the prices say nothing of scripted, so that its cost is not known"


@pytest.mark.parametrize("limit", [{"token_limit": 5}, {"cost_limit": 5}])
def test_a_limit_is_refused_that_nobody_can_count(
    rows: Rows, scripted: Any, limit: dict[str, int]
) -> None:
    model = scripted(lambda text: "neutral")
    with pytest.raises(AskingEnded, match=r"does not say how many tokens .*-limit can"):
        ask(rows, model, concurrency=1, price=PRICE, **limit)
    assert len(model.asked) == 1
    (notice,) = ask(rows, model, price=PRICE).notices
    assert notice == "scripted does not say all tokens, so that its cost is not known"


class Slow(Cached):
    """Answers the first one at once, the others later."""

    abilities = ("text",)
    concurrency = 4

    def __init__(self, first: Reply | Exception) -> None:
        self.begun, self.ended, self._first = 0, 0, first

    def describe(self) -> dict[str, str]:
        return {"name": "slow"}

    async def ask(self, request: Request) -> Reply:
        self.begun += 1
        if request.prompt == "text 0":
            await asyncio.sleep(0.01)
            if isinstance(self._first, Exception):
                raise self._first
            return self._first
        await asyncio.sleep(0.1)
        self.ended += 1
        return PAID


@pytest.mark.parametrize(
    ("first", "limits", "error"),
    [
        (PAID, {"token_limit": 900}, "1,000 tokens were taken"),
        (PAID, {"cost_limit": 0.001, "price": PRICE}, "USD were spent"),
        (Reply(error="no"), {"max_errors": 0}, "1 request failed"),
        (Reply(error="no key", is_fatal=True), {}, "answers nothing: no key"),
        (ValueError("a bug"), {}, "ask failed with ValueError: a bug"),
    ],
)
def test_what_is_under_way_when_asking_ends_is_waited_for_and_kept(
    rows: Rows, first: Any, limits: dict[str, Any], error: str
) -> None:
    model = Slow(first)
    with pytest.raises(evalkit.EvalkitError, match=error):
        ask(rows, model, **limits)
    assert (model.begun, model.ended) == (4, 3)
    is_kept = first is PAID
    again = Slow(PAID)
    assert ask(rows, again).from_cache == 3 + is_kept
    assert again.begun == 9 - is_kept


def test_who_waits_to_ask_again_does_not_when_asking_ends(
    rows: Rows, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_FIRST_WAIT", 60.0)

    def answer(text: str) -> Any:
        is_end = text == "text 1"
        fatal = Reply(error="wrong key", is_fatal=True)
        return fatal if is_end else evalkit.TryAgain("busy", 300)

    started = time.monotonic()
    with pytest.raises(AskingEnded, match="wrong key"):
        ask(rows, scripted(answer, seconds=0.01))
    refused = scripted(lambda text: NotAnswered("no"))
    with pytest.raises(AskingEnded, match="2 requests failed"):
        ask(rows, refused, requests_per_minute=1000, max_errors=1)
    assert time.monotonic() - started < 5


class Stuck(Model):
    """Answers in a thread, which nothing stops."""

    abilities = ("text",)

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self.asked: list[str] = []
        self.now, self.most = 0, 0
        self.released = threading.Event()
        self._lock = threading.Lock()

    def describe(self) -> dict[str, str]:
        return {"name": "stuck"}

    def _answer(self, request: Request) -> Reply:
        text = request.prompt or ""
        with self._lock:
            self.asked.append(text)
            self.now += 1
            self.most = max(self.most, self.now)
        self.released.wait(self._seconds.get(text, 0.0))
        with self._lock:
            self.now -= 1
        return text_reply("neutral")


class StuckAsking(Stuck):
    concurrency = 2

    def ask(self, request: Request) -> Reply:
        return self._answer(request)


class StuckGenerating(Stuck):
    batch_requests = 2

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._answer(each) for each in requests]


@pytest.mark.parametrize("kind", [StuckAsking, StuckGenerating])
def test_what_runs_on_this_machine_is_waited_for(rows: Rows, kind: type[Stuck]) -> None:
    model = kind({"text 3": 0.3})
    found = ask(rows, model, seconds=0.01)
    assert found.failed == 0
    assert sorted(model.asked) == sorted(row["statement"] for row in rows)
    assert model.most == model.concurrency


def test_a_plan_says_what_it_may_cost(rows: Rows, scripted: Any) -> None:
    given: dict[str, Any] = {"data": rows, "task": "sentiment", "prompt": PROMPT}
    model = scripted(str.upper)
    generate = {"max_tokens": 20, "completions": 2}
    found = plan_requests(None, model, **given, generate=generate, price=PRICE)
    # texts of 6 and 7 characters
    assert (found["requests"], found["input_tokens_about"]) == (12, 19)
    assert found["output_tokens_most"] == 12 * 40
    assert found["input_cost_about"] == pytest.approx(19e-6)
    assert found["output_cost_most"] == pytest.approx(12 * 40 * 5e-6)
    assert found["currency"] == "USD"
    without = plan_requests(None, model, **given)
    assert without["output_tokens_most"] is None
    assert "currency" not in without
    assert model.asked == []
