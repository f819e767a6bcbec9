"""Pages: complete without JavaScript, and only for whom they are."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from evalkit import read_run
from evalkit_services_server.accounts import save_account
from evalkit_services_server.database import writing
from evalkit_services_server.tables import ACCOUNT, DATASET, RUN

PASSWORD = "correct horse battery"
MARKUP = "<script>alert(1)</script>"


class Site:
    """The pages of a server with one run of ada's model."""

    def __init__(self, world: Any) -> None:
        self.world = world
        with writing(world.engine) as connection:
            for name in ("ada", "bob", "host"):
                save_account(connection, name, PASSWORD)
            connection.execute(update(DATASET).values(description=MARKUP))
        self.model = world.add_model("vader")
        world.submit(self.model, world.predictions["vader"])
        world.evaluate()
        [run] = world.rows(RUN)
        headline = read_run(run["folder"]).headline
        assert headline is not None
        self.score = 100 * float(headline.value or 0)
        self.anybody = TestClient(world.app, follow_redirects=False)

    def log_in(self, name: str) -> TestClient:
        client = TestClient(self.world.app, follow_redirects=False)
        form = {"name": name, "password": PASSWORD, "next": "/account"}
        answer = client.post("/login", data=form)
        assert (answer.status_code, answer.headers["location"]) == (303, "/account")
        return client

    def change_dataset(self, **values: str) -> None:
        with writing(self.world.engine) as connection:
            connection.execute(update(DATASET).values(values))


@pytest.fixture
def site(world: Any) -> Site:
    return Site(world)


def csrf(page: str) -> str:
    found = re.search('csrf_token=([0-9a-f]+)"', page)
    assert found is not None
    return found[1]


PAGES = (
    *("/", "/tasks/sentiment", "/tasks/sentiment?dataset=sample-sentiment&by=tag"),
    *("/models/1", "/datasets/1", "/runs/1", "/compare", "/compare?dataset=1"),
    *("/compare?first=1&second=1", "/login"),
)


def test_everybody_reads_pages_without_inline_scripts(site: Site) -> None:
    for path in PAGES:
        page = site.anybody.get(path)
        assert page.status_code == 200, page.text
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert MARKUP not in page.text
        scripts = re.findall("<script(.*?)>", page.text)
        assert all(" src=" in x or "application/json" in x for x in scripts), path
        assert not re.search(r"<[^>]+ (on\w+|hx-on[^=]*|style)=", page.text), path
        assert str(site.world.settings.store) not in page.text, path
    for name in ("style.css", "htmx.min.js", "report.js"):
        assert site.anybody.get(f"/static/{name}").status_code == 200
    board = site.anybody.get("/tasks/sentiment").text
    assert "&lt;script&gt;" in site.anybody.get("/datasets/1").text
    assert f">{site.score:.1f}</a>" in board
    assert site.anybody.get("/tasks/sentiment/board.csv").text.startswith("model,rank")


REFUSED = {
    **{"/tasks/none": 404, "/models/9": 404, "/datasets/9": 404, "/runs/9": 404},
    **{"/static/no.js": 404},
    **{"/tasks/sentiment?metric=x": 422, "/tasks/sentiment?round=x": 422},
    **{"/jobs": 303, "/account": 303, "/submissions/1": 303},
}


def test_what_is_absent_or_needs_an_account_is_said(site: Site) -> None:
    for path, status in REFUSED.items():
        page = site.anybody.get(path)
        assert page.status_code == status, path
        assert "html" in page.headers.get("content-type", "html"), path
    assert site.anybody.get("/jobs").headers["location"] == "/login?next=%2Fjobs"
    shutil.rmtree(f"{site.world.settings.store}/runs")
    page = site.anybody.get("/runs/1")
    assert (page.status_code, "/runs/" in page.text) == (503, False)


def test_things_of_others_are_as_absent(site: Site) -> None:
    bob, host = site.log_in("bob"), site.log_in("host")
    absent = bob.get("/submissions/1")
    assert (absent.status_code, "Log out bob" in absent.text) == (404, True)
    assert host.get("/submissions/1").status_code == 200
    assert "vader" not in bob.get("/jobs").text
    assert "vader" in host.get("/jobs").text
    assert "Upload predictions" not in bob.get("/models/1").text
    site.change_dataset(board="hidden")
    for path in ("/datasets/1", "/runs/1", "/compare?first=1"):
        assert bob.get(path).status_code == 404, path
        assert host.get(path).status_code == 200, path
    assert "sample-sentiment" not in bob.get("/models/1").text
    ada = site.log_in("ada")
    assert "sample-sentiment" not in ada.get("/jobs").text
    assert ada.get("/submissions/1").status_code == 404


