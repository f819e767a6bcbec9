"""A whole run leaves no secret behind, whatever a server repeats.

Keys are in variables of the environment, in headers, and in the user, password and
query of addresses. The server quotes all that it gets, in errors, in answers, in
headers and in bodies that cannot be read. Then every file is searched, with logs of all
libraries at their most talkative, and what was printed.
"""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from model_servers import Answer, Got, ModelServer, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

KEY = "sk-KeYkEy0123456789AbCdEf"
PASSWORD = "PaSs/WoRd+0123456789"
QUERY = "QuErYqUeRy-0123456789"
HEADER = "HeAdErHeAdEr-0123456789"
USER = "somebody"
PAIR = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

TALKATIVE = """
import logging
logging.basicConfig(level=1, filename={log!r}, format="%(name)s %(message)s")
"""
FAULTS = ("refuse", "flag", "busy", "throttle", "page", "junk", "cut", "gone")
ANSWERS = ("repeat", "name", "header", "fine")


def told(got: Got) -> str:
    """Return all that the server knows, as one that quotes everything."""
    header = got.headers.get("authorization", "")
    return f"{got.path} {header} {json.dumps(got.headers)} {KEY[:14]}... {QUERY}"


def about(got: Got) -> str:
    """Return which of the statements is asked about."""
    return next(each for each in (*FAULTS, *ANSWERS) if f"<{each}>" in str(got.body))


def answer(got: Got) -> Answer:
    """Answer in the form that is asked for, or fail, and quote everything."""
    what, quoted = about(got), told(got)
    error = {
        "error": {"message": f"You sent {quoted}", "code": quoted, "param": quoted}
    }
    statuses = {"refuse": 400, "flag": 422, "busy": 500, "throttle": 429}
    if what in statuses:
        retry = {"Retry-After": "0", "X-Quoted": quoted}
        is_over = what == "busy" and got.attempt > 1
        if not is_over:
            return Answer(error, statuses[what], retry)
    if what == "page":
        return Answer(f"<html>{quoted}</html>".encode(), 502)
    if what == "junk":
        return Answer(f"{{{quoted}".encode())
    if what == "gone":
        return Answer({"detail": [quoted, error]}, 410)
    said = f"positive {quoted}" if what == "repeat" else "positive"
    name = quoted if what == "name" else "m"
    message = {"role": "assistant", "content": said}
    body: Any = {"label": said, "model": name, "choices": [{"message": message}]}
    headers = {"X-Quoted": quoted} if what == "header" else {}
    return Answer(body, headers=headers, is_cut=what == "cut")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(answer) as running:
        yield running


def secret_address(server: ModelServer, path: str) -> str:
    """Return the address with user, password and query."""
    host = server.url.removeprefix("http://")
    return f"http://{USER}:{quote(PASSWORD, safe='')}@{host}{path}?code={QUERY}"


def reference(name: str, server: ModelServer) -> tuple[str, dict[str, str]]:
    """Return a model, and the environment that holds its secrets."""
    if name == "http":
        headers = {"X-Api-Key": HEADER, "X-Other": f"Token {KEY}"}
        return (
            "http:url_variable=SECRET_URL,headers_variable=SECRET_HEADERS",
            {
                "SECRET_URL": secret_address(server, "/ask"),
                "SECRET_HEADERS": json.dumps(headers),
            },
        )
    key = {"OPENAI_API_KEY": KEY, "OPENAI_LOG": "debug", "OPENAI_ORG_ID": HEADER}
    if name == "openai by address":
        return "openai:model=m", {
            **key,
            "OPENAI_BASE_URL": secret_address(server, "/v1"),
        }
    url = f"{server.url}/v1"
    return f"openai:model=m,base_url={url},api_key_variable=OPENAI_API_KEY", key


def forms(secret: str) -> set[bytes]:
    """Return how a secret may be written, and a part of it that gives it away."""
    texts = {secret, quote(secret, safe=""), json.dumps(secret)[1:-1], secret[:12]}
    return {text.encode() for text in texts}


SECRETS = set().union(*map(forms, (KEY, PASSWORD, QUERY, HEADER, PAIR)))


def leaks(content: bytes) -> list[bytes]:
    return [secret for secret in SECRETS if secret in content]


