import gzip
import os
from pathlib import Path

import polars as pl
import pytest

from evalkit.errors import DataError
from evalkit.reading.formats import Format, detect_format, model_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("p.jsonl", Format.JSON_LINES),
        ("p.JSON", Format.JSON_LINES),
        ("p.ndjson", Format.JSON_LINES),
        ("p.jsonl.gz", Format.JSON_LINES),
        ("p.jsonl.zst", Format.JSON_LINES),
        ("p.csv", Format.CSV),
        ("p.CSV.GZ", Format.CSV),
        ("p.tsv.zstd", Format.TSV),
        ("p.parquet", Format.PARQUET),
        ("p.pq", Format.PARQUET),
        ("p.arrow", Format.ARROW),
        ("p.arrows", Format.ARROW),
        ("p.feather", Format.ARROW),
        ("p.ipc", Format.ARROW),
        ("p.txt", Format.PLAIN),
        ("p", Format.PLAIN),
        ("p.gz", Format.PLAIN),
    ],
)
def test_a_suffix_is_believed(tmp_path: Path, name: str, expected: Format) -> None:
    (tmp_path / name).write_bytes(b"positive\n")
    assert detect_format(tmp_path / name) is expected


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'\xef\xbb\xbf\n\n  {"id": 1}\n', Format.JSON_LINES),
        (b" \n" * 5000 + b'{"id": 1}\n', Format.JSON_LINES),
        (b"positive\n{}\n", Format.PLAIN),
        (b"[1]\n", Format.PLAIN),
        (b"", Format.PLAIN),
        (b"\n\n", Format.PLAIN),
        (b"PAR", Format.PLAIN),
    ],
)
def test_other_files_are_told_by_their_first_characters(
    tmp_path: Path, content: bytes, expected: Format, packed: bool
) -> None:
    path = tmp_path / "predictions"
    path.write_bytes(gzip.compress(content) if packed else content)
    assert detect_format(path) is expected


def test_tables_are_told_by_their_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "predictions"
    frame = pl.DataFrame({"id": ["1"]})
    frame.write_parquet(path)
    assert detect_format(path) is Format.PARQUET
    frame.write_ipc(path)
    assert detect_format(path) is Format.ARROW
    frame.write_ipc_stream(path)
    assert detect_format(path) is Format.ARROW


@pytest.mark.parametrize(
    ("suffix", "advice"),
    [
        (".zip", "unpack it first"),
        (".BZ2", "use gzip or Zstandard"),
        (".xlsx", "save it as CSV"),
        (".pkl", "write it as JSON lines or Parquet"),
    ],
)
def test_a_format_that_cannot_be_read_is_named_with_advice(
    tmp_path: Path, suffix: str, advice: str
) -> None:
    path = tmp_path / f"p{suffix}"
    path.touch()
    with pytest.raises(DataError) as caught:
        detect_format(path)
    assert f"p{suffix}: files of the format {suffix} cannot" in str(caught.value)
    assert advice in str(caught.value)


@pytest.mark.parametrize("name", ["p.parquet.gz", "p.arrow.zst"])
def test_a_packed_table_is_to_be_unpacked(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(DataError, match="are compressed inside; decompress this one"):
        detect_format(tmp_path / name)


@pytest.mark.parametrize(
    "name", ["p", "p.jsonl", "p.csv", "p.tsv.gz", "p.parquet", "p.arrow", "p.txt"]
)
def test_a_pipe_is_refused_under_every_suffix(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(DataError, match="is a pipe or a device"):
        detect_format(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt.jsonl", "gpt"),
        ("llama-3.1.jsonl.gz", "llama-3.1"),
        ("llama-3.1", "llama-3.1"),
        ("m.csv.zst", "m"),
        ("a.b.pred", "a.b"),
        (".jsonl", ".jsonl"),
        ("m.txt.jsonl", "m"),
    ],
)
def test_a_model_is_called_like_its_file(name: str, expected: str) -> None:
    assert model_name(Path("folder.x") / name) == expected


@pytest.mark.parametrize(
    ("name", "first", "kind"),
    [
        ("p.txt", b"{x}", Format.PLAIN),
        ("p.out", b'{"id": 1', Format.PLAIN),
        ("p.txt.gz", b"{x}", Format.PLAIN),
        ("p.txt", b'{"id": "1"}', Format.JSON_LINES),
        ("p", b"{x}", Format.JSON_LINES),
    ],
)
def test_an_answer_in_braces_makes_no_json_of_plain_lines(
    tmp_path: Path, name: str, first: bytes, kind: Format
) -> None:
    data = first + b"\n\\frac{1}{2}\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert detect_format(path) is kind
