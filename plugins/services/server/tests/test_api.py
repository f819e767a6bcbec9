"""The API: accounts, tokens, models and submissions."""

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import httpx2
import pyarrow
import pytest
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient
from sqlalchemy import Connection, Table, select

from evalkit.errors import EvalkitError
from evalkit_services_server import access, accounts, jobs, uploads
from evalkit_services_server.app import API, make_app
from evalkit_services_server.database import connect, migrate, now, writing
from evalkit_services_server.evaluation import evaluate_job
from evalkit_services_server.scan import add_dataset
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import ACCOUNT, DATASET, JOB, ROUND, SCAN
from evalkit_services_server.tasks import add_task


def add(connection: Connection, table: Table, **values: object) -> int:
    made = table.insert().values(values).returning(table.c.id)
    key: int = connection.execute(made).scalar_one()
    return key


class Server:
    """A server with a task, two datasets and accounts."""

    def __init__(self, folder: Path, **changed: Any) -> None:
        self.settings = Settings(
            database=f"sqlite:///{folder}/server.db",
            store=f"{folder}/store",
            **changed,
        )
        self.engine = connect(self.settings)
        migrate(self.engine)
        self.tokens: dict[str, str] = {}
        with writing(self.engine) as connection:
            self.task = add_task(connection, "sentiment")
        name = "sample-sentiment"
        assert add_dataset(self.engine, self.settings, name, name).outcome == "added"
        self.dataset = 1
        with writing(self.engine) as connection:
            self._fill(connection)
        self.client = TestClient(make_app(self.settings), base_url="http://testserver")

    def _fill(self, connection: Connection) -> None:
        moment = now(connection)
        dataset = {
            "task_id": self.task,
            "version": "1",
            "fingerprint": "f",
            "uri": "s",
            "languages": ["en"],
            "added": moment,
        }
        self.private, self.hidden = (
            add(connection, DATASET, name=name, access=access, board=board, **dataset)
            for name, access, board in (
                ("private-sentiment", "inputs-private", "scoring"),
                ("hidden-sentiment", "open", "hidden"),
            )
        )
        for name, role in (
            ("ada", "submitter"),
            ("bob", "submitter"),
            ("host", "administrator"),
        ):
            key = accounts.create_account(connection, name, role=role)
            for scope in accounts.SCOPES[role]:
                scopes = accounts.SCOPES[role][: accounts.SCOPES[role].index(scope) + 1]
                token = accounts.create_token(connection, key, scope, scopes)
                self.tokens[f"{name} {scope}"] = token

    def ask(
        self, who: str | None, method: str, path: str, **options: Any
    ) -> httpx2.Response:
        headers = {}
        if who is not None:
            scope = "administer" if who == "host" else "submit"
            token = self.tokens.get(who) or self.tokens[f"{who} {scope}"]
            headers["authorization"] = f"Bearer {token}"
        headers |= options.pop("headers", {})
        return self.client.request(method, f"/api/v1{path}", headers=headers, **options)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.client.close()
    server.engine.dispose()


def add_model(server: Server, name: str = "m", who: str = "ada") -> int:
    given = {"task": "sentiment", "name": name}
    answer = server.ask(who, "POST", "/models", json=given)
    assert answer.status_code == 201, answer.text
    key: int = answer.json()["id"]
    return key


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


GOOD = b'{"id": "1", "label": "positive"}\n{"id": 2, "label": "negative"}\n'


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_predictions_are_stored_and_evaluated(server: Server, pack: Any) -> None:
    model = add_model(server)
    path = f"/models/{model}/submissions?dataset={server.dataset}"
    answer = server.ask("ada", "POST", path, content=pack(GOOD))
    assert answer.status_code == 201, answer.text
    found = answer.json()
    stored = Path(server.settings.store, "predictions", f"{found['sha256']}.jsonl")
    assert stored.read_bytes() == GOOD
    job = server.ask("ada", "GET", f"/jobs?submission={found['id']}").json()[0]
    assert (job["state"], job["submission_id"]) == ("waiting", found["id"])
    assert not [*server.settings.working_folder.joinpath("incoming").iterdir()]


