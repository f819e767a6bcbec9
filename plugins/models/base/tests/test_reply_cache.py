"""A full disk loses no reply in silence."""

import resource
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit_models_base import Asked, predict

Rows = list[dict[str, Any]]

PROMPT = {"query": "{statement}"}


def ask(rows: Rows, model: Any, **limits: Any) -> Any:
    asked = Asked(**limits)
    return predict(data=rows, task="sentiment", model=model, prompt=PROMPT, asked=asked)


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
