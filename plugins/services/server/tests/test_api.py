"""The API: uploads, limits, passwords and sessions."""

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pyarrow
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event, select
from starlette.requests import Request
from starlette.responses import Response

from evalkit.errors import EvalkitError
from evalkit_services_server import access, accounts, uploads
from evalkit_services_server.access import Principal, RequestError
from evalkit_services_server.app import make_app
from evalkit_services_server.database import writing
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import ACCOUNT

from .world import GOOD, World, settings_in

MIB = 1 << 20
SUBMIT = frozenset({"submit"})
ROW = b'{"id": 1, "label": "positive"}'.ljust(MIB - 1) + b"\n"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("server")
    server = World(settings_in(folder, submissions_a_day=1000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uploads, "LARGEST_UPLOAD", 16 * MIB)
        yield server
    server.close()


@pytest.fixture
def server(settings: Settings) -> Iterator[World]:
    server = World(settings)
    yield server
    server.close()


def zst(data: bytes) -> bytes:
    return bytes(pyarrow.compress(data, codec="zstd", asbytes=True))


def test_predictions_are_stored_and_evaluated(server: World) -> None:
    for packed in (GOOD, gzip.compress(GOOD), zst(GOOD)):
        answer = server.upload(packed)
        assert answer.status_code == 201, answer.text
        found = answer.json()
        stored = Path(server.settings.store, "predictions", f"{found['sha256']}.jsonl")
        assert stored.read_bytes() == GOOD
        jobs = server.ask("ada", "GET", f"/jobs?submission={found['id']}").json()
        assert [job["state"] for job in jobs] == ["waiting"]


BAD_LINES = [
    (b'{"id": 1, "label": "positive"}\nnot json\n', 2, "(row)", "invalid JSON"),
    (b'\n{"id": 1, "label": NaN}', 2, "(row)", "invalid JSON"),
    (b"[" * 100_000, 1, "(row)", "invalid JSON"),
    (b'"text"', 1, "(row)", "must be a JSON object"),
    (b'{"id": "1", "label": "\xff"}', 1, "(row)", "invalid JSON"),
    (b'{"label": "positive"}', 1, "id", "is required"),
    (b'{"id": true, "label": "positive"}', 1, "id", "non-empty text or an integer"),
    (b'{"id": 1.0, "label": "positive"}', 1, "id", "non-empty text or an integer"),
    (b'{"id": "", "label": "positive"}', 1, "id", "non-empty text or an integer"),
    (b'{"id": "1"}', 1, "label", "is required"),
    (b'{"id": "1", "label": "good"}', 1, "label", "positive"),
    (b'{"id": "1", "label": "<script>"}', 1, "label", "positive"),
]


@pytest.mark.parametrize(("content", "line", "field", "rule"), BAD_LINES)
def test_problems_are_named_by_line(
    shared: World, content: bytes, line: int, field: str, rule: str
) -> None:
    answer = shared.upload(content)
    assert answer.status_code == 422
    [problem] = answer.json()["problems"]
    assert (problem["line"], problem["field"]) == (line, field)
    assert rule in problem["rule"]


@pytest.mark.parametrize(
    "content",
    [
        b'\xef\xbb\xbf{"id": "1", "label": "positive"}',
        b'{"uid": 7, "label": "positive", "thinking": "so", "unknown": 1}\r\n\r\n',
        b'{"id": "1", "error": "no answer"}',
    ],
)
def test_what_an_evaluation_reads_is_taken(shared: World, content: bytes) -> None:
    assert shared.upload(content).status_code == 201


MANY = b'{"id": 1, "prob": {%s}}' % b",".join(b'"%d": ""' % n for n in range(200))
REFUSED = {
    "a line without end": (lambda: (b"x" * MIB for _ in range(8)), 413, "line 1"),
    "gzip bomb": (lambda: gzip.compress(ROW * 64), 413, "unpacked"),
    "zstd bomb": (lambda: zst(ROW * 64), 413, "unpacked"),
    "blank lines without end": (lambda: zst(b"\n" * 8 * MIB), 422, "blank lines"),
    "bomb in a line": (lambda: gzip.compress(b" " * 64 * MIB), 413, "line 1"),
    "cut gzip": (lambda: gzip.compress(GOOD)[:-9], 422, "corrupt"),
    "cut zstd": (lambda: zst(GOOD)[:-9], 422, "corrupt"),
    "no gzip": (lambda: b"\x1f\x8b" + GOOD, 422, "corrupt"),
    "nothing": (lambda: b"", 422, "empty"),
    "blank": (lambda: b"\n \n", 422, "empty"),
    "a line of problems": (lambda: MANY, 422, "has 404 problems"),
    "many bad lines": (lambda: b"x\n" * 10_000, 422, "at least 100 problems"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_files_are_refused(shared: World, name: str) -> None:
    make, status, reason = REFUSED[name]
    answer = shared.upload(make())
    assert (answer.status_code, reason in answer.text) == (status, True)


def test_an_account_has_some_uploads_and_some_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def receive() -> Any:
        await anyio.sleep(1)

    async def check() -> None:
        request, ada = Request({"type": "http"}, receive), Principal(1, "ada", SUBMIT)
        first = uploads.upload(request, ada)
        body = (await anext(first)).stream()
        with pytest.raises(RequestError, match="1 uploads of ada are under way"):
            await anext(uploads.upload(request, ada))
        other = uploads.upload(request, Principal(2, "bob", SUBMIT))
        assert await anext(other)
        with pytest.raises(RequestError, match="too slow"):
            await anext(body)
        await first.aclose()
        assert await anext(uploads.upload(request, ada))

    monkeypatch.setattr(uploads, "MOST_OF_ACCOUNT", 1)
    for limit in ("SILENCE", "LONGEST_TIME"):
        with monkeypatch.context() as patch:
            patch.setattr(uploads, limit, 0.01)
            anyio.run(check)


def test_faults_of_disk_and_database_are_the_servers(tmp_path: Path) -> None:
    server = World(settings_in(tmp_path))
    model = server.add_model()
    predictions = Path(server.settings.store, "predictions")
    predictions.touch()
    assert server.upload(GOOD).status_code == 503
    predictions.unlink()
    server.app.state.engine.dispose()
    event.listen(server.app.state.engine, "connect", wait_for_no_lock)
    with writing(server.engine):
        answer = server.upload(GOOD)
    assert answer.status_code == 503
    assert "cannot be used at present" in answer.json()["detail"]
    assert str(tmp_path) not in answer.text
    with writing(server.engine) as connection:
        session = accounts.open_session(connection, 1)
    server.client.cookies.set(access.COOKIE, session)
    place = f"/models/{model}/submissions?{access.CSRF}={access.csrf_token(session)}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", "/dev/null")
        answer = server.client.post(place, files={"file": GOOD * 40_000})
    assert (answer.status_code, "at present" in answer.text) == (503, True)
    server.close()


def wait_for_no_lock(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA busy_timeout=1")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/srv/store/runs/1-1/run.json: file is damaged", "run.json: file is damaged"),
        ("cannot open '/home/host/my plugin.py'", "cannot open 'my plugin.py'"),
        ("https://host/a/b is 3/4 of a/b", "https://host/a/b is 3/4 of a/b"),
    ],
)
def test_reasons_name_no_paths(text: str, shown: str) -> None:
    assert access.explain(EvalkitError(text)) == (422, shown)


