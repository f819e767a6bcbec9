"""The API: uploads, limits, passwords and sessions."""

import gzip
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from sqlalchemy import select
from starlette.responses import Response

from evalkit.errors import EvalkitError
from evalkit_services_server import access, accounts, uploads
from evalkit_services_server.app import make_app
from evalkit_services_server.database import writing
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import ACCOUNT

from .api_server import GOOD, Server, settings_in

MIB = 1 << 20
ROW = b'{"id": 1, "label": "positive"}'.ljust(MIB - 1) + b"\n"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    limits = {"largest_upload": 16 * MIB, "longest_line": 4 * MIB}
    server = Server(settings_in(folder, **limits, submissions_a_day=1000))
    yield server
    server.close()


@pytest.fixture
def server(settings: Settings) -> Iterator[Server]:
    server = Server(settings)
    yield server
    server.close()


def zst(data: bytes) -> bytes:
    return bytes(pyarrow.compress(data, codec="zstd", asbytes=True))


def incoming(server: Server) -> list[Path]:
    return [*server.settings.working_folder.glob("incoming/*")]


def test_predictions_are_stored_and_evaluated(server: Server) -> None:
    for packed in (GOOD, gzip.compress(GOOD), zst(GOOD)):
        answer = server.upload(packed)
        assert answer.status_code == 201, answer.text
        found = answer.json()
        stored = Path(server.settings.store, "predictions", f"{found['sha256']}.jsonl")
        assert stored.read_bytes() == GOOD
        jobs = server.ask("ada", "GET", f"/jobs?submission={found['id']}").json()
        assert [job["state"] for job in jobs] == ["waiting"]
    assert not incoming(server)


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
    shared: Server, content: bytes, line: int, field: str, rule: str
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
def test_what_an_evaluation_reads_is_taken(shared: Server, content: bytes) -> None:
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
def test_hostile_files_are_refused(shared: Server, name: str) -> None:
    make, status, reason = REFUSED[name]
    answer = shared.upload(make())
    assert (answer.status_code, reason in answer.text) == (status, True)
    assert not incoming(shared)


def test_a_full_disk_is_the_servers_fault() -> None:
    def check(_row: object) -> Iterator[tuple[str, str, object]]:
        return iter(())

    file = io.BytesIO(GOOD * 10_000)
    with pytest.raises(access.RequestError, match="no space") as caught:
        uploads.receive(file, Path("/dev/full"), check, Settings())
    assert caught.value.status == 507


def test_a_body_without_end_is_not_read(shared: Server) -> None:
    parts = (b" " * MIB for _ in range(64))
    assert shared.ask("ada", "POST", "/models", content=parts).status_code == 413


def test_what_takes_no_predictions(shared: Server) -> None:
    answer = shared.upload(GOOD, shared.private)
    assert (answer.status_code, "inputs are private" in answer.text) == (409, True)
    for key in (shared.hidden, 999):
        answer = shared.upload(GOOD, key)
        assert answer.status_code == 404
        assert answer.json() == {"detail": f"dataset {key}: not found"}


def test_limits(tmp_path: Path) -> None:
    limits = {"submissions_a_day": 1, "requests_a_minute": 20}
    server = Server(settings_in(tmp_path, **limits))
    assert server.upload(GOOD).status_code == 201

    def never() -> Iterator[bytes]:
        raise AssertionError
        yield b""

    # the quota ends uploads before they arrive
    answer = server.upload(never())
    assert (answer.status_code, "quota of 1" in answer.text) == (429, True)
    assert int(answer.headers["retry-after"]) > 0
    statuses = [server.ask("ada", "GET", "/tasks").status_code for _ in range(50)]
    assert {200, 429} == {*statuses}
    assert server.ask("bob", "GET", "/tasks").status_code == 200
    server.close()


EXPOSED = [
    ({"host": "0.0.0.0"}, "SECRET"),
    ({"host": "192.0.2.1", "secret": "short"}, "SECRET"),
    ({"host": "example.org", "secret": "s" * 32}, "HTTPS"),
    ({"host": "::", "secret": "s" * 32, "is_behind_https": True}, None),
    ({"host": "localhost"}, None),
]


@pytest.mark.parametrize(("given", "reason"), EXPOSED)
def test_others_are_served_with_a_secret_and_https_only(
    given: dict[str, Any], reason: str | None
) -> None:
    settings = Settings(database="sqlite://", **given)
    if reason is None:
        make_app(settings)
    else:
        with pytest.raises(EvalkitError, match=reason):
            make_app(settings)