PUBLIC, LOGIN, OWN, HOST = "public", "login", "own", "host"
"""Who may ask: anybody, who is logged in, the owner, an administrator."""

API_RULES: dict[str, tuple[str, str | None, Any]] = {
    "GET /tasks": (PUBLIC, None, None),
    "GET /tasks/{key}": (PUBLIC, "sentiment", None),
    "PATCH /tasks/{code}": (HOST, "sentiment", {"weights": {"accuracy": 2}}),
    "PUT /tasks/{code}/rounds/{number}": (HOST, "sentiment", {"state": "open"}),
    "GET /rounds": (PUBLIC, None, None),
    "GET /rounds/{key}": (PUBLIC, "round", None),
    "GET /datasets": (PUBLIC, None, None),
    "GET /datasets/{key}": (PUBLIC, "dataset", None),
    "PATCH /datasets/{key}": (HOST, "dataset", {"description": "d"}),
    "GET /scans": (HOST, None, None),
    "GET /scans/{key}": (HOST, "scan", None),
    "GET /models": (PUBLIC, None, None),
    "GET /models/{key}": (PUBLIC, "model", None),
    "POST /models": (LOGIN, None, {"task": "sentiment", "name": "new"}),
    "PATCH /models/{key}": (HOST, "model", {"is_trusted": True}),
    "POST /models/{key}/submissions": (OWN, "model", b'{"id":1,"label":"positive"}'),
    "GET /runs": (PUBLIC, None, None),
    "GET /runs/{key}": (PUBLIC, "run", None),
    "GET /runs/{key}/scores": (PUBLIC, "run", None),
    "GET /runs/{key}/problems": (OWN, "run", None),
    "GET /tasks/{code}/board": (PUBLIC, "sentiment", None),
    "GET /submissions": (LOGIN, None, None),
    "GET /submissions/{key}": (OWN, "submission", None),
    "GET /jobs": (LOGIN, None, None),
    "GET /jobs/{key}": (OWN, "job", None),
    "POST /jobs": (HOST, None, {"model_id": 1, "dataset_id": 1}),
    "GET /accounts": (HOST, None, None),
    "GET /accounts/{key}": (HOST, "account", None),
    "POST /accounts": (HOST, None, {"name": "new"}),
    "PATCH /accounts/{key}": (HOST, "account", {"is_active": True}),
    "GET /account": ("token", None, None),
    "GET /tokens": ("token", None, None),
    "GET /tokens/{key}": ("secret", "token", None),
    "POST /tokens": (LOGIN, None, {"label": "l", "scopes": ["read"]}),
    "DELETE /tokens/{key}": ("private", "token", None),
}
"""Of each route: who may ask, whose thing it is asked for, and what is sent."""

FORM = {"task": "sentiment", "name": "new"}
PAGES: dict[str, tuple[str, str | None, Any]] = {
    "GET /": (PUBLIC, None, None),
    "GET /static/{name}": (PUBLIC, "style", None),
    "GET /tasks/{code}": (PUBLIC, "sentiment", None),
    "GET /tasks/{code}/board.{kind}": (PUBLIC, "sentiment", None),
    "GET /models/{key}": (PUBLIC, "model", None),
    "GET /datasets/{key}": (PUBLIC, "dataset", None),
    "GET /runs/{key}": (PUBLIC, "run", None),
    "GET /compare": (PUBLIC, None, None),
    "GET /jobs": (LOGIN, None, None),
    "GET /submissions/{key}": (OWN, "submission", None),
    "GET /account": (LOGIN, None, None),
    "POST /account/models": (LOGIN, None, FORM),
    "POST /models/{key}/submissions": (OWN, "model", {"dataset": "1"}),
    "GET /login": (PUBLIC, None, None),
    "POST /login": ("wrong", None, {"name": "ada", "password": "wrong"}),
    "POST /logout": (PUBLIC, None, {}),
    "GET /health": (PUBLIC, None, None),
    "GET /api/v1/openapi.json": (PUBLIC, None, None),
}
RULES = {f"{r.replace(' ', f' {API}', 1)}": rule for r, rule in API_RULES.items()}
RULES |= PAGES