def test_a_body_without_end_is_not_read(shared: World) -> None:
    parts = (b" " * MIB for _ in range(64))
    assert shared.ask("ada", "POST", "/models", content=parts).status_code == 413


def test_what_takes_no_predictions(shared: World) -> None:
    private = shared.add_dataset("private", access="inputs-private")
    answer = shared.upload(GOOD, private)
    assert (answer.status_code, "inputs are private" in answer.text) == (409, True)
    for key in (shared.add_dataset("hidden", board="hidden"), 999):
        answer = shared.upload(GOOD, key)
        assert answer.status_code == 404
        assert answer.json() == {"detail": f"dataset {key}: not found"}


def test_limits(tmp_path: Path) -> None:
    few = {"submissions_a_day": 1, "requests_a_minute": 20}
    server = World(settings_in(tmp_path, **few))
    assert server.upload(GOOD).status_code == 201

    def never() -> Iterator[bytes]:
        raise AssertionError
        yield b""

    # the quota ends uploads before they arrive
    answer = server.upload(never())
    assert (answer.status_code, "quota of 1" in answer.text) == (429, True)
    answers = [server.ask("ada", "GET", "/tasks") for _ in range(50)]
    assert {200, 429} == {answer.status_code for answer in answers}
    assert int(answers[-1].headers["retry-after"]) > 0
    assert server.ask("bob", "GET", "/tasks").status_code == 200
    server.close()


EXPOSED = [
    ({"host": "0.0.0.0"}, "HTTPS"),
    ({"host": "example.org"}, "HTTPS"),
    ({"host": "::", "is_behind_https": True}, None),
    ({"host": "localhost"}, None),
]


@pytest.mark.parametrize(("given", "reason"), EXPOSED)
def test_others_are_served_with_https_only(
    given: dict[str, Any], reason: str | None
) -> None:
    settings = Settings(database="sqlite://", **given)
    if reason is None:
        make_app(settings)
    else:
        with pytest.raises(EvalkitError, match=reason):
            make_app(settings)