@pytest.mark.parametrize("access", ["labels-private", "inputs-private"])
def test_private_datasets_tell_no_labels(site: Site, access: str) -> None:
    before = site.anybody.get("/runs/1").text
    assert "Confusion" in before
    site.change_dataset(access=access)
    run = site.anybody.get("/runs/1").text
    assert "scores are rounded" in run
    for hidden in ("Confusion", "[64", "domain:food", "Provenance"):
        assert hidden not in run, hidden
    assert f"{site.score:.0f}.0 %" in run
    assert "are not compared" in site.anybody.get("/compare?first=1&second=1").text
    samples = site.anybody.get("/datasets/1").text
    assert ("Porto stole our hearts" in samples) is (access == "labels-private")
    assert "phenomenon:idiom" not in samples
    board = site.anybody.get("/tasks/sentiment").text
    assert f">{site.score:.0f}.0</a>" in board
    assert "sample-sentiment is private: scores are rounded" in board
    assert "Confusion" in site.log_in("host").get("/runs/1").text


def test_refusals_on_private_datasets_name_no_ids(site: Site, tmp_path: Path) -> None:
    path, world = tmp_path / "some.jsonl", site.world
    lines = world.predictions["vader"].read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[1:], b'{"id": "strange"}\n']))
    with world.engine.connect() as connection:
        bob = connection.scalar(select(ACCOUNT.c.id).where(ACCOUNT.c.name == "bob"))
    world.submit(world.add_model("some", account_id=bob), path)
    site.world.evaluate()
    client = site.log_in("bob")
    assert "sent-001" in client.get("/runs/2").text
    site.change_dataset(access="labels-private")
    run, job = client.get("/runs/2").text, client.get("/submissions/2").text
    assert "withheld" in job
    assert "strange" in run
    assert "sent-001" not in run + job


def test_predictions_are_uploaded_and_followed(site: Site, tmp_path: Path) -> None:
    bob = site.log_in("bob")
    page = bob.get("/account").text
    form = {"task": "sentiment", "name": "mine"}
    assert bob.post("/account/models", data=form).status_code == 403
    proof = {"csrf_token": csrf(page)}
    wrong = bob.post("/account/models", data={**form, "name": "a b"}, params=proof)
    assert wrong.status_code == 422
    answer = bob.post("/account/models", data=form, params=proof)
    assert answer.status_code == 303, answer.text
    assert ">mine</a> on sample-sentiment" in bob.get("/account").text
    path = answer.headers["location"]
    page = bob.get(path).text
    assert "waiting for predictions" in page
    assert "waiting for predictions" in site.anybody.get("/tasks/sentiment").text
    place, sent = f"{path}/submissions", {"dataset": "1"}
    content = site.world.predictions["vader"].read_bytes()
    files = {"file": ("mine.jsonl", content)}
    assert bob.post(place, data=sent, files=files).status_code == 403
    place += f"?csrf_token={csrf(page)}"
    assert bob.post(place, data=sent).status_code == 422
    wrong = bob.post(place, data=sent, files={"file": ("x", b'{"id": 1}\n[]\n')})
    assert wrong.status_code == 422
    assert '<td class="n">2</td>' in wrong.text
    assert f'<a href="{path}">Back</a>' in wrong.text
    assert "None" not in wrong.text
    answer = bob.post(place, data=sent, files=files)
    assert answer.status_code == 303, answer.text
    progress = answer.headers["location"]
    assert "waiting to be evaluated" in bob.get(progress).text
    site.world.evaluate()
    with site.world.engine.connect() as connection:
        run = connection.scalar(select(RUN.c.id).order_by(RUN.c.id.desc()))
    page = bob.get(progress).text
    assert f"/runs/{run}" in page
    assert "every 1s" not in page
    assert bob.get(f"/compare?first=1&second={run}").status_code == 200


def test_a_session_begins_and_ends(site: Site) -> None:
    client = site.anybody
    for name in ("bob", "nobody"):
        wrong = client.post("/login", data={"name": name, "password": "wrong"})
        assert wrong.status_code == 401
        assert "Unknown name or wrong password." in wrong.text
    form = {"name": "bob", "password": PASSWORD, "next": "//evil.example"}
    answer = client.post("/login", data=form)
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    page = client.get("/account").text
    assert client.post("/logout").status_code == 403
    ended = client.post(f"/logout?csrf_token={csrf(page)}")
    assert ended.status_code == 303
    assert client.get("/account").status_code == 303
