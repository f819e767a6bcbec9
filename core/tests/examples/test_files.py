"""Files of examples: every format, and data sets that are only a file."""

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import evalkit
from evalkit import DataError, EvalkitError, StorageError
from evalkit.examples.files import bind_file
from evalkit.examples.table import Examples, load_examples
from evalkit.plugins.registry import Registry
from evalkit.plugins.resolver import Resolver

ROWS: Sequence[dict[str, Any]] = [
    {"uid": "1", "statement": 'He said "a, b"\nand left', "label": "positive"},
    {"uid": "2", "statement": "tab\there", "label": "negative", "tags": ["a:b", "c"]},
    {"uid": "007", "statement": "7", "label": "neutral", "tags": []},
    {"uid": "x y", "statement": "[1, 2]", "label": "neutral", "tags": ["ü\u2028"]},
]


def cells(rows: Sequence[Mapping[str, Any]], delimiter: str) -> bytes:
    stream = io.StringIO()
    names = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(stream, names, delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {
                key: value if isinstance(value, str) else json.dumps(value)
                for key, value in row.items()
                if value is not None
            }
        )
    return stream.getvalue().encode()


def frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), infer_schema_length=None)


def arrow_stream(rows: Sequence[Mapping[str, Any]]) -> bytes:
    table = frame(rows).to_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def in_memory(write: Callable[[io.BytesIO], Any]) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "\n".join(json.dumps(dict(row)) for row in rows).encode()


WRITERS: Mapping[str, Callable[[Sequence[Mapping[str, Any]]], bytes]] = {
    "set.jsonl": lines,
    "set.json": lines,
    "set.ndjson": lambda rows: b"\xef\xbb\xbf" + lines(rows) + b"\r\n\n",
    "set.jsonl.gz": lambda rows: gzip.compress(lines(rows)),
    "set.jsonl.zst": lambda rows: pa.compress(lines(rows), "zstd", asbytes=True),
    "set.csv": lambda rows: cells(rows, ","),
    "set.csv.gz": lambda rows: gzip.compress(cells(rows, ",")),
    "set.tsv": lambda rows: cells(rows, "\t"),
    "set.parquet": lambda rows: in_memory(frame(rows).write_parquet),
    "set.arrow": lambda rows: in_memory(frame(rows).write_ipc),
    "set.arrows": arrow_stream,
}


def load(path: Path, task: str = "sentiment") -> Examples:
    resolver = Resolver(Registry())
    bound = bind_file(path, task)
    return load_examples(bound, resolver.task(bound), "all")


