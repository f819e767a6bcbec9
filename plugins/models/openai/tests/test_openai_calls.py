"""Requests become calls, and what comes back replies."""

import json
from pathlib import Path
from typing import Any

import pytest
from model_servers import ask_openai as ask

from evalkit.errors import EvalkitError
from evalkit_models_base import Completion, Message, Reply, Request, Token, Usage

CHAT = Request(
    messages=(
        Message(role="system", content="Be brief."),
        Message(role="user", content="Hi?"),
        Message(role="assistant", content="Hi."),
        Message(role="user", content="Why?"),
    ),
    temperature=0.7,
    top_p=0.9,
    top_k=40,
    max_tokens=12,
    stop=("\n", "END"),
    completions=2,
    seed=7,
    presence_penalty=0.1,
    frequency_penalty=-0.2,
    logprobs=1,
)

CHAT_BODY = {
    "model": "org/m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi?"},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "Why?"},
    ],
    "temperature": 0.7,
    "top_p": 0.9,
    "top_k": 40,
    "max_tokens": 12,
    "stop": ["\n", "END"],
    "n": 2,
    "seed": 7,
    "presence_penalty": 0.1,
    "frequency_penalty": -0.2,
    "logprobs": True,
    "top_logprobs": 1,
}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def spoken(text: str, index: int, *tokens: tuple[str, float], **more: Any) -> Any:
    """Return a choice with its tokens, each with itself as its alternative."""
    content = [
        {"token": token, "logprob": p, "top_logprobs": [{"token": token, "logprob": p}]}
        for token, p in tokens
    ]
    return {
        "index": index,
        "message": {"role": "assistant", "content": text, **more},
        "finish_reason": "stop",
        "logprobs": {"content": content},
    }


def test_every_field_of_a_chat_is_sent_and_read() -> None:
    body = {
        "model": "m-2026-11-01",
        "choices": [
            spoken("No", 1, ("No", -1.5)),
            spoken(
                "So.",
                0,
                ("Hm", -3.0),
                ("So", -0.5),
                (".", -0.1),
                reasoning_content="Hm",
            ),
        ],
        "usage": {
            "prompt_tokens": 20,
            "completion_tokens": 4,
            "total_tokens": 24,
            "prompt_tokens_details": {"cached_tokens": 16},
            "completion_tokens_details": {"reasoning_tokens": 1},
        },
        "system_fingerprint": "x",
    }
    reply, sent = ask(CHAT, body)
    assert sent == CHAT_BODY
    assert reply == Reply(
        completions=(
            Completion(
                text="So.",
                finish_reason="stop",
                thinking="Hm",
                tokens=(
                    Token(text="So", logprob=-0.5, alternatives={"So": -0.5}),
                    Token(text=".", logprob=-0.1, alternatives={".": -0.1}),
                ),
            ),
            Completion(
                text="No",
                finish_reason="stop",
                tokens=(Token(text="No", logprob=-1.5, alternatives={"No": -1.5}),),
            ),
        ),
        usage=Usage(
            input_tokens=20, output_tokens=4, thinking_tokens=1, cached_tokens=16
        ),
        model="m-2026-11-01",
    )


def test_a_temperature_that_is_not_sent_is_refused() -> None:
    reply, sent = ask(CHAT, {}, sends_temperature=False)
    assert reply.is_fatal
    assert "the temperature 0.7 is asked for" in str(reply.error)
    assert not sent


@pytest.mark.parametrize("kind", ["object", "text", "parts", "file"])
def test_further_fields_are_sent(kind: str, tmp_path: Path) -> None:
    extra = {"chat_template_kwargs": {"path": "a/b"}}
    path = tmp_path / "extra.json"
    path.write_text(json.dumps(extra))
    text = json.dumps(extra)
    given = {"object": extra, "text": text, "parts": text.split("/"), "file": str(path)}
    body = {"choices": [spoken("a", n, ("a", -1.0)) for n in range(2)]}
    _, sent = ask(CHAT, body, extra_body=given[kind], reasoning_effort="low")
    assert sent == {**CHAT_BODY, **extra, "reasoning_effort": "low"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ('{"a": 1', "is no JSON"),
        ("no-such-file.json", "is no file that can be read"),
        ([1], "must be"),
        ("[]", "is no file that can be read"),
    ],
)
def test_further_fields_that_are_none_are_refused(given: Any, words: str) -> None:
    with pytest.raises(EvalkitError, match=f"parameter extra_body {words}"):
        ask(CHAT, {}, extra_body=given)