EXPECTED = {
    # nobody, ada to read, ada (the owner) to submit, bob to submit, the host
    PUBLIC: (2, 2, 2, 2, 2),
    "token": (401, 2, 2, 2, 2),
    LOGIN: (401, 403, 2, 2, 2),
    OWN: (401, 403, 2, 404, 2),
    "private": (401, 403, 2, 404, 404),
    "secret": (401, 2, 2, 404, 404),
    HOST: (401, 403, 403, 403, 2),
    "wrong": (401, 401, 401, 401, 401),
}
Things = tuple[Server, dict[str, Any]]
ASKING = (None, "ada read", "ada submit", "bob submit", "host")


def test_every_route_has_a_rule() -> None:
    app = make_app(Settings(database="sqlite://"))
    found = {
        f"{method} {route.path}"
        for route in iter_route_contexts(app.routes)
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert found == {*RULES}


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Things]:
    server = Server(tmp_path_factory.mktemp("server"))
    model = add_model(server)
    path = f"/models/{model}/submissions?dataset={server.dataset}"
    submission = server.ask("ada", "POST", path, content=GOOD).json()["id"]
    with writing(server.engine) as connection:
        moment = now(connection)
        scan = add(connection, SCAN, name="n", outcome="added", at=moment)
        opened = add(connection, ROUND, task_id=server.task, number=1, state="open")
    claim = jobs.claim(server.engine, "worker", 60)
    assert claim
    evaluate_job(claim, server.settings, server.engine, Event())
    job = server.ask("ada", "GET", f"/jobs?submission={submission}").json()[0]
    keys = {
        **{"sentiment": "sentiment", "dataset": server.dataset, "model": model},
        **{"submission": submission, "job": job["id"], "account": 1, "scan": scan},
        "round": opened,
        "run": job["run_id"],
    }
    yield server, keys
    server.client.close()
    server.engine.dispose()


@pytest.mark.parametrize("route", RULES)
def test_only_who_may_is_answered(things: Things, route: str) -> None:
    server, keys = things
    who, thing, sent = RULES[route]
    method, path = route.split()
    is_page = not path.startswith(API)
    if route == f"POST {API}/models/{{key}}/submissions":
        path += f"?dataset={server.dataset}"
    found = []
    for number, asking in enumerate(ASKING):
        with writing(server.engine) as connection:
            ended = {"state": "failed", "ended": now(connection)}
            connection.execute(JOB.update().values(ended))
        server.ask("ada", "POST", "/tokens", json={"label": "l", "scopes": ["read"]})
        token = server.ask("ada", "GET", "/tokens").json()[0]["id"]
        key = str({**keys, "token": token}.get(str(thing)))
        place = path.replace("{key}", key).replace("{code}", key)
        place = place.replace("{number}", "1").replace("{kind}", "csv")
        place = place.replace("{name}", "style.css")
        options: dict[str, Any] = {"follow_redirects": False, "whole": True}
        if isinstance(sent, bytes):
            options["content"] = sent
        elif sent is not None:
            name = {"name": f"new-{number}-{len(path)}"} if sent.get("task") else {}
            name = {"name": f"new-{number}"} if sent == {"name": "new"} else name
            options["data" if is_page else "json"] = {**sent, **name}
        if isinstance(sent, dict) and "dataset" in sent:
            options["files"] = {"file": GOOD}
        answer = server.ask(asking, method, place, **options)
        status = answer.status_code
        if answer.headers.get("location", "").startswith("/login"):
            status = 401
        found.append(2 if status < 400 else status)
    assert tuple(found) == EXPECTED[who]