def content(found: Examples) -> tuple[Any, ...]:
    inputs = found.inputs.select(sorted(found.inputs.columns))
    return found.frame.to_dicts(), inputs.to_dicts(), found.answer_kind, found.labels


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_examples(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(WRITERS[name](ROWS))
    found = load(path)
    assert found.frame.drop("cluster").to_dicts() == [
        {"id": row["uid"], "answer": row["label"], "tags": row.get("tags", [])}
        for row in ROWS
    ]
    assert found.inputs["statement"].to_list() == [row["statement"] for row in ROWS]
    assert found.identity.files == (
        {"name": name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()},
    )


TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1
)


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "uid": TEXT,
                "statement": TEXT,
                "label": st.sampled_from(("positive", "negative", "neutral")),
                "tags": st.lists(TEXT, max_size=2, unique=True),
            }
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda row: row["uid"],
    ),
    name=st.sampled_from(list(WRITERS)),
)
@pytest.mark.slow
def test_any_texts_come_through_every_format(
    rows: list[dict[str, Any]], name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("formats")
    paths = [folder / "set.jsonl", folder / f"other-{name}"]
    paths[0].write_bytes(lines(rows))
    paths[1].write_bytes(WRITERS[name](rows))
    first, other = (load(path) for path in paths)
    assert content(first) == content(other)
    assert_frame_equal(first.frame, other.frame)


@pytest.mark.parametrize("name", WRITERS)
def test_a_broken_row_is_named_in_every_format(tmp_path: Path, name: str) -> None:
    rows = [*ROWS[1:], {"uid": "9", "statement": None, "label": "positive"}]
    path = tmp_path / name
    path.write_bytes(WRITERS[name](rows))
    with pytest.raises(evalkit.SchemaError) as caught:
        load(path)
    message = str(caught.value)
    assert "1 of 4 examples break the input of the task sentiment" in message
    assert "(uid '9'): statement: " in message
    assert str(path) in message


SAID = [{"id": row["uid"], "label": "neutral"} for row in ROWS]


@pytest.fixture
def set_file(tmp_path: Path) -> Path:
    path = tmp_path / "My Set v1.2.jsonl"
    path.write_bytes(lines(ROWS))
    return path


@pytest.mark.parametrize("make", [str, Path])
def test_a_file_is_scored_with_its_task(
    set_file: Path, make: Callable[[Path], Any]
) -> None:
    result = evalkit.evaluate(make(set_file), SAID, task="sentiment")
    assert result["accuracy"].value == 0.5
    assert (result.dataset, result.status) == ("my-set-v1-2", "complete")
    record = result.to_dict()
    assert (record["task"], record["split"]) == ("sentiment", "all")
    assert record["data"]["files"][0]["name"] == "My Set v1.2.jsonl"
    assert record["components"][0]["id"] == "datasets/my-set-v1-2"
    by_tag = {s.tag for s in result.scores if s.metric == "accuracy"}
    assert by_tag == {None, "a:b", "c", "ü\u2028", "(untagged)"}


def test_a_file_without_its_task_is_told_what_is_needed(set_file: Path) -> None:
    with pytest.raises(EvalkitError, match="a file of examples needs its task"):
        evalkit.evaluate(set_file, SAID)


def test_an_unknown_task_is_told_the_nearest(set_file: Path) -> None:
    with pytest.raises(evalkit.UnknownPluginError) as caught:
        evalkit.evaluate(set_file, SAID, task="sentimant")
    message = str(caught.value)
    assert "datasets/my-set-v1-2 (given as a file" in message
    assert "no task 'sentimant'; did you mean sentiment?" in message


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: None, "there is no such file"),
        (lambda path: path.mkdir(), "is a folder, not a file"),
        (lambda path: path.write_bytes(b""), "split 'all' has no examples"),
        (lambda path: path.write_bytes(b"\n \n"), "split 'all' has no examples"),
        (lambda path: path.write_bytes(b"[]"), "split 'all' has no examples"),
        (lambda path: path.write_bytes(b"positive\n"), "line 1: (line): must be JSON"),
        (lambda path: path.write_bytes(b"\x1f\x8bxx"), "its compressed data are"),
    ],
)
def test_a_file_without_examples_is_told_why(
    tmp_path: Path, make: Callable[[Path], Any], problem: str
) -> None:
    path = tmp_path / "set.jsonl"
    make(path)
    with pytest.raises(DataError) as caught:
        evalkit.evaluate(path, SAID, task="sentiment")
    assert f"{path}: {problem}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("set.csv", b"", "file is empty, expected a header row"),
        ("set.csv", b"uid,statement,label\n", "split 'all' has no examples"),
        ("set.csv", b"statement,label\nx,y\n", "no example has an id ('uid' or 'id')"),
        ("set.txt", b"a\nb\n", "no example has 'statement'"),
        ("set.parquet", b"PAR1PAR1", "cannot be read as Parquet"),
        ("set.xlsx", b"PK", "save it as CSV"),
    ],
)
def test_other_formats_say_what_is_wrong(
    tmp_path: Path, name: str, data: bytes, problem: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        evalkit.evaluate(path, SAID, task="sentiment")
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "remote", ["zz://bucket/set.jsonl", "yy://b/x", "https://example.org/x.jsonl"]
)
@pytest.mark.parametrize("make", [str, Path])
def test_places_of_no_plugin_are_refused(
    set_file: Path, remote: str, make: Callable[[str], Any]
) -> None:
    given = make(remote)
    scheme = remote.partition(":")[0]
    expected = f"{remote}: {scheme}:// is read and written by no installed plugin"
    options: list[tuple[Any, Any, dict[str, Any]]] = [
        (given, SAID, {}),
        (set_file, given, {}),
        (set_file, SAID, {"out": given}),
    ]
    for dataset, predictions, others in options:
        with pytest.raises(EvalkitError) as caught:
            evalkit.evaluate(dataset, predictions, task="sentiment", **others)
        assert str(caught.value).startswith(expected)
    with pytest.raises(StorageError, match="by no installed plugin"):
        evalkit.validate(given, task="sentiment")
    with pytest.raises(StorageError, match="by no installed plugin"):
        evalkit.validate(set_file, given, task="sentiment")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: None, "there is no such file"),
        (lambda path: path.mkdir(), "is a folder, not a file"),
    ],
)
def test_predictions_that_are_no_file_are_told_so(
    set_file: Path, make: Callable[[Path], Any], problem: str
) -> None:
    path = set_file.parent / "said.jsonl"
    make(path)
    for function in (evalkit.evaluate, evalkit.validate):
        with pytest.raises(DataError) as caught:
            function(set_file, path, task="sentiment")
        assert str(caught.value) == f"{path}: {problem}"


