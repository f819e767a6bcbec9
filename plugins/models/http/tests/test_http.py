"""A service of any shape answers, or every row says why it did not."""

import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2  # noqa: F401 - so that no request waits for it
import pytest
from model_servers import Answer, Got, ModelServer, http_date, serving

import evalkit
import evalkit_models_base.asking
from evalkit.errors import EvalkitError
from evalkit_models_base import Asked, clients, predict

Serve = Callable[[Callable[[Got], Answer]], ModelServer]

SECRET = "a-ReCoGnIsAbLe-token-0123456789"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(evalkit_models_base.asking, "_FIRST_WAIT", 0.001)
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start servers that stop with the test."""
    with ExitStack() as stack:
        yield lambda answers: stack.enter_context(serving(answers))


ANY_ERRORS = Asked(max_errors=100)


def ask_about(
    statements: list[str], asked: Asked = ANY_ERRORS, **parameters: Any
) -> Any:
    """Ask about statements."""
    return predict(
        data=[
            {"uid": f"s{n}", "statement": text, "label": "positive"}
            for n, text in enumerate(statements)
        ],
        task="sentiment",
        model="http:" + ",".join(f"{name}={v}" for name, v in parameters.items()),
        asked=asked,
    )


def test_inputs_are_sent_and_answers_read_as_they_are(serve: Serve) -> None:
    server = serve(lambda got: Answer({"label": "negative", "id": got.body["uid"]}))
    predicted = ask_about(["a", "b"], url=f"{server.url}/predict")
    assert predicted.rows == [
        {"id": "s0", "label": "negative"},
        {"id": "s1", "label": "negative"},
    ]
    bodies = sorted((got.body for got in server.got), key=lambda body: body["uid"])
    assert bodies == [{"uid": "s0", "statement": "a"}, {"uid": "s1", "statement": "b"}]
    assert {got.path for got in server.got} == {"/predict"}
    assert predicted.system["model"]["describes"] == {"name": f"{server.url}/predict"}


def test_adapters_stand_on_both_ways(serve: Serve, tmp_path: Path) -> None:
    """A text generator, as Dyff has them behind its adapters."""
    request, response = tmp_path / "request.json", tmp_path / "response.json"
    sent = [
        {"kind": "Select", "configuration": {"fields": ["statement"]}},
        {"kind": "Rename", "configuration": {"statement": "prompt"}},
    ]
    read = [{"kind": "ExplodeCollections", "configuration": {"collections": ["text"]}}]
    read += [{"kind": "Rename", "configuration": {"text": "label"}}]
    request.write_text(json.dumps(sent))
    response.write_text(json.dumps(read))
    server = serve(
        lambda got: (
            Answer({"text": ["positive", "negative"], "took": 3})
            if got.body["prompt"] == "two"
            else Answer([{"text": ["neutral"]}])
        )
    )
    predicted = ask_about(
        ["one", "two"], url=server.url, request=request, response=response
    )
    assert [list(got.body) for got in server.got] == [["prompt"], ["prompt"]]
    assert predicted.rows == [
        {"id": "s0", "label": "neutral"},
        {
            "id": "s1",
            "responses": [
                {"took": 3, "label": "positive"},
                {"took": 3, "label": "negative"},
            ],
        },
    ]
    assert predicted.system["model"]["describes"] == {
        "name": server.url,
        "request": sent,
        "response": read,
    }


GOOD = Answer({"label": "positive"})

ONCE: dict[str, Answer] = {
    "status 500": Answer({"error": "broken"}, 500),
    "status 502": Answer(b"<html>Bad gateway</html>", 502),
    "throttled": Answer(b"", 429, {"Retry-After": "0.01"}),
    "throttled until": Answer(b"", 429, {"Retry-After": http_date(-5)}),
    "throttled oddly": Answer(b"", 429, {"Retry-After": "soon"}),
    "cut": Answer({"label": "positive"}, is_cut=True),
    "no JSON": Answer(b'{"label": '),
    "empty": Answer(b""),
    "no text": Answer(b"\xff\xfe"),
    "no number": Answer(b'{"label": "positive", "prob": NaN}'),
    "half a character": Answer(b'{"label": "\\ud800"}'),
    "too deep": Answer(b"[" * 100_000),
    "no gzip": Answer({"label": "positive"}, headers={"content-encoding": "gzip"}),
    "never": Answer(after=None),
    "slow": Answer({"label": "positive"}, after=0.1),
}

NEITHER = "the service's answer is neither an object nor a list of objects"

ALWAYS: dict[str, tuple[Answer, str]] = {
    "broken": (Answer({"e": 1}, 500), 'the service answers with status 500: {"e": 1}'),
    "silent": (Answer(after=None), "no answer within 1 s"),
    "too long": (
        Answer(b"too  long", 413),
        "the service answers with status 413: too long",
    ),
    "a number": (Answer(3), NEITHER),
    "null": (Answer(None), NEITHER),
    "an empty list": (Answer([]), NEITHER),
    "a list of texts": (Answer(["positive"]), NEITHER),
}


@pytest.mark.slow
def test_every_row_has_an_answer_or_says_why_not(serve: Serve) -> None:
    def answers(got: Got) -> Answer:
        about = got.body["statement"]
        if about in ALWAYS:
            return ALWAYS[about][0]
        return ONCE.get(about, GOOD) if got.attempt == 1 else GOOD

    server = serve(answers)
    statements = ["fine", *ONCE, *ALWAYS, "fine too"]
    limits = Asked(max_errors=100, seconds=1, retries=2)
    predicted = ask_about(statements, limits, url=server.url, concurrency=30)
    for number, (row, about) in enumerate(zip(predicted.rows, statements, strict=True)):
        wanted = (
            {"error": ALWAYS[about][1]} if about in ALWAYS else {"label": "positive"}
        )
        assert row == {"id": f"s{number}", **wanted}, about
    asked = {about: 0 for about in statements}
    for got in server.got:
        asked[got.body["statement"]] += 1
    assert asked["fine"] == asked["too long"] == asked["a number"] == 1
    assert asked["broken"] == asked["silent"] == 3


def test_an_answer_that_comes_in_drops_is_given_up(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter(range(0, 1_000_000, 10))
    monkeypatch.setattr(clients, "monotonic", lambda: next(moments))
    server = serve(lambda got: GOOD)
    limits = Asked(max_errors=1, seconds=5, retries=0)
    predicted = ask_about(["a"], limits, url=server.url)
    assert predicted.rows == [{"id": "s0", "error": "no answer within 5 s"}]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "headers_variable"),
        (402, "status 402"),
        (403, "headers_variable"),
        (404, "see url"),
        (405, "by POST"),
        (301, "status 301"),
    ],
)
def test_what_nothing_would_be_answered_for_ends_it(
    status: int, words: str, serve: Serve
) -> None:
    server = serve(lambda got: Answer(b"", status))
    with pytest.raises(EvalkitError, match=words):
        ask_about(["a"] * 50, url=server.url, concurrency=2)
    assert len(server.got) <= 4


def test_an_answer_that_repeats_a_header_is_not_kept(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = {"X-Key": f"Token {SECRET}", "Accept": "application/json"}
    monkeypatch.setenv("SERVICE_HEADERS", json.dumps(headers))
    repeated = {"label": "positive", "about": [{"x-key": f"<{SECRET}>"}]}
    harmless = {"label": "positive", "about": "application/json"}
    server = serve(
        lambda got: Answer(repeated if got.body["statement"] == "b" else harmless)
    )
    first, second = ask_about(
        ["a", "b"], url=server.url, headers_variable="SERVICE_HEADERS"
    ).rows
    assert first["label"] == "positive"
    assert second["error"] == "the answer repeats a key or password, and is not kept"


@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_no_message_holds_a_secret(
    status: int,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(0)
    said = f"not with Bearer {SECRET} nor {SECRET[:14]} nor key={SECRET}"
    server = serve(lambda got: Answer(said.encode(), status))
    monkeypatch.setenv("SERVICE_URL", f"{server.url}/a?key={SECRET}")
    headers = {"Authorization": f"Bearer {SECRET}"}
    monkeypatch.setenv("SERVICE_HEADERS", json.dumps(headers))
    given = {"url_variable": "SERVICE_URL", "headers_variable": "SERVICE_HEADERS"}
    try:
        said = str(ask_about(["a"], Asked(max_errors=1, retries=0), **given))
    except EvalkitError as error:
        said = str(error)
    assert server.got[0].path == f"/a?key={SECRET}"
    assert server.got[0].headers["authorization"] == f"Bearer {SECRET}"
    assert SECRET[:9] not in said
    assert SECRET[:9] not in caplog.text


@pytest.mark.parametrize("value", ["", "Bearer x", "[1]", '{"A": 1}', '{"A": "b\\n"}'])
def test_headers_that_are_none_are_refused_without_being_quoted(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_HEADERS", value)
    with pytest.raises(EvalkitError, match="environment variable SERVICE_HEADERS"):
        ask_about(["a"], url="http://127.0.0.1:1", headers_variable="SERVICE_HEADERS")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"concurrency": 1}, "needs either url or url_variable"),
        ({"url": "http://u:p@h/"}, "holds a password or query"),
        ({"url": "http://h/?key=1"}, "holds a password or query"),
        ({"url": "ftp://h/"}, "no address of http"),
        ({"url": "http://u:x@y@h:PaSs/"}, "no address of http"),
        ({"url": "http://[h/"}, "no address of http"),
        ({"url_variable": "NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE is not set"),
        ({"url": "http://h/", "request": "no-such-file.json"}, "no-such-file.json"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(EvalkitError, match=words) as raised:
        ask_about(["a"], **parameters)
    assert "PaSs" not in str(raised.value)


def test_requests_that_adapters_cannot_make_end_it_before_any_is_sent(
    serve: Serve, tmp_path: Path
) -> None:
    request = tmp_path / "request.json"
    collections = {"collections": ["statement"]}
    request.write_text(
        json.dumps([{"kind": "ExplodeCollections", "configuration": collections}])
    )
    server = serve(lambda got: GOOD)
    with pytest.raises(EvalkitError, match="statement"):
        ask_about(["a", "b"], url=server.url, request=request)
    assert not server.got


def test_answers_that_adapters_cannot_read_are_errors_of_their_rows(
    serve: Serve, tmp_path: Path
) -> None:
    response = tmp_path / "response.json"
    response.write_text(
        json.dumps([{"kind": "Rename", "configuration": {"text": "label"}}])
    )
    server = serve(lambda got: Answer({got.body["statement"]: "positive"}))
    rows = ask_about(["text", "other"], url=server.url, response=response).rows
    assert rows[0] == {"id": "s0", "label": "positive"}
    assert "cannot be adapted" in rows[1]["error"]


def test_limits_are_those_of_the_command(serve: Serve) -> None:
    server = serve(lambda got: Answer({"label": "positive"}, after=0.05))
    found = ask_about([str(n) for n in range(8)], Asked(concurrency=2), url=server.url)
    assert (server.most_at_once, len(server.got)) == (2, 8)
    again = ask_about([str(n) for n in range(8)], Asked(concurrency=50), url=server.url)
    assert (again.rows, again.from_cache, len(server.got)) == (found.rows, 8, 8)
    (notice,) = again.notices
    assert notice == "models/http takes 16 at once, and no more (concurrency 50)"
    broken = serve(lambda got: Answer(b"", 500))
    with pytest.raises(EvalkitError, match=r"2 requests failed, and 1 may"):
        ask_about(["a", "b", "c"], Asked(retries=1, max_errors=1), url=broken.url)
    with pytest.raises(EvalkitError, match="--token-limit means nothing"):
        ask_about(["a"], Asked(token_limit=9), url=server.url)


def test_an_id_of_the_service_is_not_taken_for_that_of_the_input(serve: Serve) -> None:
    server = serve(lambda got: Answer({"label": "positive", "id": "r-17"}))
    with pytest.raises(EvalkitError, match="has the id 'r-17', and the input 's0'"):
        ask_about(["a"], url=server.url)


@pytest.mark.parametrize("name", ["url_variable", "headers_variable"])
@pytest.mark.parametrize("secret", ["Bearer sk-0123", "sk0123abcDEF9"])
def test_a_secret_that_is_given_as_a_name_is_never_shown(
    name: str, secret: str
) -> None:
    url = {} if name == "url_variable" else {"url": "http://127.0.0.1:1"}
    with pytest.raises(evalkit.EvalkitError) as caught:
        ask_about(["a"], **url, **{name: secret})
    assert secret not in "".join(traceback.format_exception(caught.value))


def test_a_service_that_is_not_there_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SERVICE_URL", "http://user:pAssW0rd@127.0.0.1:1/answer")
    asked = Asked(retries=0, max_errors=1)
    found = ask_about(["a"], asked, url_variable="SERVICE_URL")
    (error,) = found.errors
    assert error.startswith("no connection to http://127.0.0.1:1/answer: ")
