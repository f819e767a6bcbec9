"""A store in this process under `mem://`, and a cache of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_store import MemoryStore

from evalkit.storage import finding, transfers


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MemoryStore:
    made = MemoryStore()
    real = finding._store
    monkeypatch.setattr(
        finding, "_store", lambda scheme: made if scheme == "mem" else real(scheme)
    )
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("EVALKIT_OFFLINE", raising=False)
    monkeypatch.setattr(transfers, "_FIRST_WAIT", 0.001)
    return made
