"""A place in this process under `mem://`, and a cache of its own for each test."""

from pathlib import Path

import pytest
from memory_store import MemoryStore

from evalkit.places import access


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MemoryStore:
    made = MemoryStore()
    real = access._place
    monkeypatch.setattr(
        access,
        "_place",
        lambda scheme: ("storage/mem", made) if scheme == "mem" else real(scheme),
    )
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("EVALKIT_OFFLINE", raising=False)
    return made