def test_a_cookie_does_nothing_without_the_token_of_its_page(server: Server) -> None:
    with writing(server.engine) as connection:
        session = accounts.open_session(connection, 1)
    server.client.cookies.set(access.COOKIE, session)
    csrf = access.csrf_token(session, server.settings)
    given = {"task": "sentiment", "name": "m"}

    def status(**headers: str) -> int:
        asked = server.ask(None, "POST", "/models", json=given, headers=headers)
        return asked.status_code

    assert server.ask(None, "GET", "/account").json()["name"] == "ada"
    assert status() == 403
    assert status(**{access.CSRF_HEADER: "x"}) == 403
    other = access.csrf_token("another", server.settings)
    assert status(**{access.CSRF_HEADER: other}) == 403
    assert status(**{"origin": "null", access.CSRF_HEADER: csrf}) == 403
    evil = {"origin": "https://evil.example", access.CSRF_HEADER: csrf}
    assert status(**evil) == 403
    assert status(**{"origin": "http://testserver", access.CSRF_HEADER: csrf}) == 201


@pytest.mark.parametrize("is_secure", [True, False])
def test_scripts_and_other_sites_have_no_cookie(is_secure: bool) -> None:
    response = Response()
    access.set_session(response, "t", Settings(is_behind_https=is_secure))
    cookie = response.headers["set-cookie"]
    assert ("HttpOnly" in cookie, "SameSite=lax" in cookie) == (True, True)
    assert ("Secure" in cookie) == is_secure


def test_passwords(server: Server) -> None:
    with writing(server.engine) as connection:
        key = accounts.create_account(connection, "eve", "correct horse")
        assert accounts.check_password(connection, "eve", "correct horse") == key
        session = accounts.open_session(connection, key)
        assert accounts.check_password(connection, "eve", "wrong horse!") is None
        assert accounts.check_password(connection, "nobody", "correct horse") is None
        accounts.change_account(connection, key, password="battery staple")
        assert access.identify(connection, session) is None
        stored = connection.scalars(select(ACCOUNT.c.password)).all()
        assert stored[-1].startswith("$argon2id$")
        accounts.change_account(connection, key, is_active=False)
        assert accounts.check_password(connection, "eve", "battery staple") is None
        with pytest.raises(EvalkitError, match="12 to 256"):
            accounts.create_account(connection, "short", "short")


def test_a_role_that_was_taken_is_taken_from_tokens(server: Server) -> None:
    with writing(server.engine) as connection:
        accounts.change_account(connection, 3, role="submitter")
    assert server.ask("host", "GET", "/accounts").status_code == 403


@pytest.mark.parametrize(
    "metric",
    [
        *("mine.py:metric", "../accuracy", "accuracy:labels=/etc/passwd", "s3://b/m"),
        *("accuracy:labels=..", "Accuracy", "", "<b>", "no-such-metric"),
    ],
)
def test_only_installed_components_are_named(shared: Server, metric: str) -> None:
    given = {"eval_metrics": [metric]}
    answer = shared.ask("host", "PATCH", "/tasks/sentiment", json=given)
    assert answer.status_code == 422


def test_answers_have_the_headers_that_browsers_obey(shared: Server) -> None:
    for path in ("/tasks", "/no-such-page"):
        headers = shared.ask(None, "GET", path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert shared.client.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    "name", ["<b>", "../m", "a b", "", "x" * 65, "m\x00", "m\n", "é", "=1+1", "m'--"]
)
def test_names_are_plain(shared: Server, name: str) -> None:
    given = {"task": "sentiment", "name": name}
    assert shared.ask("ada", "POST", "/models", json=given).status_code == 422
    answer = shared.ask("host", "POST", "/accounts", json={"name": name})
    assert answer.status_code == 422
    assert shared.ask("ada", "GET", "/models", params={"nam": name}).status_code == 422


def test_filters_are_values_and_no_sql(shared: Server) -> None:
    shared.add_model()
    for text in ("' OR '1'='1", "m'; DROP TABLE model; --", "%", "m%"):
        answer = shared.ask(None, "GET", "/models", params={"name": text})
        assert (answer.status_code, answer.json()) == (200, [])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rows", "line"])
def test_a_gigabyte_is_checked_in_bounded_memory(kind: str) -> None:
    code = f"""
import io, pathlib
from evalkit_services_server import access, uploads
from evalkit_services_server.settings import Settings

class File(io.RawIOBase):
    row = b'{{"id": 1, "text": "%s"}}\\n' % (b"x" * 1000) if {kind == "rows"} else b"x"
    part = row * ((1 << 20) // len(row))
    left = (1 << 30) // len(part) * len(part)
    def readinto(self, buffer):
        size = min(len(self.part), len(buffer), self.left)
        buffer[:size] = self.part[:size]
        self.part = self.part[size:] + self.part[:size]
        self.left -= size
        return size
    def readable(self):
        return True

try:
    uploads.receive(File(), pathlib.Path("/dev/null"), lambda row: iter(()), Settings())
except access.RequestError as error:
    print(error, end=" ")
status = pathlib.Path("/proc/self/status").read_text()
print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    *reason, megabytes = done.stdout.split()
    assert int(megabytes) < 300
    assert bool(reason) == (kind == "line")
