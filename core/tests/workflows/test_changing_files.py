"""What is hashed is what was read: a file that changes meanwhile is refused."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.errors import DataError
from evalkit.examples import loading
from evalkit.predictions import preparation
from evalkit.reading import steady_files

ROWS = [{"id": "1", "label": "yes"}, {"id": "2", "label": "no"}]
OTHER = [{"id": "1", "label": "no"}, {"id": "2", "label": "no"}]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def replaced(path: Path) -> None:
    write(path.with_name("new"), OTHER).replace(path)


def edited(path: Path) -> None:
    write(path, OTHER)


def restored(path: Path) -> None:
    """Change the file, and say that it is as old as before."""
    before = path.stat()
    write(path, OTHER)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [replaced, edited, restored, Path.unlink])
@pytest.mark.parametrize("moment", ["before it is read", "after it was read"])
def test_predictions_that_change_are_refused(
    mini: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    moment: str,
) -> None:
    path = write(tmp_path / "p.jsonl", ROWS)
    name = "read_responses" if moment.startswith("before") else "align"
    step = getattr(preparation, name)

    def disturbed(*given: Any, **options: Any) -> Any:
        if name == "read_responses":
            change(path)
            return step(*given, **options)
        found = step(*given, **options)
        change(path)
        return found

    monkeypatch.setattr(preparation, name, disturbed)
    with pytest.raises(DataError) as caught:
        evalkit.evaluate("mini", path)
    if change is not Path.unlink or name == "align":
        assert str(caught.value).startswith(f"{path}: was changed while it was read")


@pytest.mark.parametrize("late", ["reading", "hashing"])
def test_data_that_changes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    rows = [
        {"uid": n, "statement": "text", "label": label}
        for n, label in enumerate(["positive", "negative"])
    ]
    path = write(tmp_path / "data.jsonl", rows)
    module: Any = loading if late == "reading" else steady_files
    name = "_read_rows" if late == "reading" else "data_sha256"
    step = getattr(module, name)

    def disturbed(*given: Any) -> Any:
        found = step(*given)
        write(path, rows[:1])
        return found

    monkeypatch.setattr(module, name, disturbed)
    with pytest.raises(DataError, match=r"data\.jsonl: was changed while it was read"):
        evalkit.evaluate(path, [{"id": 0, "label": "positive"}], task="sentiment")


def test_a_file_that_nobody_touches_is_read(mini: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", ROWS)
    result = evalkit.evaluate("mini", path, on_missing="skip")
    assert result.counts["predictions"] == 2


def test_a_metric_that_changes_the_folder_moves_no_run(
    mini: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def wanders(prediction: str, target: str) -> float:
        os.chdir("/")
        return 1.0

    result = evalkit.evaluate(
        "mini", ROWS, metrics=[wanders], out="runs", on_missing="skip"
    )
    assert result.path is not None
    assert result.path.resolve().is_relative_to(tmp_path / "here" / "runs")
    [warning] = result.warnings
    assert warning == "a plugin changed the current folder to /; it was changed back"