def test_predictions_that_may_not_be_read_are_told_so(
    set_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = set_file.parent / "said.csv"
    path.write_text("id,label\n")
    opened = Path.open

    def refuse(self: Path, *arguments: Any, **options: Any) -> Any:
        if self == path:
            raise PermissionError(13, "Permission denied")
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError) as caught:
        evalkit.evaluate(set_file, path, task="sentiment")
    assert str(caught.value) == f"{path}: cannot be read: Permission denied"


@pytest.mark.parametrize(
    ("column", "is_named"),
    [("Tags", True), ("tag", True), (" TAG ", True), ("stage", False), ("tags", False)],
)
def test_a_column_that_looks_like_tags_is_named(
    tmp_path: Path, column: str, is_named: bool
) -> None:
    row = {"uid": "1", "statement": "s", "label": "positive", column: ["a:b"]}
    file = tmp_path / "set.jsonl"
    file.write_text(json.dumps(row), "utf-8")
    said = [{"id": "1", "label": "positive"}]
    result = evalkit.evaluate(file, said, task="sentiment")
    notice = (
        f"the column {column!r} of the data is not read as tags; tags are in a column "
        "'tags'"
    )
    assert (notice in result.notices) == is_named
    row["tags"] = ["c:d"]
    file.write_text(json.dumps(row), "utf-8")
    assert notice not in evalkit.evaluate(file, said, task="sentiment").notices


def sparse(rows: int, keys: int) -> list[dict[str, Any]]:
    """Make rows that share an id and a label, and have other keys each."""
    return [
        {
            **ROWS[0],
            "uid": str(row),
            **{f"key{row * keys + each}": 1 for each in range(keys)},
        }
        for row in range(rows)
    ]


class Sparse(evalkit.Dataset):
    """The rows of a test."""

    task = "sentiment"

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        super().__init__()
        self.rows = rows

    def load(self, split: str) -> list[dict[str, Any]]:
        return self.rows


@pytest.mark.parametrize("in_file", [True, False])
def test_rows_with_keys_of_their_own_are_refused_beyond_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_file: bool
) -> None:
    monkeypatch.setattr("evalkit.examples.loading.MOST_EMPTY_CELLS", 500)
    monkeypatch.setattr("evalkit.reading.json_tables.MOST_COLUMNS", 50)

    def load(rows: list[dict[str, Any]]) -> None:
        path = tmp_path / "set.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        if in_file:
            evalkit.validate(path, task="sentiment")
        else:
            evalkit.validate(Sparse(rows))

    load(sparse(10, 60))  # many keys, and many values
    load(sparse(40, 2))
    with pytest.raises(DataError, match="400 examples have 403 different keys, of"):
        load(sparse(400, 1))
