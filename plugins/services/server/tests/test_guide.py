"""The guide of Dynabench's evaluation server, sentence by sentence."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.request import urlopen

import pytest
from click.testing import CliRunner
from sqlalchemy import Engine, Table, select, update

from evalkit.errors import EvalkitError
from evalkit_cli.main import cli
from evalkit_services_server import jobs, requests, tasks
from evalkit_services_server.boards import read_board
from evalkit_services_server.database import connect, insert, migrate, now, writing
from evalkit_services_server.datasets import of_one_access, sha256_of
from evalkit_services_server.evaluation import evaluate_job
from evalkit_services_server.filters import Filters
from evalkit_services_server.scan import scan
from evalkit_services_server.settings import Settings
from evalkit_services_server.tables import (
    ACCOUNT,
    DATASET,
    JOB,
    MODEL,
    ROUND,
    SCAN,
    SCORE,
    SUBMISSION,
    TASK,
)

ROWS = [
    ("1", "He is a good man.", "positive", "short"),
    ("2", "She said the film was bad.", "negative", "long"),
    ("3", "His brother liked it.", "positive", "short"),
    ("4", "Nothing to see here, sir.", "neutral", "long"),
]
CODE = """
import evalkit

ROWS = {rows}

class TaskIO(evalkit.BaseTaskIO):
    eval_metrics = ("macro-f1",)
    delta_metrics = ("fairness",)
    perturb_fields = ("statement",)

    def __init__(self):
        super().__init__({{"uid": "0", "statement": "A good day.", "source": "web"}})

class Reviews(evalkit.Dataset):
    task = "opinion"
    name = "{name}"
    version = "{version}"
    round_id = {round}
    languages = ("en",)

    def load(self, split):
        keys = "uid", "statement", "label"
        more = {{"source": "shop"}}
        return [dict(zip(keys, row)) | more | {{"tags": [row[3]]}} for row in ROWS]

def load_datasets():
    return {{"{key}": Reviews()}}
"""
Install = Callable[..., None]
SAMPLE = "sample-sentiment"
SENT: list[dict[str, str]] = []
"""What the model was sent."""


class Host:
    """A server without its web part: the database, the store and a worker."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.engine: Engine = connect(settings)
        migrate(self.engine)

    def add(self, table: Table, **values: object) -> int:
        with writing(self.engine) as connection:
            times = {name: now(connection) for name in ("added", "created", "received")}
            kept = {k: v for k, v in times.items() if k in table.c}
            made = insert(connection, table).values(**kept, **values)
            key: int = connection.scalar(made.returning(table.c.id))
        return key

    def add_model(self, name: str, endpoint: Mapping[str, Any] | None = None) -> int:
        account = self.add(ACCOUNT, name=f"owner-of-{name}", role="submitter")
        owned = dict(task_id=1, account_id=account, endpoint=endpoint)
        model = self.add(MODEL, name=name, **owned)
        with writing(self.engine) as connection:
            requests.request_all(connection, MODEL.c.id == model)
        return model

    def submit(self, model: int, dataset: str, rows: Mapping[str, str]) -> None:
        path = Path(f"{model}-{dataset}.jsonl").resolve()
        lines = [json.dumps({"id": uid, "label": x}) for uid, x in rows.items()]
        path.write_text("\n".join(lines))
        (key,) = self.column(DATASET.c.id, DATASET.c.name == dataset)[-1:]
        of_file = dict(uri=str(path), sha256=sha256_of(path), size=1)
        self.add(SUBMISSION, model_id=model, dataset_id=key, **of_file)
        with writing(self.engine) as connection:
            requests.request(connection, model, key)

    def scan(self) -> dict[str, tuple[str, str | None]]:
        found = scan(self.engine, self.settings)
        return {name: (what, why) for name, what, why in found if "reviews" in name}

    def work(self) -> list[str]:
        states = []
        while claim := jobs.claim(self.engine, "worker", 60):
            states.append(evaluate_job(claim, self.settings, self.engine, Event()))
        return states

    def column(self, column: Any, *chosen: Any) -> list[Any]:
        with self.engine.connect() as connection:
            query = select(column).where(*chosen).order_by(column)
            return list(connection.scalars(query))

    def board(self, **filters: Any) -> dict[str, list[Any]]:
        with self.engine.connect() as connection:
            task = connection.execute(select(TASK)).mappings().one()
            board = read_board(connection, task, Filters(**filters), exact=False)
        return {
            line.model: [
                cell.reason if cell.value is None else round(cell.value, 3)
                for cell in line.scores
            ]
            for line in board.models
        }


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def host(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake_distribution: Any,
) -> Iterator[Host]:
    values = dict(rows=[], name="none", key="none", version="1", round=0)
    task = {"evalkit.tasks": {"opinion": "TaskIO"}}
    fake_distribution(CODE.format(**values), task, name="opinion")
    monkeypatch.chdir(tmp_path)
    database = f"sqlite:///{tmp_path}/server.db"
    if request.param == "postgresql":
        database = request.getfixturevalue("cluster").add_database()
    monkeypatch.setenv("EVALKIT_SERVER_DATABASE", database)
    monkeypatch.setenv("EVALKIT_SERVER_STORE", str(tmp_path / "store"))
    host = Host(Settings())
    with writing(host.engine) as connection:
        tasks.add_task(connection, "opinion")
        keys = ["uid", "statement"]
        assert tasks.change_task(connection, "opinion", input_keys=keys) == []
    yield host
    host.engine.dispose()


