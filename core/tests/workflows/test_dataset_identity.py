"""The name of a dataset with its parameters, or of its file, is its identity."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit.runs import find_run, list_runs

NUMBERS = """
import evalkit


class Numbers(evalkit.Dataset):
    task = "mini"
    splits = ("test",)

    class Parameters(evalkit.Parameters):
        language: str = "en"

    def load(self, split):
        text = self.parameters.language
        return [{"uid": "1", "text": text, "label": "yes", "tags": []}]
"""
ROWS = [{"id": "1", "label": "yes"}]


def test_a_dataset_with_parameters_is_another_dataset(
    mini: Any, fake_distribution: Callable[..., Any], tmp_path: Path
) -> None:
    fake_distribution(NUMBERS, {"evalkit.datasets": {"numbers": "Numbers"}})
    out = tmp_path / "runs"
    names = ("numbers", "numbers:language=th", "numbers:language=TH")
    runs = {name: evalkit.evaluate(name, ROWS, model="m", out=out) for name in names}
    assert {name: run.dataset for name, run in runs.items()} == {
        name: name for name in names
    }
    folders = {run.path.parent.name.lower() for run in runs.values() if run.path}
    assert len(folders) == 3
    allowed = {*"abcdefghijklmnopqrstuvwxyz0123456789_=-"}
    assert all(set(folder) <= allowed for folder in folders)
    assert {run.record.dataset for run in list_runs(out)} == {*names}
    for name, run in runs.items():
        assert find_run(f"m@{name}", out) == run.path
        assert evalkit.verify(run.path or "").agrees
    rescored = evalkit.rescore(runs[names[1]].path or "", ["macro-f1"])
    assert rescored.dataset == names[1]


@pytest.mark.parametrize("names", [("数据", "测试"), ("data", "数据"), ("é", "è")])
def test_files_with_other_names_are_other_datasets(
    mini: Any, tmp_path: Path, names: tuple[str, str]
) -> None:
    line = json.dumps({"uid": "1", "text": "a", "label": "yes", "tags": []})
    for name in names:
        file = tmp_path / f"{name}.jsonl"
        file.write_text(line + "\n", "utf-8")
        run = evalkit.evaluate(
            file, ROWS, task="mini", model="m", out=tmp_path / "runs"
        )
        assert run.dataset == name
        assert find_run(f"m@{name}", tmp_path / "runs") == run.path
    assert len([*(tmp_path / "runs").iterdir()]) == 2
    assert {run.record.dataset for run in list_runs(tmp_path / "runs")} == {*names}
