"""`[tool.evalkit]` of `pyproject.toml`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from evalkit_cli.commands.settings import task_settings


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pyproject.toml"
    path.write_text(text, encoding="utf-8")
    return path


ADDS = '[tool.evalkit.tasks.sentiment]\neval_metrics = ["agreement"]\n'


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    write(tmp_path, ADDS)
    inner = tmp_path / "inner"
    inner.mkdir()
    with pytest.warns(
        UserWarning, match="adds the metrics agreement to sentiment"
    ) as told:
        assert task_settings(inner, "sentiment").eval_metrics == ("agreement",)
    assert str(tmp_path / "pyproject.toml") in str(told[0].message)
    assert task_settings(tmp_path, "sentiment").eval_metrics == ("agreement",)
    write(inner, "[project]\n")
    assert task_settings(inner, "sentiment") == ((), None)


def test_metrics_are_added_to_the_named_task_only(tmp_path: Path) -> None:
    write(tmp_path, ADDS)
    assert task_settings(tmp_path, "nli") == ((), None)


@pytest.mark.parametrize("value", ['"accuracy"', "[1]", "{}"])
def test_a_setting_of_another_shape_blocks_nothing(tmp_path: Path, value: str) -> None:
    path = write(tmp_path, f"[tool.evalkit.tasks.sentiment]\neval_metrics = {value}\n")
    with pytest.warns(UserWarning, match="must be a list of names") as told:
        assert task_settings(tmp_path, "sentiment") == ((), None)
    assert str(path) in str(told[0].message)
    assert "[tool.evalkit.tasks.sentiment]" in str(told[0].message)


def test_a_file_that_is_not_toml_is_named_and_blocks_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "tool = [")
    with pytest.warns(UserWarning, match="is not TOML") as told:
        assert task_settings(tmp_path, "sentiment") == ((), None)
    assert str(path) in str(told[0].message)
    path.write_bytes(b"\xff\xfe")
    with pytest.warns(UserWarning, match="is not TOML"):
        assert task_settings(tmp_path, "sentiment") == ((), None)


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "")

    def deny(self: Path, **_: Any) -> str:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_text", deny)
    with pytest.warns(UserWarning, match="cannot be read: Permission denied") as told:
        assert task_settings(tmp_path, "sentiment") == ((), None)
    assert str(path) in str(told[0].message)


def test_eval_computes_added_metrics_unless_metrics_are_named(
    tmp_path: Path, plugins: Any, predict: Any, invoke: Callable[..., Result]
) -> None:
    write(tmp_path, ADDS)
    file = predict("a.jsonl", ["positive", "negative", "positive", "positive"])

    def computed(*options: str) -> list[str]:
        done = invoke("eval", "tiny", "-p", file, "--json", *options)
        assert done.exit_code == 0, done.stderr
        scores = json.loads(done.stdout)["scores"]
        whole = [s for s in scores if s["tag"] is s["aggregate"] is None]
        return [score["metric"] for score in whole]

    assert computed() == ["macro-f1", "accuracy", "agreement"]
    assert computed("-m", "accuracy") == ["accuracy"]


def test_a_broken_file_is_a_warning_of_eval(
    tmp_path: Path, plugins: Any, predict: Any, invoke: Callable[..., Result]
) -> None:
    write(tmp_path, "tool = [")
    file = predict("a.jsonl", ["positive", "negative", "positive", "positive"])
    with pytest.warns(UserWarning, match=r"pyproject\.toml: is not TOML"):
        done = invoke("eval", "tiny", "-p", file, "-q")
    assert done.exit_code == 0, done.stderr