@pytest.fixture
def install(fake_distribution: Any) -> Install:
    def install(name: str = "reviews", **changes: Any) -> None:
        values = {"rows": ROWS, "version": "1", "round": 0, "key": name, **changes}
        code = CODE.format(name=name, **values)
        fake_distribution(code, {"evalkit.datasets": {name: "Reviews"}}, name=name)

    return install


@pytest.fixture
def endpoint() -> Iterator[dict[str, Any]]:
    """A model that can be asked, and says `positive`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            SENT.append(json.loads(sent))
            body = json.dumps({**SENT[-1], "label": "positive"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    yield {"model": "http", "parameters": {"url": url}}
    server.shutdown()
    server.server_close()


GOOD = {uid: label for uid, _, label, _ in ROWS}
HALF = {**GOOD, "1": "neutral", "2": "neutral"}


@pytest.mark.slow
def test_the_guide_from_a_package_to_a_board_by_tag(
    host: Host, install: Install, endpoint: dict[str, Any], tmp_path: Path
) -> None:
    host.settings.endpoints = (endpoint["parameters"]["url"],)
    good, half = host.add_model("good"), host.add_model("half")
    host.add_model("asked", endpoint)
    install()
    assert host.scan() == {"reviews": ("added", None)}
    stored = tmp_path / "store" / "datasets" / "opinion" / "reviews.jsonl"
    assert len(stored.read_text().splitlines()) == 4
    assert host.column(DATASET.c.uri) == [str(stored)]
    assert host.work() == ["done"]  # the asked model; the others have no predictions
    assert {"statement", "source"} & SENT[-1].keys() == {"statement"}
    waiting = "waiting for predictions"
    assert host.board() == {"asked": [0.5], "good": [waiting], "half": [waiting]}
    host.submit(good, "reviews", GOOD)
    host.submit(half, "reviews", HALF)
    assert host.work() == ["done", "done"]
    expected = {"good": [1.0, 1.0, 1.0], "asked": [0.5, 0.0, 1.0]}
    found = host.board(by="tag", dataset=("reviews",))
    assert found == {**expected, "half": [0.5, 0.5, 0.5]}
    assert host.scan() == {"reviews": ("present", None)}
    assert host.work() == []

    perturbed = CliRunner().invoke(
        cli,
        f"perturb --s3-uri {stored} --task opinion --perturb-prefix fairness".split(),
    )
    told = perturbed.stdout.rpartition("evalkit ")[2].split()
    done = CliRunner().invoke(cli, told)
    assert done.stdout == "fairness-reviews: added\n", done.output
    assert host.work() == ["done"]
    copies = Path(told[2]).read_text().splitlines()
    uids = [json.loads(line)["uid"] for line in copies]
    assert {uid.partition("_")[0] for uid in uids} == set(GOOD)
    host.submit(half, "fairness-reviews", dict.fromkeys(uids, "neutral"))
    assert host.work() == ["done"]
    deltas = host.board(metric="fairness")
    assert deltas["asked"] == [1.0]
    assert 0 < deltas["half"][0] < 1
    assert deltas["good"] == [waiting]


@pytest.mark.slow
def test_a_delta_waits_for_the_original_and_names_its_failure(
    host: Host, install: Install
) -> None:
    install()
    host.scan()
    model = host.add_model("late")
    row = {"uid": "1_X", "input_id": "1", "statement": "x", "label": "positive"}
    row |= {"source": "shop"}
    row |= {"perturbation": "x", "families": ["fairness"], "label_effect": "invariant"}
    Path("x.jsonl").write_text(json.dumps({**row, "tags": []}))
    words = ["host", "dataset", "x.jsonl", "--original", "reviews"]
    words += ["--perturb-prefix", "fairness"]
    assert CliRunner().invoke(cli, words).stdout == "fairness-reviews: added\n"
    host.submit(model, "fairness-reviews", {"1_X": "positive"})
    assert host.work() == []
    reason = "it needs predictions for the original dataset first"
    assert host.column(JOB.c.reason) == [reason]
    host.submit(model, "reviews", {"1": "positive"})
    assert host.work() == ["refused", "done"]
    (reason,) = host.board(metric="fairness")["late"]
    assert reason.startswith("the evaluation on reviews was refused: ")
    host.submit(model, "reviews", GOOD)
    assert host.work() == ["done", "done"]
    assert host.board(metric="fairness")["late"] == [1.0]
    Path("x.jsonl").write_text(json.dumps({**row, "input_id": "9", "tags": []}))
    refused = CliRunner().invoke(cli, words)
    assert "input_id is '9', expected the uid of an example" in refused.output

    host.submit(host.add_model("later"), "fairness-reviews", {"1_X": "positive"})
    assert host.work() == []
    with writing(host.engine) as connection:
        all_of_it = update(DATASET).where(of_one_access(2))
        connection.execute(all_of_it.values(access="labels-private", board="hidden"))
    install(version="2")
    again = "perturb it again, as fairness-reviews is of its former version"
    assert host.scan() == {"reviews": ("added", again)}
    assert host.column(JOB.c.id, JOB.c.ended.is_(None)) == []
    assert host.column(DATASET.c.access) == 3 * ["labels-private"]
    assert host.column(DATASET.c.board) == 3 * ["hidden"]


def test_content_that_changes_triggers_nothing_and_a_new_version_does(
    host: Host, install: Install, tmp_path: Path
) -> None:
    install()
    host.scan()
    host.submit(host.add_model("m"), "reviews", GOOD)
    assert host.work() == ["done"]
    other = [("1", "Another text.", "neutral", "short")]
    install(rows=other)
    ((outcome, reason),) = host.scan().values()
    assert (outcome, host.work()) == ("changed", [])
    assert "version 1 has other content than when it was added" in str(reason)
    assert host.column(SCAN.c.outcome, SCAN.c.name == "reviews") == ["changed"]
    install(rows=other, version="2")
    assert host.scan() == {"reviews": ("added", None)}
    stored = tmp_path / "store" / "datasets" / "opinion"
    names = [path.name for path in sorted(stored.glob("*.jsonl"))]
    assert names == ["reviews.2.jsonl", "reviews.jsonl"]
    with host.engine.connect() as connection:
        (waiting,) = requests.waiting_for_predictions(connection, 1)
    assert waiting == ("m", "reviews", 1)
    assert host.board() == {"m": ["waiting for predictions"]}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"key": "other-reviews"}, "must equal the dataset's name 'reviews'"),
        ({"key": "My_reviews"}, "lower case letters, digits and dashes only"),
        ({"rows": "1 / 0"}, "ZeroDivisionError: division by zero"),
        ({"rows": [("1", "a", None, "t")]}, "(uid '1'): answer"),
    ],
)
def test_a_dataset_of_load_datasets_that_is_refused_leaves_no_row_but_a_reason(
    host: Host, changes: dict[str, Any], reason: str
) -> None:
    values = {"rows": ROWS, "version": "1", "round": 0, "key": "reviews", **changes}
    Path("hosted_reviews.py").write_text(CODE.format(name="reviews", **values))
    host.settings.datasets = ("hosted_reviews:load_datasets",)
    try:
        ((outcome, found),) = host.scan().values()
    finally:
        sys.modules.pop("hosted_reviews", None)
    assert outcome == "refused"
    assert reason in str(found)
    assert host.column(DATASET.c.name, DATASET.c.name.contains("reviews")) == []


OF_DYNABENCH = """
import json
from pathlib import Path

