"""Folders that `datasets` wrote; `made_by/make_hf_datasets.py` made them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit.adapters import as_pipeline

FOLDER = Path(__file__).parent / "hf_datasets"
REVIEWS = FOLDER / "reviews"
SPLITS = FOLDER / "reviews_of_splits"
PREDICTIONS = FOLDER / "predictions"


def read(path: Path, adapter: str = "hf-dataset") -> pl.DataFrame:
    through = as_pipeline(adapter)
    assert through is not None
    found = through.read_file(path)
    assert isinstance(found, pl.DataFrame)
    numbers = pl.int_range(1, found.height + 1, eager=True)
    adapted = through.adapt_frame(found, numbers)
    assert adapted is not None
    assert adapted.to_dicts() == list(through(found.to_dicts()))
    return adapted


def test_all_files_are_read_with_the_names_of_labels() -> None:
    found = read(REVIEWS)
    assert found["key"].to_list() == ["r1", "r2", "r3", "r4"]
    labels = ["positive", "negative", "neutral", "positive"]
    assert found["label"].to_list() == labels
    assert found["others"].to_list() == [
        ["neutral"],
        [],
        ["negative", "positive"],
        ["neutral"],
    ]
    numbers = read(REVIEWS, "hf-dataset:labels=false")
    assert numbers["label"].to_list() == [2, 0, 1, 2]


def test_a_split_is_chosen() -> None:
    found = read(SPLITS, "hf-dataset:split=test,number=uid")
    assert found["key"].to_list() == ["r4", "r1", "r3"]
    assert found["uid"].to_list() == [0, 1, 2]
    with pytest.raises(evalkit.DataError, match="the splits train, test; say which"):
        read(SPLITS)
    with pytest.raises(evalkit.DataError, match="has no splits"):
        read(REVIEWS, "hf-dataset:split=test")


def test_folders_are_data_and_predictions(tmp_path: Path) -> None:
    data: list[dict[str, Any]] = [
        {"kind": "hf-dataset"},
        {"kind": "Rename", "configuration": {"key": "uid"}},
    ]
    adapters = {"data": data, "predictions": "hf-dataset"}
    result = evalkit.evaluate(
        REVIEWS, PREDICTIONS, task="sentiment", adapters=adapters, out=tmp_path
    )
    assert result["accuracy"].value == 0.5
    assert result.model == "predictions"
    [file] = result.record.data.files
    assert file.name == "reviews"
    again = evalkit.evaluate(REVIEWS, PREDICTIONS, task="sentiment", adapters=adapters)
    assert again.run_id == result.run_id
    assert evalkit.verify(result.path, predictions=PREDICTIONS).agrees
    inputs = evalkit.load_inputs(REVIEWS, task="sentiment", adapters={"data": data})
    assert inputs.rows[1] == {"uid": "r2", "statement": "It broke after a day."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(REVIEWS, tmp_path / "reviews"))


def test_another_content_is_another_hash(folder: Path) -> None:
    data = [
        {"kind": "hf-dataset"},
        {"kind": "Rename", "configuration": {"key": "uid"}},
    ]
    said = [{"id": f"r{number}", "label": "positive"} for number in range(1, 5)]

    def sha256() -> str:
        result = evalkit.evaluate(
            folder, said, task="sentiment", adapters={"data": data}
        )
        return result.record.data.files[0].sha256

    before = sha256()
    (folder / "note.txt").write_text("more")
    assert sha256() != before


def change(folder: Path, name: str, **changes: Any) -> None:
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_label_of_none_is_no_value(folder: Path) -> None:
    info = json.loads((folder / "dataset_info.json").read_text())
    features = info["features"]
    features["label"]["names"] = ["negative", "neutral"]
    change(folder, "dataset_info.json", features=features)
    with pytest.raises(evalkit.DataError, match="label: the label 2 is none of the 2"):
        read(folder)


@pytest.mark.parametrize(
    ("name", "changes", "problem"),
    [
        ("state.json", {"_data_files": []}, "names no files of data"),
        ("state.json", {"_data_files": [{"filename": "../x"}]}, "in another folder"),
        ("state.json", {"_data_files": [{"filename": "x"}]}, "x: cannot be read"),
        (
            "state.json",
            {"_data_files": [{"filename": "state.json"}]},
            "state.json: cannot be read",
        ),
        ("state.json", {"_indices_files": [{"filename": "i"}]}, "flatten_indices"),
    ],
)
def test_folders_that_cannot_be_read_are_refused(
    folder: Path, name: str, changes: dict[str, Any], problem: str
) -> None:
    change(folder, name, **changes)
    with pytest.raises(evalkit.DataError, match=problem):
        read(folder)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(evalkit.DataError, match=r"has no state\.json; `save_to_disk`"):
        read(tmp_path)
    (tmp_path / "state.json").write_text("[]")
    with pytest.raises(evalkit.DataError, match=r"state\.json must hold an object"):
        read(tmp_path)


def test_files_are_left_to_evalkit(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "r1", "label": "positive"}\n')
    through = as_pipeline("hf-dataset")
    assert through is not None
    assert through.read_file(path) is None
    result = evalkit.evaluate(
        REVIEWS,
        path,
        task="sentiment",
        adapters={
            "data": [
                {"kind": "hf-dataset"},
                {"kind": "Rename", "configuration": {"key": "uid"}},
            ],
            "predictions": through,
        },
        on_missing="wrong",
    )
    assert result.counts["scored"] == 1


def test_a_field_that_is_there_is_not_overwritten() -> None:
    through = as_pipeline("hf-dataset:number=key")
    assert through is not None
    with pytest.raises(evalkit.AdapterError, match="has a field 'key' already"):
        list(through([{"key": "r1"}]))
