"""Files as spreadsheets, Python's json and other programs write them."""

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import evalkit
from evalkit.errors import AlignmentError, DataError
from evalkit_adapters_rows import Rows

LABELS = {"1": "positive", "2": "negative", "007": "neutral"}
DATA = [{"uid": uid, "statement": "s", "label": LABELS[uid]} for uid in LABELS]


def _scored(path: Path, content: str | bytes) -> Mapping[str, int]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return evalkit.evaluate(data=DATA, task="sentiment", predictions=path).counts


def test_the_cases(cases: Path) -> None:
    result = evalkit.evaluate(
        data=cases / "23-utf16.csv",
        task="sentiment",
        predictions=cases / "23-pred-sep.csv",
    )
    assert result["accuracy"].n == 4
    assert result["accuracy"].value == 1
    with pytest.raises(DataError, match=r"line 2 \(uid '2'\): value: is required"):
        evalkit.evaluate(
            data=cases / "25-data.jsonl",
            task="regression",
            predictions=cases / "25-pred.jsonl",
        )
    found = evalkit.validate(
        data=cases / "25b-data.jsonl",
        task="regression",
        predictions=cases / "25-pred.jsonl",
    )
    assert (found.counts["invalid"], found.counts["unreadable"]) == (2, 0)
    for problem, number in zip(found.problems, ("nan", "inf"), strict=True):
        assert str(problem.violations[0]) == (
            f"value: must be a finite number, found {number!r}"
        )


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e400", '{"a": [NaN]}'])
@pytest.mark.parametrize("times", [1, 1_000])
def test_numbers_of_undeclared_keys_harm_no_row(
    tmp_path: Path, value: str, times: int
) -> None:
    rows = [
        f'{{"uid": "{uid}", "id": "{uid}", "statement": "s", "label": "positive", '
        f'"loss": {value}}}'
        for uid in range(times)
    ]
    lines, array = tmp_path / "a.jsonl", tmp_path / "a.json"
    lines.write_text("\n".join(rows))
    array.write_text(f"[{','.join(rows)}]")
    for data in (lines, array):
        for predictions in (lines, array):
            found = evalkit.evaluate(data, predictions, task="sentiment")
            assert found["accuracy"].n == times


@pytest.mark.parametrize("value", ["-Infinity", "1e400", '["x", Infinity]'])
def test_an_infinite_answer_is_named(tmp_path: Path, value: str) -> None:
    data = tmp_path / "a.jsonl"
    data.write_text(f'{{"uid": "1", "question": "q", "answer": {value}}}')
    with pytest.raises(evalkit.SchemaError, match="a finite number, got"):
        evalkit.evaluate(data, [{"id": "1", "answer": "inf"}], task="math-qa")


HEADER = "id,label\n"
ROWS = "".join(f"{uid},{label}\n" for uid, label in LABELS.items())


@pytest.mark.parametrize(
    "content",
    [
        (HEADER + ROWS).encode("utf-16"),
        b"\xfe\xff" + (HEADER + ROWS).encode("utf-16-be"),
        (HEADER + ROWS).replace("\n", "\r"),
        ("sep=;\n" + HEADER + ROWS).replace(",", ";"),
        ('\n"sep=,"\r\n' + HEADER + ROWS),
        (HEADER + ROWS).replace(",", ";"),
        (HEADER + ROWS).replace(",", "|"),
        (HEADER + ROWS).replace("\n", ",,\n"),
        HEADER + ROWS.replace("\n", ",\n"),
    ],
)
def test_tables_of_other_programs_are_read(
    tmp_path: Path, content: str | bytes
) -> None:
    assert _scored(tmp_path / "m.csv", content)["scored"] == 3


def test_lines_in_utf16_and_with_returns_are_read(tmp_path: Path) -> None:
    rows = [json.dumps({"id": uid, "label": LABELS[uid]}) for uid in LABELS]
    assert (
        _scored(tmp_path / "m.jsonl", "\n".join(rows).encode("utf-16"))["scored"] == 3
    )
    assert _scored(tmp_path / "n.jsonl", "\r".join(rows))["scored"] == 3


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (ROWS, "a header must be the first line"),
        (HEADER + ROWS.replace("007", "7"), "they differ in leading zeros"),
        (b"\xff\xfei\0d\0,\0x", "must be UTF-16, as its first bytes say"),
        ((HEADER + ROWS).encode("utf-16-le"), "it was probably written as UTF-16"),
    ],
)
def test_what_is_not_certain_is_named(
    tmp_path: Path, content: str | bytes, cause: str
) -> None:
    with pytest.raises((DataError, AlignmentError)) as caught:
        _scored(tmp_path / "m.csv", content)
    notices = [str(each) for each in getattr(caught.value, "notices", ())]
    assert cause in " ".join([str(caught.value), *notices])


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("is_nested", [False, True])
def test_decimal256_is_refused_in_one_sentence(
    tmp_path: Path, suffix: str, is_nested: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    kind: Any = pa.decimal256(50, 2)
    values: list[Any] = [Decimal("1.5")] * 3
    if is_nested:
        kind, values = pa.struct([("a", kind)]), [{"a": each} for each in values]
    labels = [*LABELS], [*LABELS.values()]
    table = pa.table([*labels, pa.array(values, kind)], ["id", "label", "x"])
    path = tmp_path / f"m.{suffix}"
    if suffix == "parquet":
        pa.parquet.write_table(table, path)
    else:
        with (
            pa.OSFile(str(path), "wb") as file,
            pa.ipc.new_file(file, table.schema) as out,
        ):
            out.write_table(table)
    with pytest.raises(DataError, match=r"m\.\w+: x: unsupported type .*decimal256"):
        evalkit.evaluate(data=DATA, task="sentiment", predictions=path)
    assert "panicked" not in capfd.readouterr().err


def test_two_files_of_parallel_lines_are_scored(tmp_path: Path) -> None:
    (tmp_path / "ref.txt").write_text("Es regnet.\n\nJa\n")
    (tmp_path / "hyp.txt").write_text("Es regnet.\n\nNein\n")
    found = evalkit.evaluate(
        data=tmp_path / "ref.txt",
        task="text-generation",
        predictions=tmp_path / "hyp.txt",
        metrics=["exact-match"],
    )
    assert found["exact-match"].value == pytest.approx(2 / 3)
    (tmp_path / "hyp.txt").write_text("Es regnet.\n")
    with pytest.raises(DataError, match="has 1 lines and the data set has 3 examples"):
        evalkit.evaluate(
            data=tmp_path / "ref.txt",
            task="text-generation",
            predictions=tmp_path / "hyp.txt",
        )


def test_gold_labels_that_become_one_are_named() -> None:
    data = [
        {**row, "label": label}
        for row, label in zip(DATA, ("US", "us", "x"), strict=True)
    ]
    found = evalkit.evaluate(
        data=data,
        task="text-classification",
        predictions=[{"id": row["uid"], "label": "us"} for row in data],
        rows=Rows(normalise="labels"),
    )
    assert "'US', 'us' are one label, 'us'" in [str(each) for each in found.notices]