from evalkit_storage_s3.dynabench import BaseDataset

class SmallReviews(BaseDataset):
    def __init__(self):
        super().__init__(
            task="opinion", name="small-reviews", round_id=0, access_type="standard"
        )

    def load(self) -> bool:
        rows = Path("rows.jsonl")
        if rows.exists():
            self.s3_client.put_object(
                Body=rows.read_bytes(),
                Bucket=self.task.s3_bucket,
                Key=self._get_data_s3_path(),
            )
        return rows.exists()

    def label_field_converter(self, example):
        return {"id": example["uid"], "answer": example["label"], "tags": []}

    def pred_field_converter(self, example):
        return {"id": example["id"], "pred": example["label"]}

def load_datasets():
    return {"small-reviews": SmallReviews()}
"""


@pytest.mark.slow
def test_a_dataset_of_dynabench_is_sent_by_its_load(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moto.server import ThreadedMotoServer

    from evalkit.places import forget_places
    from evalkit_storage_s3.clients import make_client

    Path("small_reviews.py").write_text(OF_DYNABENCH)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", address)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "us-east-1")
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(Path("cache").resolve()))
    forget_places()
    make_client.cache_clear()
    bucket = f"b-{uuid.uuid4().hex}"  # moto keeps those of earlier tests
    host.settings.store = f"s3://{bucket}"
    host.settings.datasets = ("small_reviews:load_datasets",)
    try:
        make_client().create_bucket(Bucket=bucket)
        refusal = "load() of small-reviews said that it sent nothing"
        assert host.scan() == {"small-reviews": ("refused", refusal)}
        assert host.column(DATASET.c.id) == []
        row = {"uid": "1", "statement": "x", "source": "web", "label": "positive"}
        Path("rows.jsonl").write_text(json.dumps(row))
        assert host.scan() == {"small-reviews": ("added", None)}
        uri = f"s3://{bucket}/datasets/opinion/small-reviews.jsonl"
        assert host.column(DATASET.c.uri) == [uri]
        assert host.column(DATASET.c.board) == ["standard"]
        host.submit(host.add_model("m"), "small-reviews", {"1": "positive"})
        assert host.work() == ["done"]
        assert host.column(SCORE.c.value, SCORE.c.metric == "accuracy") == [1.0]
    finally:
        make_client().close()
        make_client.cache_clear()
        forget_places()
        server.stop()
        os.environ.pop("EVALKIT_S3_BUCKET", None)
        sys.modules.pop("small_reviews", None)


def test_a_task_is_changed_while_it_runs_and_a_new_metric_scores_all_again(
    host: Host, install: Install
) -> None:
    install()
    host.scan()
    for name in ("a", "b"):
        host.submit(host.add_model(name), "reviews", GOOD)
    host.work()
    refusals: tuple[tuple[dict[str, Any], str], ...] = (
        ({"perf_metric": "acuracy"}, "accuracy"),
        ({"delta_metrics": ["mcc"]}, "family of perturbations, such as"),
        ({"input_keys": ["text"]}, "'text' is not a field of the task"),
        ({"weights": {"bleu": 1}}, "'bleu' is not a dataset of the task"),
    )
    with writing(host.engine) as connection:
        for change, message in refusals:
            with pytest.raises(EvalkitError, match=message):
                tasks.change_task(connection, "opinion", **change)
        weights = {"reviews": 2}
        assert tasks.change_task(connection, "opinion", weights=weights) == []
        requested = tasks.change_task(connection, "opinion", eval_metrics=["mcc"])
        assert len(requested) == 2
    host.work()
    assert host.board(metric="mcc") == {"a": [1.0], "b": [1.0]}
    with (
        pytest.raises(EvalkitError, match="not on this server"),
        writing(host.engine) as connection,
    ):
        tasks.change_task(connection, "nli", eval_metrics=["mcc"])


@pytest.mark.slow
def test_a_round_takes_data_and_models_while_it_is_open(
    host: Host, install: Install
) -> None:
    install(round=1)
    host.scan()
    old = host.add_model("old")
    host.submit(old, "reviews", GOOD)
    host.work()
    host.add_model("new")
    for state, metric_name, requested in (("closed", "mcc", 1), ("frozen", "f1", 0)):
        with writing(host.engine) as connection:
            tasks.set_round(connection, 1, 1, state)
            found = tasks.change_task(connection, "opinion", eval_metrics=[metric_name])
        assert len(found) == requested
    assert host.work() == ["done"]
    install("late-reviews", round=1)
    outcome, reason = host.scan()["late-reviews"]
    assert (outcome, reason) == (
        "refused",
        "round 1 is frozen: no dataset can join it",
    )
    with writing(host.engine) as connection:
        with pytest.raises(EvalkitError, match="round 1 is frozen"):
            tasks.set_round(connection, 1, 1, "open")
        with pytest.raises(EvalkitError, match="the task has no round 3"):
            tasks.set_round(connection, 1, 3, "closed")
        with pytest.raises(EvalkitError, match="round must be at least 1, got 0"):
            tasks.set_round(connection, 1, 0, "open")
        tasks.set_round(connection, 1, 2, "open")
    assert host.column(ROUND.c.number) == [1, 2]


@pytest.mark.slow
def test_a_dataset_that_scores_itself_is_scored_so(
    host: Host, fake_distribution: Any
) -> None:
    values = dict(rows=ROWS, name="own-reviews", key="x", version="1", round=0)
    own = """
    def evaluate(self, frame):
        return {"score": 0.25}
