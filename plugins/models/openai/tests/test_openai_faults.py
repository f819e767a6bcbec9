"""Every row is accounted for, whatever the server does."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai  # noqa: F401 - so that no request waits for it
import pytest
from model_servers import Answer, Got, ModelServer, http_date, serving

import evalkit_models_base.asking
from evalkit.errors import EvalkitError, PluginContractError
from evalkit_models_base import Asked, predict

KEY = "sk-a-ReCoGnIsAbLe-key-0123456789"
WITH_KEY = "api_key_variable=OPENAI_API_KEY"


def chat(text: str | None, **more: Any) -> dict[str, Any]:
    """Return the body of an answer to a chat."""
    message = {"role": "assistant", "content": text, **more}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def failing(status: int, message: str = "broken", **more: Any) -> Answer:
    """Return an error as servers of the protocol write it."""
    headers = more.pop("headers", {})
    return Answer({"error": {"message": message, **more}}, status, headers)


GOOD = Answer(chat("positive"))

ONCE: dict[str, Answer] = {
    "status 500": failing(500),
    "status 503": Answer(b"<html>Unavailable</html>", 503),
    "throttled": failing(429, headers={"Retry-After": "0.01"}),
    "throttled until": failing(429, headers={"Retry-After": http_date(-5)}),
    "throttled in ms": failing(429, headers={"Retry-After-Ms": "2"}),
    "throttled oddly": failing(429, headers={"Retry-After": "soon"}),
    "cut": Answer(chat("positive"), is_cut=True),
    "no JSON": Answer(b'{"choices": ['),
    "empty": Answer(b""),
    "half a character": Answer(b'{"choices": [{"message": {"content": "\\ud800"}}]}'),
    "too deep": Answer(b"[" * 100_000),
    "no gzip": Answer(chat("positive"), headers={"content-encoding": "gzip"}),
    "a page": Answer(b"<html>Welcome</html>"),
    "a list": Answer([]),
    "no choices": Answer({"choices": []}),
    "choices of a kind": Answer({"choices": "none"}),
    "no message": Answer({"choices": [{"index": 0}]}),
    "a number": Answer({"choices": [{"message": {"content": 3}}]}),
    "error in a reply": Answer({"error": {"message": "overloaded", "code": 502}}),
    "never": Answer(chat("positive"), after=None),
    "slow": Answer(chat("positive"), after=0.1),
}
"""Faults that pass when the same is asked again."""

ALWAYS: dict[str, tuple[Answer, str]] = {
    "broken": (failing(500), "the server says: broken (status 500)"),
    "silent": (Answer(after=None), "no reply within 1 s"),
    "filtered": (
        failing(400, "The prompt was filtered", code="content_filter"),
        "the server refuses the request: The prompt was filtered (status 400)",
    ),
    "too long": (
        failing(400, "maximum context length is 8", code="context_length_exceeded"),
        "the server refuses the request: maximum context length is 8 (status 400)",
    ),
    "limit too large": (
        failing(400, "max_tokens is too large here", param="max_tokens"),
        "the server refuses the request: max_tokens is too large here (status 400)",
    ),
    "in its own words": (
        Answer({"detail": "Not this one"}, 422),
        "the server refuses the request: Not this one (status 422)",
    ),
    "held back": (
        Answer(
            {
                "choices": [
                    {"message": {"content": ""}, "finish_reason": "content_filter"}
                ]
            }
        ),
        "the server's content filter held the answer back",
    ),
    "all thinking": (
        Answer(
            {
                "choices": [
                    {
                        "message": {"content": None, "reasoning": "Well"},
                        "finish_reason": "length",
                    }
                ]
            }
        ),
        "the limit of tokens was reached before the answer began, as thinking counts "
        "too: raise max_tokens",
    ),
}
"""Faults that stay."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(evalkit_models_base.asking, "_FIRST_WAIT", 0.001)
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[Got], Answer]], ModelServer]]:
    """Start servers that stop with the test."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield lambda answers: stack.enter_context(serving(answers))


def statement(got: Got) -> str:
    """Return what was asked about."""
    return str(got.body["messages"][-1]["content"])


def ask_about(url: str, statements: list[str], **more: Any) -> Any:
    """Ask about statements."""
    data = [
        {"uid": str(n), "statement": text, "label": "positive"}
        for n, text in enumerate(statements)
    ]
    asked = {"retries": 3, "seconds": 1.0, "max_errors": 100, **more.pop("asked", {})}
    return predict(
        data=data,
        task="sentiment",
        model=f"openai:model=m,base_url={url}/v1,{more.pop('with_key', WITH_KEY)}",
        prompt={"query": "{statement}"},
        asked=Asked(**asked),
        **more,
    )


@pytest.mark.slow
def test_every_row_has_an_answer_or_says_why_not(
    serve: Callable[[Callable[[Got], Answer]], ModelServer],
) -> None:
    def answers(got: Got) -> Answer:
        about = statement(got)
        if about in ALWAYS:
            return ALWAYS[about][0]
        return ONCE.get(about, GOOD) if got.attempt == 1 else GOOD

    server = serve(answers)
    statements = ["fine", *ONCE, *ALWAYS, "fine too"]
    predicted = ask_about(server.url, statements)
    assert [row["id"] for row in predicted.rows] == [
        str(n) for n in range(len(statements))
    ]
    for row, about in zip(predicted.rows, statements, strict=True):
        if about in ALWAYS:
            assert row.get("error") == ALWAYS[about][1], about
            assert "label" not in row
        else:
            assert row.get("label") == "positive", (about, row)
    asked = {about: 0 for about in statements}
    for got in server.got:
        asked[statement(got)] += 1
    assert asked["fine"] == asked["slow"] == asked["filtered"] == 1
    assert asked["held back"] == asked["all thinking"] == 1
    assert asked["broken"] == asked["silent"] == 4
    assert all(asked[about] == 2 for about in ONCE if about != "slow")


FATAL: dict[str, tuple[Answer, str]] = {
    "key": (
        failing(401, f"Incorrect key {KEY}"),
        "environment variable OPENAI_API_KEY",
    ),
    "not paid": (failing(402, "Add credits"), "wants to be paid first: Add credits"),
    "right": (failing(403, f"Not for you, Bearer {KEY}!"), "does not let this key ask"),
    "model": (failing(404, "no such model"), "has no model 'm'"),
    "field": (
        failing(400, "Unsupported", code="unsupported_parameter", param="max_tokens"),
        "limit_field=max_completion_tokens",
    ),
    "temperature": (
        failing(400, "Unsupported", code="unsupported_value", param="temperature"),
        "sends_temperature=false",
    ),
    "setting": (
        failing(
            400, "at most 20", code="integer_above_max_value", param="top_logprobs"
        ),
        "cannot be asked so: at most 20",
    ),
    "quota": (failing(429, "Pay", code="insufficient_quota"), "no quota left"),
    "not implemented": (failing(501, "no"), "cannot be asked so"),
}


@pytest.mark.parametrize("name", FATAL)
def test_what_nothing_would_be_answered_for_ends_it(
    name: str, serve: Callable[[Callable[[Got], Answer]], ModelServer]
) -> None:
    answer, words = FATAL[name]
    server = serve(lambda got: answer)
    with pytest.raises(EvalkitError) as raised:
        ask_about(server.url, ["a"] * 50, asked={"concurrency": 2})
    assert words in str(raised.value)
    assert KEY[:12] not in str(raised.value)
    assert len(server.got) <= 2


def test_too_few_log_probabilities_are_never_scored(
    serve: Callable[[Callable[[Got], Answer]], ModelServer],
) -> None:
    """A limit of the server ends it; one token with fewer is an error of its row."""

    def answers(got: Got, most: int) -> Answer:
        counts = [most, 1] if statement(got) == "short" else [most, most]
        tokens = [
            {
                "token": token,
                "logprob": -1.0,
                "top_logprobs": [
                    {"token": f"{token}{n}", "logprob": -1.0 - n} for n in range(count)
                ],
            }
            for token, count in zip(("pos", "itive"), counts, strict=True)
        ]
        body = chat("positive")
        body["choices"][0]["logprobs"] = {"content": tokens}
        return Answer(body)

    server = serve(lambda got: answers(got, 3))
    predicted = ask_about(server.url, ["a", "short", "b"], generate={"logprobs": 3})
    assert ["error" in row for row in predicted.rows] == [False, True, False]
    server.answers = lambda got: answers(got, 2)
    server.got.clear()
    with pytest.raises(EvalkitError, match="tells 2 alternatives to a token where 3"):
        ask_about(server.url, ["c"] * 50, generate={"logprobs": 3})
    assert len(server.got) <= 16


@pytest.mark.parametrize("status", [400, 403, 404, 422, 429, 500])
@pytest.mark.parametrize("quoted", [KEY, KEY[:20], f"'Authorization': 'Bearer {KEY}'"])
def test_no_message_holds_the_key(
    status: int,
    quoted: str,
    serve: Callable[[Callable[[Got], Answer]], ModelServer],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(0)
    server = serve(lambda got: failing(status, f"bad header {quoted} sent"))
    said = ""
    try:
        ask_about(server.url, ["a"], asked={"retries": 1}).save(tmp_path / "out.jsonl")
    except EvalkitError as error:
        said = str(error)
    assert KEY[:12] not in said
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert server.got[0].headers["authorization"] == f"Bearer {KEY}"
    assert not [each for each in written if KEY[:12].encode() in each]
    assert KEY[:12] not in caplog.text


@pytest.mark.parametrize("key", ["sk-two words", "sk-ünicode-secret", "sk-a\nsk-b"])
def test_what_cannot_be_a_key_is_not_sent_and_not_quoted(
    key: str,
    monkeypatch: pytest.MonkeyPatch,
    serve: Callable[[Callable[[Got], Answer]], ModelServer],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    server = serve(lambda got: GOOD)
    with pytest.raises(EvalkitError, match="OPENAI_API_KEY holds something") as raised:
        ask_about(server.url, ["a"])
    assert "sk-" not in str(raised.value)
    assert not server.got


def test_a_key_goes_to_nobody_but_whom_it_is_for(
    monkeypatch: pytest.MonkeyPatch,
    serve: Callable[[Callable[[Got], Answer]], ModelServer],
) -> None:
    """That of `OPENAI_API_KEY` is OpenAI's, or of the server named beside it."""

    def sent(**more: Any) -> str | None:
        server.got.clear()
        assert not ask_about(server.url, ["a"], **more, **again).failed
        return server.got[0].headers.get("authorization")

    again = {"asked": {"is_cached": False}}
    server = serve(lambda got: GOOD)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-somebody")
    monkeypatch.setenv("OTHER_KEY", "sk-other-key")
    assert sent(with_key="api=chat") == "Bearer none"
    assert "openai-organization" not in server.got[0].headers
    assert sent(with_key=WITH_KEY) == f"Bearer {KEY}"
    assert sent(with_key="api_key_variable=OTHER_KEY") == "Bearer sk-other-key"
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    assert sent(with_key="api=chat") == f"Bearer {KEY}"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert sent(with_key="api=chat") == "Bearer none"
    server.answers = lambda got: failing(401, "Who are you?")
    with pytest.raises(EvalkitError, match="and none is sent to it: name the env"):
        ask_about(server.url, ["a"], with_key="api=chat", **again)


