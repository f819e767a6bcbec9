"""Who may ask for what: each route of the API and the pages."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.routing import iter_route_contexts

from evalkit_services_server.app import API, make_app
from evalkit_services_server.database import now, writing
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import JOB, SCAN

from .world import GOOD, PREDICTIONS, World, settings_in

PUBLIC, LOGIN, OWN, HOST = "public", "login", "own", "host"
"""Who may ask: anybody, who is logged in, the owner, an administrator."""

API_RULES: dict[str, tuple[str, str | None, Any]] = {
    "GET /tasks": (PUBLIC, None, None),
    "GET /tasks/{key}": (PUBLIC, "sentiment", None),
    "PATCH /tasks/{code}": (HOST, "sentiment", {"weights": {"sample-sentiment": 2}}),
    "PUT /tasks/{code}/rounds/{number}": (HOST, "sentiment", {"state": "open"}),
    "GET /rounds": (PUBLIC, None, None),
    "GET /rounds/{key}": (PUBLIC, "round", None),
    "GET /datasets": (PUBLIC, None, None),
    "GET /datasets/{key}": (PUBLIC, "dataset", None),
    "PATCH /datasets/{key}": (HOST, "dataset", {"board": "scoring"}),
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
    "GET /account": ("token", None, None),
}
"""Of each route: who may ask, whose thing it is asked for, and what is sent."""

FORM = {"task": "sentiment", "name": "new"}
PAGES: dict[str, tuple[str, str | None, Any]] = {
    "GET /": (PUBLIC, None, None),
    "GET /static/{name}": (PUBLIC, "style", None),
    "GET /tasks/{code}": (PUBLIC, "sentiment", None),
    "GET /tasks/{code}/board.csv": (PUBLIC, "sentiment", None),
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
    HOST: (401, 403, 403, 403, 2),
    "wrong": (401, 401, 401, 401, 401),
}
Things = tuple[World, dict[str, Any]]
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
    server = World(
        settings_in(tmp_path_factory.mktemp("server"), requests_a_minute=10_000)
    )
    submission = server.upload(PREDICTIONS.read_bytes()).json()["id"]
    server.add(SCAN, "at", name="n", outcome="added")
    server.ask("host", "PUT", "/tasks/sentiment/rounds/1", json={"state": "open"})
    assert server.evaluate() == "done"
    job = server.ask("ada", "GET", f"/jobs?submission={submission}").json()[0]
    keys = {
        **{"sentiment": "sentiment", "dataset": server.dataset, "model": 1},
        **{"submission": submission, "job": job["id"], "run": job["run_id"]},
        **{"scan": 1, "round": 1},
    }
    yield server, keys
    server.close()


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
        if route == f"POST {API}/jobs":
            with writing(server.engine) as connection:
                ended = {"state": "failed", "ended": now(connection)}
                connection.execute(JOB.update().values(ended))
        key = str(keys.get(str(thing)))
        place = path.replace("{key}", key).replace("{code}", key)
        place = place.replace("{number}", "1")
        place = place.replace("{name}", "style.css")
        options: dict[str, Any] = {"follow_redirects": False, "whole": True}
        if isinstance(sent, bytes):
            options["content"] = sent
        elif sent is not None:
            name = {"name": f"new-{number}-{len(path)}"} if sent.get("task") else {}
            options["data" if is_page else "json"] = {**sent, **name}
        if isinstance(sent, dict) and "dataset" in sent:
            options["files"] = {"file": GOOD}
        answer = server.ask(asking, method, place, **options)
        status = answer.status_code
        if answer.headers.get("location", "").startswith("/login"):
            status = 401
        found.append(2 if status < 400 else status)
    assert tuple(found) == EXPECTED[who]


def test_scores_of_private_datasets_are_withheld(things: Things) -> None:
    server, keys = things
    path = f"/datasets/{server.dataset}"
    scores = f"/runs/{keys['run']}/scores"
    exact = server.ask("host", "GET", scores).json()
    assert exact["scores"]
    server.ask("host", "PATCH", path, json={"access": "labels-private"})
    try:
        assert server.ask("host", "GET", scores).json() == exact
        for who in (None, "ada"):
            shown = server.ask(who, "GET", scores).json()["scores"]
            assert not [score for score in shown if score["tag"] and score["n"] < 20]
            for score in shown:
                value = score["value"]
                assert value is None or value == float(f"{value:.2g}")
    finally:
        server.ask("host", "PATCH", path, json={"access": "open"})
