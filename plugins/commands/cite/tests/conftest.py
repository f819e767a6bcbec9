"""What the tests of `evalkit cite` share."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _clean_place(clean_place: None) -> None: ...


@pytest.fixture
def predict(tmp_path: Path) -> Callable[[str, Iterable[str]], str]:
    """Write labels for the ids 1, 2, 3 and so on."""

    def write(name: str, labels: Iterable[str]) -> str:
        rows = [{"id": str(n), "label": label} for n, label in enumerate(labels, 1)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write