def test_a_cookie_does_nothing_without_the_token_of_its_page(server: World) -> None:
    with writing(server.engine) as connection:
        session = accounts.open_session(connection, 1)
    server.client.cookies.set(access.COOKIE, session)
    csrf = access.csrf_token(session)
    given = {"task": "sentiment", "name": "m"}

    def status(proof: str, **headers: str) -> int:
        path = f"/models?{access.CSRF}={proof}"
        return server.ask(None, "POST", path, json=given, headers=headers).status_code

    assert server.ask(None, "GET", "/account").json()["name"] == "ada"
    for proof in ("", "x", "%E4", access.csrf_token("another")):
        assert status(proof) == 403
    assert status(csrf, origin="null") == 403
    assert status(csrf, origin="https://evil.example") == 403
    assert status(csrf, origin="http://testserver") == 201


@pytest.mark.parametrize("is_secure", [True, False])
def test_scripts_and_other_sites_have_no_cookie(is_secure: bool) -> None:
    response = Response()
    access.set_session(response, "t", Settings(is_behind_https=is_secure))
    cookie = response.headers["set-cookie"]
    assert ("HttpOnly" in cookie, "SameSite=lax" in cookie) == (True, True)
    assert ("Secure" in cookie) == is_secure


def test_passwords(server: World) -> None:
    with writing(server.engine) as connection:
        key = accounts.save_account(connection, "eve", "correct horse")
        assert accounts.check_password(connection, "eve", "correct horse") == key
        session = accounts.open_session(connection, key)
        assert accounts.check_password(connection, "eve", "wrong horse!") is None
        assert accounts.check_password(connection, "nobody", "correct horse") is None
        assert accounts.save_account(connection, "eve", "battery staple") == key
        assert access.identify(connection, session) is None
        stored = connection.scalars(select(ACCOUNT.c.password)).all()
        assert stored[-1].startswith("$argon2id$")
        session = accounts.open_session(connection, key)
        accounts.close_account(connection, "eve")
        assert access.identify(connection, session) is None
        assert accounts.check_password(connection, "eve", "battery staple") is None
        with pytest.raises(EvalkitError, match="12 to 256"):
            accounts.save_account(connection, "short", "short")


def test_only_who_guesses_is_locked_out(
    server: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "time", lambda: 0.0)
    form = {"name": "ada", "password": "wrong"}
    answers = [server.client.post("/login", data=form) for _ in range(11)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429]
    elsewhere = TestClient(server.app, client=("192.0.2.1", 1))
    assert elsewhere.post("/login", data=form).status_code == 401


def test_a_role_that_was_taken_is_taken_from_tokens(server: World) -> None:
    with writing(server.engine) as connection:
        accounts.save_account(connection, "host", role="submitter")
    assert server.ask("host", "GET", "/scans").status_code == 403


@pytest.mark.parametrize(
    "metric",
    [
        *("mine.py:metric", "../accuracy", "accuracy:labels=/etc/passwd", "s3://b/m"),
        *("accuracy:labels=..", "Accuracy", "", "<b>", "no-such-metric"),
    ],
)
def test_only_installed_components_are_named(shared: World, metric: str) -> None:
    given = {"eval_metrics": [metric]}
    answer = shared.ask("host", "PATCH", "/tasks/sentiment", json=given)
    assert answer.status_code == 422


def test_answers_have_the_headers_that_browsers_obey(shared: World) -> None:
    for path in ("/tasks", "/no-such-page"):
        headers = shared.ask(None, "GET", path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert shared.client.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    "name", ["<b>", "../m", "a b", "", "x" * 65, "m\x00", "m\n", "é", "=1+1", "m'--"]
)
def test_names_are_plain(shared: World, name: str) -> None:
    given = {"task": "sentiment", "name": name}
    assert shared.ask("ada", "POST", "/models", json=given).status_code == 422
    assert shared.ask("ada", "GET", "/models", params={"nam": name}).status_code == 422


def test_filters_are_values_and_no_sql(shared: World) -> None:
    shared.upload(GOOD)
    for text in ("' OR '1'='1", "m'; DROP TABLE model; --", "%", "m%"):
        answer = shared.ask(None, "GET", "/models", params={"name": text})
        assert (answer.status_code, answer.json()) == (200, [])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rows", "line"])
def test_a_gigabyte_is_checked_in_bounded_memory(kind: str) -> None:
    code = """
import pathlib, sys
from evalkit_services_server import access, uploads
try:
    file = sys.stdin.buffer.raw
    uploads.receive(file, pathlib.Path("/dev/null"), lambda row: ())
except access.RequestError as error:
    print(error, end=" ")
status = pathlib.Path("/proc/self/status").read_text()
print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)
"""
    row = json.dumps({"id": 1, "text": "x" * 1000})
    made = f"yes '{row}' | head -n 1000000" if kind == "rows" else "cat /dev/zero"
    with subprocess.Popen(["sh", "-c", made], stdout=subprocess.PIPE) as sender:
        command = [sys.executable, "-c", code]
        *reason, megabytes = subprocess.check_output(
            command, stdin=sender.stdout, text=True
        ).split()
    assert int(megabytes) < 300
    assert bool(reason) == (kind == "line")