"""
    code = CODE.format(**values).replace("\ndef load_datasets", f"{own}\ndef load_data")
    entry = {"evalkit.datasets": {"own-reviews": "Reviews"}}
    fake_distribution(code, entry, name="own-reviews")
    assert host.scan() == {"own-reviews": ("added", None)}
    host.submit(host.add_model("m"), "own-reviews", GOOD)
    assert host.work() == ["done"]
    own_score = SCORE.c.metric == "own-reviews#score"
    assert host.column(SCORE.c.value, own_score) == [0.25]


@pytest.mark.slow
def test_the_documented_leaderboard_is_made_in_the_shell(tmp_path: Path) -> None:
    page = Path(__file__).parents[4] / "docs" / "server.md"
    section = page.read_text().partition("\n## What happens when")[0]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    texts = re.findall(r"```\w+\n(.*?)```", section.replace("8000", port), re.DOTALL)
    setup, code, serve, submit = texts
    (tmp_path / "our_datasets.py").write_text(code)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    own = {"PATH": path, "EVALKIT_OFFLINE": "1", "EVALKIT_SERVER_PORT": port}
    own["EVALKIT_SERVER_PASSWORD"] = "a password of a host"
    shared: dict[str, Any] = {"cwd": tmp_path, "env": {**os.environ, **own}}

    def run(script: str) -> str:
        words = ["bash", "-e", "-c", script]
        done = subprocess.run(words, **shared, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    token = run(setup.partition("\n")[2]).split()[0]  # all is installed
    serving = serve.replace("evalkit serve", "exec evalkit serve")
    with subprocess.Popen(["bash", "-c", serving], **shared) as server:
        try:
            address = f"http://127.0.0.1:{port}"
            _await(lambda: len(json.loads(_get(f"{address}/api/v1/datasets"))) == 2)
            run(submit.replace("…", token))
            board = json.loads(_get(f"{address}/api/v1/tasks/sentiment/board"))
        finally:
            server.terminate()
    assert [each["name"] for each in board["columns"]] == ["reviews", SAMPLE]
    cells = {each["model"]: each["scores"] for each in board["models"]}
    assert cells.keys() == {"positive", "neutral", "negative"}
    assert {cell["n"] for row in cells.values() for cell in row} == {3, 135}


def _get(url: str) -> bytes:
    with urlopen(url, timeout=30) as answer:
        found: bytes = answer.read()
    return found


def _await(is_so: Callable[[], bool]) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError):
            if is_so():
                return
        time.sleep(0.1)
    raise AssertionError("waited for a minute")