def test_a_reply_that_repeats_the_key_is_not_kept(
    serve: Callable[[Callable[[Got], Answer]], ModelServer], tmp_path: Path
) -> None:
    server = serve(
        lambda got: Answer(chat(f"It is {KEY}.")) if statement(got) == "b" else GOOD
    )
    predicted = ask_about(server.url, ["a", "b"])
    assert predicted.rows[1]["error"] == (
        "the reply repeats a key or password, and is not kept"
    )
    predicted.save(tmp_path / "out.jsonl")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 2
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_local_servers_need_no_key_and_hosted_ones_do(
    monkeypatch: pytest.MonkeyPatch,
    serve: Callable[[Callable[[Got], Answer]], ModelServer],
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    server = serve(lambda got: GOOD)
    assert not ask_about(server.url, ["a"], with_key="api=chat").failed
    with pytest.raises(EvalkitError, match="put it into the environment variable"):
        ask_about("https://api.openai.com", ["a"], with_key="api=chat")
    asked = len(server.got)
    with pytest.raises(EvalkitError, match="variable OPENAI_API_KEY is not set"):
        ask_about(server.url, ["b"])
    assert len(server.got) == asked


def test_an_address_with_credentials_is_read_from_the_environment_only(
    monkeypatch: pytest.MonkeyPatch,
    serve: Callable[[Callable[[Got], Answer]], ModelServer],
) -> None:
    with pytest.raises(PluginContractError) as raised:
        ask_about("http://user:PaSsWoRd@127.0.0.1", ["a"])
    assert "PaSsWoRd" not in str(raised.value)
    server = serve(lambda got: failing(400, "no PaSsWoRd/"))
    address = server.url.replace("//", "//user:PaSsWoRd@")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1/")
    predicted = predict(
        data=[{"uid": "1", "statement": "a", "label": "positive"}],
        task="sentiment",
        model="openai:model=m",
        asked=Asked(max_errors=1),
    )
    assert predicted.system["model"]["describes"] == {
        "name": "m",
        "base_url": f"{server.url}/v1",
    }
    assert "PaSsWoRd" not in str(predicted)


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    predicted = ask_about("http://127.0.0.1:1", ["a"], asked={"retries": 1})
    named = "no connection to http://127.0.0.1:1/v1: "
    assert predicted.rows[0]["error"].startswith(named)
