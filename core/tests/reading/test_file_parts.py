"""A file that is read in parts holds the rows, and the numbers, of the whole file."""

import gzip
import json
import pickle
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import BaseModel

from evalkit import evaluate, validate
from evalkit.errors import DataError, SchemaError
from evalkit.places.names import FetchedPath
from evalkit.reading import streams
from evalkit.reading.file_parts import FilePart
from evalkit.reading.formats import Format, detect_format
from evalkit.reading.given_rows import path_beside
from evalkit.reading.json_lines import read_json_blocks, read_json_rows
from evalkit.reading.json_tables import read_json_table
from evalkit.reading.rows import Block
from evalkit.reading.schemas import plan_of
from evalkit.reading.streams import line_blocks
from evalkit.reading.tables import read_table_blocks


class Output(BaseModel):
    text: str
    score: float | None = None


PLAN = plan_of(Output)
BROKEN = [
    b"{",
    b'{"id": 1, "text": 2}',
    b"[1]",
    b'{"id": "\xff"}',
    b'{"id": "a", "id": "b"}',
    b"\xef\xbb\xbf{}",
]


def random_lines(generator: random.Random, share_broken: float) -> bytes:
    """Write JSON lines as people's programs do: blank, long, without a last newline."""
    content = b"\xef\xbb\xbf" if generator.random() < 0.3 else b""
    end = generator.choice([b"\n", b"\r\n"])
    for number in range(generator.randrange(1, 60)):
        text = generator.choice(["", "día 日本\u2028", "x" * 3000, "\\ud83d"[:1] * 2])
        row: Any = {"id": number, "text": text, "score": number / 2}
        line = json.dumps(row, ensure_ascii=generator.random() < 0.5).encode()
        if generator.random() < share_broken:
            line = generator.choice([*BROKEN, b"y" * 9000])
        content += line + end + end * (generator.random() < 0.2)
    return content.removesuffix(end) if generator.random() < 0.5 else content


def cut_anywhere(generator: random.Random, path: Path) -> list[FilePart]:
    content = path.read_bytes()
    starts = [n + 1 for n, byte in enumerate(content[:-1]) if byte == ord("\n")]
    chosen = generator.sample(starts, generator.randrange(len(starts) + 1))
    cuts = [0, *sorted(chosen), len(content)]
    parts = [
        FilePart.of_bytes(path, start, stop, 1 + content.count(b"\n", 0, start))
        for start, stop in pairwise(cuts)
    ]
    return [pickle.loads(pickle.dumps(part)) for part in parts]


def lines_of(path: Path) -> Iterator[Any]:
    for block in line_blocks(path):
        for number, line in enumerate(block.data.splitlines(keepends=True)):
            yield block.first_line + number, line, block.is_too_long


def rows_of_blocks(blocks: Iterator[Block]) -> Iterator[Any]:
    """Give number and values, or problem, of each row, whichever way it was read."""
    for block in blocks:
        for place, line in enumerate(block.lines.tolist()):
            row = block.row_at(place)
            assert row.line == line
            assert block.frame["text"][place] == (row.values or {}).get("text")
            yield line, repr(row[1:])
        yield from ((row.line, repr(row[1:])) for row in block.rows)


def rows_of_table(path: Path) -> Iterator[Any]:
    table = read_json_table(path)
    if table is None:
        assert not [*read_json_rows(path)]  # nothing but blank lines
        return iter(())
    return zip(table.lines.tolist(), table.frame.rows(named=True), strict=True)


READERS: list[tuple[Callable[[Path], Iterator[Any]], float]] = [
    (lines_of, 0.3),
    (read_json_rows, 0.3),
    (lambda path: rows_of_blocks(read_json_blocks(path, PLAN)), 0.1),
    (rows_of_table, 0.0),
]


@pytest.mark.parametrize(("read", "share_broken"), READERS)
def test_parts_of_json_lines_are_the_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[[Path], Iterator[Any]],
    share_broken: float,
) -> None:
    monkeypatch.setattr(streams, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(streams, "MOST_LINE_BYTES", 8000)
    generator = random.Random(7)
    path = tmp_path / "p.jsonl"
    for _ in range(25):
        path.write_bytes(random_lines(generator, share_broken))
        parts = cut_anywhere(generator, path)
        found = [row for part in parts for row in read(part)]
        assert sorted(found, key=lambda row: row[0]) == sorted(
            read(path), key=lambda row: row[0]
        )


def test_parts_of_parquet_are_the_file(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    rows = [
        {"id": n, "text": None if n % 7 == 0 else f"t{n}", "score": n / 3}
        for n in range(1000)
    ]
    pl.DataFrame(rows).write_parquet(path, row_group_size=64, use_pyarrow=True)

    def read(given: Path) -> list[Any]:
        return [
            *rows_of_blocks(read_table_blocks(given, Format.PARQUET, PLAN)),
            *rows_of_blocks(read_table_blocks(given, Format.PARQUET, None)),
        ]

    found = []
    for start, stop in pairwise([0, 1, 5, 5, 16]):
        part = FilePart.of_row_groups(path, range(start, stop), 1 + 64 * start)
        found += read(pickle.loads(pickle.dumps(part)))
    assert sorted(found) == sorted(read(path))


def test_errors_name_the_file_and_its_lines(tmp_path: Path) -> None:
    rows = [{"id": str(n), "statement": "t", "label": "positive"} for n in range(6)]
    rows[5]["label"] = "none"
    written = [json.dumps(row).encode() + b"\n" for row in rows]
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"".join(written))
    start = len(b"".join(written[:3]))
    part = FilePart.of_bytes(path, start, path.stat().st_size, 4)
    table = tmp_path / "data.parquet"
    frame = pl.DataFrame(rows)
    frame.write_parquet(table, row_group_size=3, use_pyarrow=True)
    group = FilePart.of_row_groups(table, [1], 4)
    for whole, given, word in ((path, part, "line"), (table, group, "example")):
        assert str(given) == str(whole)
        with pytest.raises(SchemaError) as caught:
            evaluate(given, [{"id": "3", "label": "positive"}], task="sentiment")
        assert f"{whole}: " in str(caught.value)
        assert f"{word} 6 (uid '5'): label" in str(caught.value)
        report = validate(data=rows[:5], predictions=given, task="sentiment")
        lines = [problem.line for problem in report.problems if problem.line]
        assert lines == [6]


def test_only_lines_and_row_groups_are_parts(tmp_path: Path) -> None:
    content = b'{"id": 1, "text": "a"}\n' * 9
    for name, written in (
        ("a.csv", b"id,text\n1,a\n"),
        ("a.jsonl.gz", gzip.compress(content)),
        ("a.jsonl", content.decode().encode("utf-16")),
        ("a.json", b"[\n" + content),
        ("a.txt", b"a\nb\n"),
    ):
        path = tmp_path / name
        path.write_bytes(written)
        with pytest.raises(DataError, match="cannot be cut"):
            detect_format(FilePart.of_bytes(path, 2, 8, 2))


def test_a_part_of_a_fetched_file_names_its_uri(tmp_path: Path) -> None:
    path = FetchedPath(tmp_path / "x", "s3://bucket/x.jsonl")
    part = pickle.loads(pickle.dumps(FilePart.of_row_groups(path, [2], 9)))
    assert (str(part), part.local, part.first) == (str(path), path.local, 9)
    here = FilePart.of_bytes(tmp_path / "x", 0, 0, 1)
    assert path_beside(here, "y") == tmp_path / "y"
