"""Services that send without end, elsewhere, or the key back."""

import base64
import gzip
import json
import re
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from model_servers import Answer, serving

from evalkit.errors import EvalkitError
from evalkit_models_base import Asked, clients, predict

KEY = 'sk/live+"9f8E7d6C5b4A/tail'


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("THE_KEY", KEY)
    headers = {"Authorization": f"Bearer {KEY}"}
    monkeypatch.setenv("THE_HEADERS", json.dumps(headers))


MODELS = {
    "http": "http:url={},headers_variable=THE_HEADERS",
    "openai": "openai:model=m,base_url={}/v1,api_key_variable=THE_KEY",
}


def row_of(kind: str, answer: Answer) -> Any:
    """Ask a model of a kind once, and return its row."""
    with serving(lambda got: answer) as server:
        return predict(
            data=[{"uid": "1", "statement": "x"}],
            task="sentiment",
            model=MODELS[kind].format(server.url),
            prompt=None if kind == "http" else {"query": "{statement}"},
            asked=Asked(max_errors=1, retries=0, seconds=60),
        ).rows[0]


def deflated(size: int) -> bytes:
    """Return many zeros, packed twice so that this test needs no memory itself."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    part = bytes(2**20)
    parts = [packer.compress(part) for _ in range(size // len(part))]
    return b"".join([*parts, packer.flush()])


@pytest.mark.parametrize("kind", MODELS)
def test_an_answer_without_end_is_given_up(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = deflated(65 * 2**20)
    assert len(packed) < 2**20
    row = row_of(kind, Answer(packed, headers={"content-encoding": "gzip"}))
    assert row["error"] == "the answer exceeds 67,108,864 bytes"
    monkeypatch.setattr(clients._Content.__init__, "__defaults__", None)
    row = row_of(kind, Answer(b" " * 2**20, is_endless=True))
    assert row["error"] == "the answer exceeds 67,108,864 bytes"
    whole = {"label": "positive"} if kind == "http" else CHAT
    packed = gzip.compress(json.dumps(whole).encode())
    row = row_of(kind, Answer(packed, headers={"content-encoding": "gzip"}))
    assert row["label"] == "positive"


CHAT = {"choices": [{"message": {"content": "positive"}, "finish_reason": "stop"}]}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_is_followed(kind: str, status: int) -> None:
    with serving(lambda got: Answer(CHAT)) as other:
        where = {"location": f"{other.url}/v1/chat/completions"}
        with pytest.raises(EvalkitError, match="redirect"):
            row_of(kind, Answer(b"", status, where))
        assert other.got == []


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    "quoted",
    [
        KEY,
        json.dumps(KEY)[1:-1],
        json.dumps(KEY)[1:-1].replace("/", "\\/"),
        quote(KEY, safe=""),
        re.sub("%..", lambda found: found[0].lower(), quote(KEY, safe="")),
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(f"me:{KEY}".encode()).decode(),
        base64.b64encode(f"u:{KEY}!".encode()).decode(),
        KEY[:12] + "…",
    ],
)
@pytest.mark.parametrize("status", [400, 200])
def test_a_key_is_blanked_in_each_form(kind: str, quoted: str, status: int) -> None:
    body: Any = {"error": {"message": f"bad key {quoted}"}}
    if status == 200:
        text = f"It is {quoted}"
        body = {"label": text}
        if kind == "openai":
            body = {"choices": [{"message": {"content": text}}]}
    row = row_of(kind, Answer(body, status))
    if status == 200 and quoted.endswith("…"):
        return  # a part of a key may be a word of any answer
    text = json.dumps(row)
    assert "error" in row
    assert not any(part in text for part in (quoted, KEY, "9f8E7d6C5b4A"))
    assert base64.b64encode(KEY.encode()).decode()[:12] not in text