def test_further_fields_replace_none_of_the_request() -> None:
    with pytest.raises(EvalkitError, match="'temperature' is set by the request"):
        ask(CHAT, {}, extra_body={"temperature": 1})


TEXT = Request(prompt="One, two,", max_tokens=2, logprobs=2)


@pytest.mark.parametrize("form", ["lists", "content"])
def test_texts_are_continued(form: str) -> None:
    lists = {
        "tokens": [" three", "!"],
        "token_logprobs": [-0.25, -2.0],
        "top_logprobs": [{" three": -0.25, " 3": -2.5}, {"!": -2.0, ".": -1.0}],
        "text_offset": [9, 15],
    }
    content = [
        {
            "token": token,
            "logprob": logprob,
            "top_logprobs": [{"token": t, "logprob": p} for t, p in likeliest.items()],
        }
        for token, logprob, likeliest in zip(
            *(lists[name] for name in ("tokens", "token_logprobs", "top_logprobs")),  # type: ignore[misc]
            strict=True,
        )
    ]
    choice = {"index": 0, "text": " three!", "finish_reason": "length"}
    logprobs = lists if form == "lists" else {"content": content}
    reply, sent = ask(
        TEXT, {"choices": [{**choice, "logprobs": logprobs}]}, api="completions"
    )
    assert sent == {
        "model": "org/m",
        "prompt": "One, two,",
        "temperature": 0.0,
        "max_tokens": 2,
        "logprobs": 2,
    }
    (completion,) = reply.completions
    assert completion.text == " three!"
    assert completion.finish_reason == "length"
    assert completion.tokens == (
        Token(text=" three", logprob=-0.25, alternatives={" three": -0.25, " 3": -2.5}),
        Token(text="!", logprob=-2.0, alternatives={"!": -2.0, ".": -1.0}),
    )


@pytest.mark.parametrize("count", [0, 1, 2])
def test_fewer_alternatives_than_asked_for_are_refused(count: int) -> None:
    likeliest = [{"token": str(n), "logprob": -1.0} for n in range(count)]
    token = {"token": "a", "logprob": -1.0, "top_logprobs": likeliest}
    choice = {"message": {"content": "a"}, "logprobs": {"content": [token]}}
    request = Request(messages=(Message(role="user", content="?"),), logprobs=2)
    reply, _ = ask(request, {"choices": [choice]})
    assert (reply.error is None) == (count == 2)
    assert reply.is_fatal == (count < 2)
    if count < 2:
        assert f"tells {count} alternatives to a token where 2" in str(reply.error)


@pytest.mark.parametrize("logprobs", [None, {"content": None}, {"content": []}])
def test_a_server_without_log_probabilities_is_refused(logprobs: Any) -> None:
    choice = {"message": {"content": "a"}, "logprobs": logprobs}
    request = Request(messages=(Message(role="user", content="?"),), logprobs=0)
    reply, _ = ask(request, {"choices": [choice]})
    assert reply.is_fatal
    assert "tells no log-probabilities of generated tokens" in str(reply.error)


def test_fewer_texts_than_asked_for_are_refused() -> None:
    reply, _ = ask(CHAT, {"choices": [spoken("a", 0, ("a", -1.0))]})
    assert reply.is_fatal
    assert "gives 1 texts where 2 were asked for" in str(reply.error)


def test_a_refusal_is_an_answer() -> None:
    request = Request(messages=(Message(role="user", content="?"),))
    message = {"content": None, "refusal": "I will not."}
    reply, _ = ask(request, {"choices": [{"message": message}]})
    assert reply.completions == (
        Completion(text="I will not.", finish_reason="refusal"),
    )


@pytest.mark.parametrize("number", ["NaN", "Infinity", '"-1"'])
def test_numbers_that_are_none_are_not_taken(number: str) -> None:
    text = (
        '{"choices": [{"message": {"content": "a"}, "logprobs": {"content": '
        f'[{{"token": "a", "logprob": {number}, "top_logprobs": []}}]}}}}]}}'
    )
    request = Request(messages=(Message(role="user", content="?"),), logprobs=0)
    reply, _ = ask(request, text.encode())
    assert reply.is_retriable
    assert "not of the protocol" in str(reply.error)


def test_a_question_of_the_other_form_is_refused() -> None:
    assert "answers messages" in str(ask(TEXT, {})[0].error)
    assert "continues a prompt" in str(ask(CHAT, {}, api="completions")[0].error)
