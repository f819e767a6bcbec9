import json
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model

from evalkit import evaluate
from evalkit.errors import DataError, SchemaError, StorageError
from evalkit_schemas_standard import (
    Int64,
    arrow_table,
    read_data_set,
    verify_data_set,
    write_data_set,
    write_files,
    writing,
)
from evalkit_schemas_standard.command import schema_command


class Row(BaseModel):
    uid: str
    code: str | None
    n: Int64 = 0
    day: date | None = None
    tags: list[str] = []


ROWS: list[dict[str, Any]] = [
    {"uid": "a", "code": "01", "n": 1, "day": date(2024, 1, 2), "tags": ["x"]},
    {"uid": "b", "code": None, "n": 2},
    {"uid": "c", "code": "1", "n": 3},
    {"uid": "d", "code": "01", "n": 4},
    {"uid": "e", "code": "a/b=c %", "n": 5},
]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("inner", ["sub", "deep/er"])
def test_nothing_is_written_within_a_data_set(tmp_path: Path, inner: str) -> None:
    outer = tmp_path / "outer"
    write_data_set(ROWS, outer, Row)
    before = contents(outer)
    for overwrite in (False, True):
        with pytest.raises(StorageError, match=f"{inner}: is in the data set {outer} "):
            write_data_set(ROWS, outer / inner, Row, overwrite=overwrite)
    assert contents(outer) == before
    assert not (outer / inner).exists()


@pytest.mark.parametrize("file_format", ["parquet", "arrow"])
def test_rows_come_back_in_order_and_equal_rows_make_equal_files(
    tmp_path: Path, file_format: Any
) -> None:
    for name in ("one", "two"):
        write_data_set(
            iter(ROWS), tmp_path / name, Row, file_format=file_format, id_fields=["uid"]
        )

    assert read_data_set(tmp_path / "one").equals(arrow_table(Row, ROWS))
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


@pytest.mark.parametrize("file_format", ["parquet", "arrow"])
def test_values_of_partitions_keep_their_types(
    tmp_path: Path, file_format: Any
) -> None:
    folder = tmp_path / "parts"
    manifest = write_data_set(
        ROWS, folder, Row, file_format=file_format, partition_by=["code", "day"]
    )

    found = read_data_set(folder)

    assert found.schema.equals(arrow_table(Row, ROWS).schema)
    assert found.column("code").to_pylist() == ["01", None, "1", "01", "a/b=c %"]
    assert found.column("uid").to_pylist() == ["a", "b", "c", "d", "e"]
    assert found.column("day").to_pylist()[0] == date(2024, 1, 2)
    assert [file.partition["code"] for file in manifest.files] == [
        *("01", None, "1", "01", "a/b=c %")
    ]
    assert (folder / "code=__HIVE_DEFAULT_PARTITION__").is_dir()
    assert (folder / "code=01" / "day=2024-01-02").is_dir()


@given(
    codes=st.lists(st.sampled_from(["01", "1", "", "x y", None]), max_size=30),
    size=st.integers(1, 9),
    by=st.sampled_from([[], ["code"]]),
)
@pytest.mark.slow
def test_random_rows_come_back_whatever_the_size_of_groups(
    tmp_path_factory: pytest.TempPathFactory,
    codes: list[str | None],
    size: int,
    by: list[str],
) -> None:
    rows = [{"uid": str(n), "code": code, "n": n} for n, code in enumerate(codes)]
    root = tmp_path_factory.mktemp("random")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "GROUP_ROWS", size)
        for name, given_rows in (("a", rows), ("b", (dict(row) for row in rows))):
            write_data_set(
                given_rows, root / name, Row, partition_by=by, id_fields=["uid"]
            )

    found = read_data_set(root / "a")

    assert contents(root / "a") == contents(root / "b")
    assert found.sort_by("n").equals(arrow_table(Row, rows))
    firsts = list(dict.fromkeys(codes))
    ordered = sorted(rows, key=lambda row: firsts.index(row["code"])) if by else rows
    assert found.column("uid").to_pylist() == [row["uid"] for row in ordered]


