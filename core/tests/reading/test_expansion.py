import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import evalkit
from evalkit.errors import DataError
from evalkit.reading import streams, tables
from evalkit.reading.formats import Format
from evalkit.reading.streams import line_blocks
from evalkit.reading.tables import read_frames

REFUSAL = r"it unpacks to more than 0 MiB and 20 times its size"


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "FREE_BYTES", 100_000)
    monkeypatch.setattr(streams, "MOST_TIMES", 20)


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def repeated(rows: int, text: str) -> pa.Array:
    indices = pa.array([0] * rows, pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array([text]))


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_packed_file_of_very_many_bytes_is_refused(
    tmp_path: Path, pack: object
) -> None:
    assert callable(pack)
    path = tmp_path / "said.jsonl"
    path.write_bytes(pack(b'{"id": "1", "label": "a"}\n' * 100_000))
    with pytest.raises(DataError, match=REFUSAL) as refused:
        sum(len(block.data) for block in line_blocks(path))
    assert str(refused.value).startswith(f"{path}: ")


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_few_bytes_may_be_packed_however_well(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    path, content = tmp_path / "said.jsonl", b"a\n" * 50_000
    path.write_bytes(pack(content))
    assert b"".join(block.data for block in line_blocks(path)) == content


def test_a_file_that_is_not_packed_has_no_such_limit(tmp_path: Path) -> None:
    path, content = tmp_path / "said.jsonl", b"a\n" * 100_000
    path.write_bytes(content)
    assert b"".join(block.data for block in line_blocks(path)) == content


def test_an_evaluation_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "said.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "1", "label": "a"}\n' * 100_000))
    data = tmp_path / "data.jsonl"
    data.write_text('{"uid": "1", "statement": "x", "label": "a"}\n')
    with pytest.raises(DataError, match=rf"said\.jsonl\.gz: {REFUSAL}"):
        evalkit.evaluate(str(data), str(path), task="text-classification")


@pytest.mark.parametrize("as_text", [True, False])
def test_a_text_of_parquet_in_very_many_rows_is_refused(
    tmp_path: Path, as_text: bool
) -> None:
    path = tmp_path / "data.parquet"
    table = pa.table({"label": repeated(2_000, "x" * 1_000)})
    pa.parquet.write_table(table, path, store_schema=not as_text)
    with pytest.raises(DataError, match=REFUSAL):
        list(read_frames(path, Format.PARQUET))


def test_a_text_of_arrow_in_very_many_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.arrow"
    table = pa.table({"label": repeated(2_000, "x" * 1_000)})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as out:
        out.write_table(table)
    with pytest.raises(DataError, match=REFUSAL):
        list(read_frames(path, Format.ARROW))


def test_batches_of_parquet_have_few_rows_where_these_are_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "PIECE_ROWS", 10)
    monkeypatch.setattr(tables, "BATCH_BYTES", 2_500)
    path = tmp_path / "data.parquet"
    pa.parquet.write_table(pa.table({"label": ["x" * 100] * 55}), path)
    batches = list(read_frames(path, Format.PARQUET))
    assert [batch.height for batch in batches] == [30, 25]
