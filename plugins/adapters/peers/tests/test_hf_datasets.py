"""What `datasets` wrote; `made_by/make_hf_datasets.py` made them."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet as parquets

import evalkit
from evalkit_adapters_rows import Rows, as_pipeline
from evalkit_models_base import load_inputs

FOLDER = Path(__file__).parent / "hf_datasets"
REVIEWS = FOLDER / "reviews"
SPLITS = FOLDER / "reviews_of_splits"
PREDICTIONS = FOLDER / "predictions"
PARQUET = FOLDER / "parquet"
SHARDS = [f"test-0000{index}-of-00002.parquet" for index in range(2)]


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
        REVIEWS,
        PREDICTIONS,
        task="sentiment",
        rows=Rows(adapters=adapters),
        out=tmp_path,
    )
    assert result["accuracy"].value == 0.5
    assert result.model == "predictions"
    [file] = result.record.data.files
    assert file.name == "reviews"
    again = evalkit.evaluate(
        REVIEWS, PREDICTIONS, task="sentiment", rows=Rows(adapters=adapters)
    )
    assert again.run_id == result.run_id
    assert evalkit.verify(result.path, predictions=PREDICTIONS).agrees
    inputs = load_inputs(REVIEWS, task="sentiment", rows=Rows(adapters={"data": data}))
    assert inputs.rows[1] == {"uid": "r2", "statement": "It broke after a day."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(REVIEWS, tmp_path / "reviews"))


def test_another_content_is_another_hash(folder: Path) -> None:
    data = [{"kind": "hf-dataset"}, {"kind": "Rename", "configuration": {"key": "uid"}}]
    said = [{"id": f"r{number}", "label": "positive"} for number in range(1, 5)]

    def sha256() -> str:
        result = evalkit.evaluate(
            folder, said, task="sentiment", rows=Rows(adapters={"data": data})
        )
        return result.record.data.files[0].sha256

    before = sha256()
    (folder / "note.txt").write_text("more")
    assert sha256() != before


NAMED = [{"kind": "hf-dataset"}, {"kind": "Rename", "configuration": {"key": "uid"}}]
SAID = [{"id": f"r{number}", "label": "positive"} for number in range(1, 5)]


@pytest.mark.parametrize("place", ["", "test-*.parquet"])
def test_parquet_says_which_numbers_are_labels(place: str) -> None:
    adapters = {"data": NAMED}
    found = load_inputs(PARQUET / place, task="sentiment", rows=Rows(adapters=adapters))
    assert [row["uid"] for row in found.rows] == ["r1", "r2", "r3", "r4"]
    result = evalkit.evaluate(
        PARQUET / place, SAID, task="sentiment", rows=Rows(adapters=adapters)
    )
    assert result["accuracy"].value == 0.5
    assert [file.name for file in result.record.data.files] == SHARDS
    assert result.record.data.adapters[0].kind == "hf-dataset"


def test_labels_of_one_shard_have_names_within_lists_too() -> None:
    found = read(PARQUET / SHARDS[1], "hf-dataset:number=uid")
    assert found["label"].to_list() == ["neutral", "positive"]
    assert found["others"].to_list() == [["negative", "positive"], ["neutral"]]
    assert found["uid"].to_list() == [0, 1]


@pytest.mark.parametrize("adapter", ["hf-dataset:labels=false", "hf-dataset"])
def test_numbers_stay_where_no_names_are_wanted_or_known(
    adapter: str, tmp_path: Path
) -> None:
    path = PARQUET / SHARDS[0]
    if adapter == "hf-dataset":
        path = tmp_path / "plain.parquet"
        pl.read_parquet(PARQUET / SHARDS[0]).write_parquet(path)
    through = as_pipeline(adapter)
    assert through is not None
    assert through.read_file(path) is None


def parquet(path: Path, labels: list[int | None], names: list[str]) -> Path:
    feature = {"names": names, "_type": "ClassLabel"}
    told = json.dumps({"info": {"features": {"label": feature, "gone": feature}}})
    table = pa.table({"key": [f"r{n}" for n in range(len(labels))], "label": labels})
    parquets.write_table(table.replace_schema_metadata({"huggingface": told}), path)
    return path


def test_a_number_without_a_name_is_refused_and_minus_1_is_none(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", [0, -1, None, 1], ["no", "yes"])
    assert read(path)["label"].to_list() == ["no", None, None, "yes"]
    parquet(path, [0, 2], ["no", "yes"])
    with pytest.raises(evalkit.DataError, match="the label 2 is none of the 2 that"):
        read(path)


def test_shards_whose_labels_have_other_names_are_refused(tmp_path: Path) -> None:
    parquet(tmp_path / "a-0-of-2.parquet", [0], ["no", "yes"])
    parquet(tmp_path / "a-1-of-2.parquet", [0], ["yes", "no"])
    with pytest.raises(evalkit.DataError, match=r"a-1-of-2.parquet: the labels of"):
        evalkit.evaluate(
            tmp_path, SAID, task="sentiment", rows=Rows(adapters={"data": NAMED})
        )


def test_a_row_of_a_shard_is_named(tmp_path: Path) -> None:
    shutil.copy(PARQUET / SHARDS[0], tmp_path)
    broken = parquets.read_table(PARQUET / SHARDS[1])
    column = broken.schema.get_field_index("statement")
    empty = pa.array([None, "text"], pa.string())
    broken = broken.set_column(column, "statement", empty)
    parquets.write_table(broken, tmp_path / SHARDS[1])
    with pytest.raises(
        evalkit.SchemaError, match=rf"{SHARDS[1]}: example 1 \(uid 'r3'"
    ):
        evalkit.evaluate(
            tmp_path, SAID, task="sentiment", rows=Rows(adapters={"data": NAMED})
        )


def test_parquet_has_no_splits() -> None:
    with pytest.raises(evalkit.DataError, match="is a file, and `split` is for"):
        read(PARQUET / SHARDS[0], "hf-dataset:split=test")


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
        rows=Rows(
            adapters={
                "data": [
                    {"kind": "hf-dataset"},
                    {"kind": "Rename", "configuration": {"key": "uid"}},
                ],
                "predictions": through,
            }
        ),
        on_missing="wrong",
    )
    assert result.counts["scored"] == 1


def test_a_field_that_is_there_is_not_overwritten() -> None:
    through = as_pipeline("hf-dataset:number=key")
    assert through is not None
    with pytest.raises(evalkit.AdapterError, match="has a field 'key' already"):
        list(through([{"key": "r1"}]))
