"""Replies are kept up to a size, and a full disk loses none in silence."""

from __future__ import annotations

import resource
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit_models_base import Asked, predict
from evalkit_models_base import cache as caches
from evalkit_models_base.cache import ReplyCache

Rows = list[dict[str, Any]]

PROMPT = {"query": "{statement}"}
_MIB = 2**20
_DAY = 86_400.0


def ask(rows: Rows, model: Any, **limits: Any) -> Any:
    asked = Asked(**limits)
    return predict(data=rows, task="sentiment", model=model, prompt=PROMPT, asked=asked)


def put(kept: ReplyCache, *names: str, size: int = 10_000) -> None:
    kept.put_all({name: "x" * size for name in names})


def ages(kept: ReplyCache) -> dict[str, float]:
    with sqlite3.connect(kept.path) as connection:
        return dict(connection.execute("SELECT key, used FROM replies"))


def make_older(path: Path, days: float) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE replies SET used = used - ?", [days * _DAY])
    connection.close()


def test_what_was_used_longest_ago_is_removed_first(tmp_path: Path) -> None:
    names = [f"reply {n:03}" for n in range(60)]
    kept = ReplyCache(tmp_path, limit=_MIB)
    put(kept, *names)
    kept.close()
    make_older(kept.path, 2)
    kept = ReplyCache(tmp_path, limit=_MIB)
    used = names[:20]
    assert len(kept.get_all(used)) == 20  # the oldest, and used again
    for n in range(60):
        put(kept, f"new {n:03}")
    kept.close()
    left = {*ages(kept)}
    assert {*used} <= left
    assert {f"new {n:03}" for n in range(60)} <= left
    assert len(left) < 120
    assert kept.lost == 0
    # what is removed makes the file smaller, but for its list of changes
    assert kept.path.stat().st_size <= _MIB * 1.1


def test_what_is_read_is_used(tmp_path: Path) -> None:
    kept = ReplyCache(tmp_path)
    put(kept, "a", "b")
    kept.close()
    make_older(kept.path, 1)
    kept = ReplyCache(tmp_path)
    kept.get_all(["a", "none"])
    kept.close()
    found = ages(kept)
    assert time.time() - found["a"] < 60
    assert found["b"] < time.time() - 0.9 * _DAY


def test_a_cache_that_is_too_small_is_said(
    rows: Rows, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_REPLIES_SIZE", str(100_000 / 2**30))
    model = scripted(lambda text: text + "x" * 20_000)
    found = ask(rows, model)
    assert found.failed == 0
    (notice,) = found.notices
    assert "the cache of replies is full: " in notice
    assert "EVALKIT_REPLIES_SIZE" in notice
    again = ask(rows, scripted(lambda text: text + "x" * 20_000))
    assert 0 < again.from_cache < 12
    assert again.rows == found.rows
    monkeypatch.setenv("EVALKIT_REPLIES_SIZE", "-1")
    with pytest.raises(evalkit.StorageError, match="EVALKIT_REPLIES_SIZE: must be a"):
        ask(rows, model)


def test_a_cache_of_an_older_form_goes_on(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / caches.FILE) as connection:
        connection.execute(
            "CREATE TABLE replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL, "
            "used REAL NOT NULL) WITHOUT ROWID"
        )
    kept = ReplyCache(tmp_path, limit=200_000)
    kept.put_all({"old": "said"})
    assert kept.get_all(["old"]) == {"old": "said"}
    for n in range(40):
        put(kept, f"new {n}")
    assert kept.get_all(["new 39"])
    assert kept.lost > 0
    kept.close()


def test_a_full_disk_ends_asking_and_the_same_command_goes_on(
    rows: Rows, scripted: Any, cache: Path
) -> None:
    model = scripted(lambda text: text + "x" * 100_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, hard))
    try:
        with pytest.raises(evalkit.StorageError, match=r"replies\.sqlite: .* written"):
            ask(rows, model, concurrency=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    asked = len(model.asked)
    assert 2 < asked < 12
    model.asked.clear()
    found = ask(rows, model, concurrency=1)
    assert found.failed == 0
    # but for the one that could not be written
    assert found.from_cache == asked - 1
    assert len(model.asked) == 12 - found.from_cache


def test_what_cannot_be_kept_may_be_asked_without_a_cache(
    rows: Rows, scripted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    closed = []

    class Closing(scripted):  # type: ignore[misc]
        def close(self) -> None:
            closed.append(self)

    model = Closing(str.upper)
    with pytest.raises(evalkit.StorageError, match=r"cannot be opened: .*--no-cache"):
        ask(rows, model)
    assert (model.asked, closed) == ([], [model])
    assert ask(rows, model, is_cached=False).failed == 0


def test_a_reply_that_was_changed_is_not_taken(tmp_path: Path) -> None:
    kept = ReplyCache(tmp_path)
    kept.put_all({"one": '{"a": "yes"}', "two": '{"a": "yes"}'})
    with sqlite3.connect(kept.path) as connection:
        connection.execute(
            "UPDATE replies SET reply = replace(reply, 'yes', 'no') WHERE key = 'one'"
        )
    connection.close()
    assert kept.get_all(["one", "two"]) == {"two": '{"a": "yes"}'}
    assert kept.changed == 1
    [notice] = kept.notices
    assert notice.endswith("not as they were kept, and were asked for anew: 1")
    kept.put_all({"one": '{"a": "no"}'})
    assert kept.get("one") == '{"a": "no"}'
    kept.close()