def upload(server: Server, content: Any, **options: Any) -> httpx2.Response:
    model = add_model(server, "uploaded")
    path = f"/models/{model}/submissions?dataset={options.pop('to', server.dataset)}"
    return server.ask("ada", "POST", path, content=content, **options)


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
    server: Server, content: bytes, line: int, field: str, rule: str
) -> None:
    answer = upload(server, content)
    assert answer.status_code == 422
    [problem] = answer.json()["problems"]
    assert (problem["line"], problem["field"]) == (line, field)
    assert rule in problem["rule"]
    assert not Path(server.settings.store, "predictions").exists()


def zst(data: bytes) -> bytes:
    return bytes(pyarrow.compress(data, codec="zstd", asbytes=True))


MIB = 1 << 20
ROW = b'{"id": 1, "label": "positive"}'.ljust(MIB - 1) + b"\n"
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
    "many bad lines": (lambda: b"x\n" * 10_000, 422, "at least 100 problems"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_files_are_refused(tmp_path: Path, name: str) -> None:
    make, status, reason = REFUSED[name]
    server = Server(tmp_path, largest_upload=16 * MIB, longest_line=4 * MIB)
    answer = upload(server, make())
    assert (answer.status_code, reason in answer.text) == (status, True)
    assert not [*server.settings.working_folder.joinpath("incoming").iterdir()]


def test_a_full_disk_is_the_servers_fault(server: Server) -> None:
    with pytest.raises(access.RequestError, match="no space") as caught:
        uploads.receive(
            io.BytesIO(GOOD * 10_000),
            Path("/dev/full"),
            lambda _row: iter(()),
            server.settings,
        )
    assert caught.value.status == 507


def test_a_body_without_end_is_not_read(server: Server) -> None:
    parts = (b" " * MIB for _ in range(64))
    assert server.ask("ada", "POST", "/models", content=parts).status_code == 413


def test_what_takes_no_predictions(server: Server) -> None:
    answers = {
        name: upload(server, GOOD, to=key)
        for name, key in (("private", server.private),)
    }
    assert answers["private"].status_code == 409
    assert "inputs are private" in answers["private"].text
    for key in (server.hidden, 999):
        path = f"/models/1/submissions?dataset={key}"
        found = server.ask("ada", "POST", path, content=GOOD)
        assert found.status_code == 404
        assert found.json() == {"detail": f"dataset {key}: not found"}


def test_a_quota_ends_uploads_before_they_arrive(tmp_path: Path) -> None:
    server = Server(tmp_path, submissions_a_day=1)
    assert upload(server, GOOD).status_code == 201

    def never() -> Iterator[bytes]:
        raise AssertionError
        yield b""

    path = f"/models/1/submissions?dataset={server.dataset}"
    answer = server.ask("ada", "POST", path, content=never())
    assert (answer.status_code, "quota of 1" in answer.text) == (429, True)
    assert int(answer.headers["retry-after"]) > 0


def test_too_many_requests(tmp_path: Path) -> None:
    server = Server(tmp_path, requests_a_minute=3)
    statuses = [server.ask("ada", "GET", "/tasks").status_code for _ in range(8)]
    assert {200, 429} == {*statuses}
    assert server.ask("bob", "GET", "/tasks").status_code == 200


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


def test_passwords(server: Server) -> None:
    with writing(server.engine) as connection:
        key = accounts.create_account(connection, "eve", "correct horse")
        assert accounts.check_password(connection, "eve", "correct horse") == key
        session = accounts.open_session(connection, key)
        assert accounts.check_password(connection, "eve", "wrong horse!") is None
        assert accounts.check_password(connection, "nobody", "correct horse") is None
        assert accounts.check_password(connection, "ada", "") is None
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
def test_only_installed_components_are_named(server: Server, metric: str) -> None:
    given = {"eval_metrics": [metric]}
    answer = server.ask("host", "PATCH", "/tasks/sentiment", json=given)
    assert answer.status_code == 422


def test_answers_have_the_headers_that_browsers_obey(server: Server) -> None:
    for path in ("/tasks", "/no-such-page"):
        headers = server.ask(None, "GET", path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert server.client.get("/health").json() == {"status": "ok"}