class Home:
    """A folder in which commands run, and all that they leave."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        (folder / "talkative").mkdir()
        log = str(folder / "log.txt")
        program = TALKATIVE.format(log=log)
        (folder / "talkative" / "sitecustomize.py").write_text(program)
        hidden = ("EVALKIT_", "OPENAI_", "HTTP", "http")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
        self.environment = {
            **inherited,
            **environment,
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "EVALKIT_CACHE_DIR": str(folder / "cache"),
            "PYTHONPATH": str(folder / "talkative"),
        }
        self.printed = b""

    def evalkit(self, *arguments: str) -> int:
        """Run a command, and keep what it prints."""
        program = Path(sys.executable).with_name("evalkit")
        done = subprocess.run(
            [program, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            timeout=100,
            check=False,
        )
        self.printed += done.stdout + done.stderr
        return done.returncode

    def leaking(self) -> dict[str, list[bytes]]:
        """Return what leaks, by file."""
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        contents = {str(path): path.read_bytes() for path in files}
        contents["printed"] = self.printed
        found = {name: leaks(content) for name, content in contents.items()}
        return {name: secrets for name, secrets in found.items() if secrets}


def write_data(folder: Path) -> None:
    rows = [
        {"uid": each, "statement": f"<{each}>", "label": "positive"}
        for each in (*FAULTS, *ANSWERS)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "data.jsonl").write_text(text)


MODELS = ("openai", "openai by address", "http")


@pytest.mark.parametrize("name", MODELS)
def test_a_whole_run_leaves_no_secret(
    name: str, server: ModelServer, tmp_path: Path
) -> None:
    model, environment = reference(name, server)
    home = Home(tmp_path, environment)
    write_data(tmp_path)
    data = ("--data", "data.jsonl", "--task", "sentiment")
    asked = ("--model", model, "--retries", "1", "--max-errors", "100")
    out = ("-o", "said.jsonl")
    assert home.evalkit("predict", *data, *asked, *out) == 0
    lines = (tmp_path / "said.jsonl").read_text().splitlines()
    rows = {row["id"]: row for row in map(json.loads, lines)}
    # whatever was quoted is an error, and nothing is dropped
    assert [*rows] == [*FAULTS, *ANSWERS]
    failed = {uid for uid, row in rows.items() if "error" in row}
    assert failed >= {*FAULTS, "repeat"} - {"busy"}
    assert not failed & {"busy", "header", "fine"}
    assert "***" in rows["refuse"]["error"]
    scored = ("eval", *data, "-v", "--on-invalid", "wrong")
    assert home.evalkit(*scored, "-p", "said.jsonl", "--json") == 0
    assert home.evalkit(*scored, *asked, "-o", "other") == 0
    assert home.evalkit("report", "latest", "-o", "page.html") == 0
    (tmp_path / "said.jsonl").rename(tmp_path / "before.jsonl")
    home.evalkit("predict", *data, *asked[:2], "--max-errors", "0", *out, "--no-cache")
    assert (tmp_path / "log.txt").stat().st_size > 1_000
    assert len([*tmp_path.rglob("run.json")]) == 2
    assert (tmp_path / "page.html").exists()
    # the server did get them
    sent = [f"{got.path} {got.headers}" for got in server.got]
    wanted = {"openai": [KEY], "openai by address": [PAIR, QUERY]}
    for secret in wanted.get(name, [PAIR, QUERY, HEADER, KEY]):
        assert all(secret in each for each in sent), secret
    assert home.leaking() == {}


@pytest.mark.parametrize("status", [401, 402, 403, 404])
@pytest.mark.parametrize("name", MODELS)
def test_an_end_of_all_asking_names_no_secret(
    name: str, status: int, server: ModelServer, tmp_path: Path
) -> None:
    server.answers = lambda got: Answer({"error": {"message": told(got)}}, status)
    model, environment = reference(name, server)
    home = Home(tmp_path, environment)
    write_data(tmp_path)
    data = ("--data", "data.jsonl", "--task", "sentiment")
    assert home.evalkit("predict", *data, "--model", model, "-o", "said.jsonl") == 1
    assert b"evalkit: error: " in home.printed
    assert not (tmp_path / "said.jsonl").exists()
    assert home.leaking() == {}


def test_a_secret_would_be_found(tmp_path: Path) -> None:
    home = Home(tmp_path, {})
    for number, secret in enumerate((KEY, PASSWORD, QUERY, HEADER, PAIR)):
        (tmp_path / f"{number}.txt").write_text(f"so {quote(secret, safe='')}.")
    assert len(home.leaking()) == 5