def test_a_row_that_breaks_the_schema_is_named_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"uid": "a", "code": "x"}\n\n{"uid": "b", "code": 3}\n{"uid"')

    with pytest.raises(SchemaError) as error:
        write_files([file], tmp_path / "out", Row)

    assert f"{file}: line 3: code: must be a valid string, found 3" in str(error.value)
    assert f"{file}: line 4: (line): must be JSON" in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_ids_are_unique_over_partitions_and_files(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text('\n{"uid": "a", "code": "x"}\n{"uid": "b", "code": "x"}\n')
    two.write_text('{"uid": "c", "code": "y"}\n{"uid": "a", "code": "y"}\n')

    with pytest.raises(SchemaError) as error:
        write_files(
            [one, two], tmp_path / "out", Row, partition_by=["code"], id_fields=["uid"]
        )

    assert str(error.value) == (
        f"{two}: line 2: uid: 'a' was given before, at {one}: line 2"
    )
    write_files([one, two], tmp_path / "out", Row, id_fields=["uid", "code"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partition_by": ["tags"]}, "tags: rows are partitioned by texts"),
        ({"partition_by": ["x"]}, "'x' is to partition by, but the schema has none"),
        ({"id_fields": ["x"]}, "no field 'x' for ids"),
        ({"id_fields": ["code"]}, "row 2: code: an id must not be null"),
        ({"file_format": "csv"}, "parquet or arrow"),
    ],
)
def test_wrong_options_are_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        write_data_set(ROWS, tmp_path / "out", Row, **options)
    assert not [*tmp_path.iterdir()]


def test_a_missing_or_changed_file_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    write_data_set(ROWS, folder, Row, partition_by=["code"])
    assert verify_data_set(folder).rows == 5
    file = folder / "code=1" / "part-2.parquet"
    whole = file.read_bytes()

    file.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
    with pytest.raises(DataError, match=r"part-2\.parquet: was changed.*SHA-256"):
        verify_data_set(folder)
    file.write_bytes(whole + b"x")
    with pytest.raises(DataError, match=r"part-2\.parquet: was changed.*bytes"):
        read_data_set(folder)
    file.unlink()
    with pytest.raises(DataError, match=r"part-2\.parquet: there is no such file"):
        read_data_set(folder)


def test_what_is_there_is_kept_unless_it_is_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    write_data_set(ROWS, folder, Row)
    before = contents(folder)
    with pytest.raises(StorageError, match="is there already"):
        write_data_set(ROWS[:1], folder, Row)
    with pytest.raises(SchemaError, match="row 2"):
        write_data_set([*ROWS[:1], {"uid": 1}], folder, Row, overwrite=True)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(StorageError, match=r"notes\.txt: is no file of the data set"):
        write_data_set(ROWS[:1], folder, Row, overwrite=True)
    (folder / "notes.txt").unlink()
    assert contents(folder) == before

    write_data_set(ROWS[:1], folder, Row, overwrite=True)

    assert read_data_set(folder).num_rows == 1
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a").write_text("")
    with pytest.raises(StorageError, match="no data set"):
        write_data_set(ROWS, tmp_path / "mine", Row, overwrite=True)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(StorageError, match="file/set: cannot be written: Not a dir"):
        write_data_set(ROWS, file / "set", Row)
    with pytest.raises(StorageError, match="file: is a file; name a folder"):
        write_data_set(ROWS, file, Row, overwrite=True)
    assert file.read_text() == "mine"


def test_keys_that_are_not_written_are_named(tmp_path: Path) -> None:
    class Loose(BaseModel):
        id: str
        label: str = Field(alias="top")

    rows = '{"id": "a", "top": "x", "prob": 1}\n{"id": "b", "top": "y", "z": 0}\n'
    (tmp_path / "a.jsonl").write_text(rows)
    pl.DataFrame({"id": ["c"], "top": ["y"], "w": [1]}).write_parquet(
        tmp_path / "b.parquet"
    )
    files = [tmp_path / "a.jsonl", tmp_path / "b.parquet"]
    with pytest.warns(UserWarning, match="not in the schema, and not written: ") as got:
        write_files(files, tmp_path / "out", Loose)
    assert str(got[0].message).endswith(": prob, w, z")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_files([tmp_path / "out"], tmp_path / "again", Loose)


def test_of_two_writers_to_one_folder_the_second_is_refused(tmp_path: Path) -> None:
    def rows() -> Any:
        yield ROWS[0]
        write_data_set(ROWS, tmp_path / "set", Row)

    with pytest.raises(StorageError, match="another process wrote it meanwhile"):
        write_data_set(rows(), tmp_path / "set", Row)

    assert read_data_set(tmp_path / "set").num_rows == 5


@pytest.mark.parametrize("by", [[], ["code"]])
def test_a_full_disk_leaves_the_old_state_and_says_so(
    tmp_path: Path, by: list[str]
) -> None:
    folder = tmp_path / "set"
    write_data_set(ROWS, folder, Row)
    many = [{"uid": os.urandom(20).hex(), "code": "x"} for _ in range(2_000)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(StorageError, match=r"(?i)too large.*before is unchanged"):
            write_data_set(many, folder, Row, overwrite=True, partition_by=by)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert read_data_set(folder).num_rows == 5
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


@pytest.mark.slow
def test_a_killed_process_leaves_the_old_state(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    write_data_set(ROWS, folder, Row)
    program = (
        "import itertools\n"
        "from pydantic import BaseModel\n"
        "from evalkit_schemas_standard import write_data_set\n"
        "class Row(BaseModel):\n    uid: str\n"
        "rows = ({'uid': str(n)} for n in itertools.count())\n"
        f"write_data_set(rows, {str(folder)!r}, Row, overwrite=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 25
    while not [*tmp_path.glob(".set-*.partial/.rows")]:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()

    assert verify_data_set(folder).rows == 5


def test_a_command_writes_what_an_evaluation_reads(tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    answers = tmp_path / "answers.jsonl"
    lang = {"lang": "01"}
    labels = ["positive", "negative", "positive", "negative"]
    file.write_text(
        "".join(
            json.dumps({"uid": f"0{n}", "statement": f"t{n}", "label": label, **lang})
            + "\n"
            for n, label in enumerate(labels)
        )
    )
    answers.write_text(
        "".join(
            json.dumps({"id": f"0{n}", "label": "positive"}) + "\n" for n in range(4)
        )
    )
    models = tmp_path / "models.py"
    models.write_text(
        "from pydantic import BaseModel\n"
        "class Gold(BaseModel):\n"
        "    uid: str\n    statement: str\n    label: str\n    lang: str\n"
        "class Answer(BaseModel):\n    id: str\n    label: str\n"
    )
    commands = [
        [
            *(str(file), "-o", str(tmp_path / "gold"), "--schema", f"{models}:Gold"),
            *("--id", "uid", "--partition-by", "lang"),
        ],
        [str(answers), "-o", str(tmp_path / "answers"), "--schema", f"{models}:Answer"],
    ]

    for each in commands:
        done = CliRunner().invoke(schema_command, ["write", *each])
        assert done.exit_code == 0, done.output
        assert "4 rows in 1 file written to" in done.output
    checked = CliRunner().invoke(schema_command, ["verify", str(tmp_path / "gold")])
    assert "4 rows in 1 file: as written" in checked.output
    gold = [str(tmp_path / "gold"), "--schema", f"{models}:Gold"]
    judged = CliRunner().invoke(schema_command, ["check", *gold])
    assert (judged.exit_code, judged.output) == (0, "4 rows checked: ok\n")

    (part,) = (tmp_path / "answers").glob("*.parquet")
    content = part.read_bytes()
    part.write_bytes(content[:20] + bytes([content[20] ^ 1]) + content[21:])
    changed = [str(tmp_path / "answers"), "--schema", f"{models}:Answer"]
    judged = CliRunner().invoke(schema_command, ["check", *changed])
    assert judged.exit_code == 1
    assert "was changed after" in str(judged.exception)
    part.write_bytes(content)
    (part,) = (tmp_path / "gold").rglob("*.parquet")
    content = part.read_bytes()
    for place in (20, len(content) // 2, len(content) - 9):
        flipped = bytes([content[place] ^ 1])
        part.write_bytes(content[:place] + flipped + content[place + 1 :])
        with pytest.raises(DataError, match=f"{part.name}: was changed after"):
            evaluate(tmp_path / "gold", task="sentiment", predictions=answers)
    part.write_bytes(content)

    results = [
        evaluate(data, task="sentiment", predictions=predictions)
        for data, predictions in (
            (file, answers),
            (tmp_path / "gold", tmp_path / "answers"),
        )
    ]
    first, second = (
        [(score.metric, score.value, score.n) for score in result.scores]
        for result in results
    )
    assert first == second
    part = next((tmp_path / "gold").rglob("*.parquet"))
    whole = part.read_bytes()
    part.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
    with pytest.raises(DataError, match=r"part-0\.parquet"):
        evaluate(tmp_path / "gold", task="sentiment", predictions=answers)


def test_rows_of_a_schema_without_fields_do_not_vanish(tmp_path: Path) -> None:
    class Nothing(BaseModel):
        pass

    with pytest.raises(SchemaError, match="Nothing: has no fields"):
        write_data_set([Nothing()], tmp_path / "out", Nothing)
    assert not (tmp_path / "out").exists()


def test_models_in_models_in_models_have_an_end() -> None:
    model: type[BaseModel] = Row
    for number in range(300):
        model = create_model(f"Level{number}", inner=(model, ...))
    with pytest.raises(SchemaError, match=r"Level\d+: nested too deeply"):
        arrow_table(model, [])
