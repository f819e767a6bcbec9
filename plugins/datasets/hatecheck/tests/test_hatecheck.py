"""HateCheck: small files in the publisher's format."""

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import evalkit

HEADER = (
    *("", "functionality", "case_id", "test_case", "label_gold", "target_ident"),
    *("direction", "focus_words", "focus_lemma", "ref_case_id", "ref_templ_id"),
    *("templ_id", "case_templ"),
)
TEXTS = ["I hate women. ", 'She said "no",\nand left', "I love\u2028soup", " caf\u00e9"]
ROWS = [
    ("f1", "11", TEXTS[0], "hateful", "women", "general", "7"),
    ("f1", "7", TEXTS[1], "hateful", "women", "directed", "7"),
    ("f2", "105", TEXTS[2], "non-hateful", "", "-", "9"),
    ("f2", "3901", TEXTS[3], "non-hateful", "Muslims", "-", "8"),
]
GOLD = {"11": "hateful", "7": "hateful", "105": "not-hateful", "3901": "not-hateful"}

Write = Callable[[bytes], Path]


def as_csv(
    rows: Sequence[Sequence[str]] = ROWS, header: Sequence[str] = HEADER
) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    for number, (
        functionality,
        uid,
        text,
        label,
        target,
        direction,
        templ,
    ) in enumerate(rows):
        values = (number, functionality, uid, text, label, target, direction)
        row = dict(zip(HEADER, (*values, "", "", "", "", templ, "t"), strict=True))
        writer.writerow([row[name] for name in header])
    return stream.getvalue().encode()


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes the file to where it is looked for."""
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")

    def write_file(content: bytes) -> Path:
        file = tmp_path / "hatecheck" / "test_suite_cases.csv"
        file.parent.mkdir()
        file.write_bytes(content)
        return file

    return write_file


def evaluate(labels: dict[str, str] | None = None) -> evalkit.Result:
    given = GOLD if labels is None else labels
    responses = [{"id": uid, "label": label} for uid, label in given.items()]
    return evalkit.evaluate("hatecheck", responses)


@pytest.mark.parametrize(
    "content",
    [
        as_csv(),
        b"\xef\xbb\xbf" + as_csv(),
        as_csv().removesuffix(b"\n"),
        as_csv() + b"\n\n",
        as_csv()
        .replace(b",t\n", b",t\r\n")
        .replace(b"case_templ\n", b"case_templ\r\n"),
        as_csv(header=tuple(reversed(HEADER))),
    ],
    ids=["plain", "byte-order mark", "no last newline", "blank lines", "CRLF", "order"],
)
def test_file_is_read_as_the_publisher_writes_it(write: Write, content: bytes) -> None:
    write(content)
    result = evaluate()
    assert result["accuracy"].value == 1.0
    assert result.examples is not None
    assert result.examples.select("id", "answer", "tags").rows() == [
        ("11", "hateful", ["functionality:f1", "target:women", "direction:general"]),
        ("7", "hateful", ["functionality:f1", "target:women", "direction:directed"]),
        ("105", "not-hateful", ["functionality:f2", "direction:-"]),
        ("3901", "not-hateful", ["functionality:f2", "target:Muslims", "direction:-"]),
    ]


def test_rows_of_one_template_are_one_cluster(write: Write) -> None:
    write(as_csv())
    result = evaluate()
    assert result["accuracy"].n_clusters == 3
    assert result.examples is not None
    first, second, *others = result.examples["cluster"].to_list()
    assert first == second
    assert len({first, *others}) == 3


def test_predictions_are_matched_by_case_id_and_not_by_row(write: Write) -> None:
    write(as_csv())
    wrong = {**GOLD, "105": "hateful"}
    by_id = dict(sorted(wrong.items()))
    result = evaluate(by_id)
    assert result["accuracy"].value == 0.75
    tags = {
        row["tag"]: (row["n"], row["value"])
        for row in result.by_tag.iter_rows(named=True)
        if row["metric"] == "accuracy"
    }
    assert tags == {
        "functionality:f1": (2, 1.0),
        "functionality:f2": (2, 0.5),
        "target:women": (2, 1.0),
        "target:Muslims": (1, 1.0),
        "direction:general": (1, 1.0),
        "direction:directed": (1, 1.0),
        "direction:-": (2, 0.5),
    }


@pytest.mark.parametrize(
    "absent",
    [
        ("case_id",),
        ("test_case",),
        ("label_gold",),
        ("functionality",),
        ("target_ident",),
        ("direction",),
        ("templ_id",),
        ("case_id", "templ_id"),
    ],
    ids=", ".join,
)
def test_missing_column_is_named_with_the_file(
    write: Write, absent: tuple[str, ...]
) -> None:
    file = write(as_csv(header=[name for name in HEADER if name not in absent]))
    with pytest.raises(evalkit.DataError) as caught:
        evaluate()
    message = str(caught.value)
    assert f"{file}: has no column {', '.join(absent)}; it has " in message
    assert "focus_lemma" in message


@pytest.mark.parametrize(
    "content",
    [
        b"",
        as_csv().replace("caf\u00e9".encode(), b"caf\xe9"),
        as_csv() + b"4,f3,12,a,hateful,,,,,,,1,t,too,many\n",
        as_csv() + b'4,f3,12,"never closed,hateful,,,,,,,1,t\n',
    ],
    ids=["empty", "Latin-1", "too many fields", "open quote"],
)
def test_what_is_no_csv_is_named_with_the_file(write: Write, content: bytes) -> None:
    file = write(content)
    with pytest.raises(evalkit.DataError) as caught:
        evaluate()
    assert str(caught.value).startswith(f"{file}: cannot be read as CSV in UTF-8: ")
    assert "\n" not in str(caught.value)


def replaced(position: int, value: str) -> list[tuple[str, ...]]:
    """Change one field of the third row."""
    row = [*ROWS[2]]
    row[position] = value
    return [*ROWS[:2], tuple(row), ROWS[3]]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            replaced(3, "maybe"),
            r"\(uid '105'\): label_gold: must be one of the labels hateful, "
            "non-hateful, found 'maybe'",
        ),
        (replaced(3, ""), r"\(uid '105'\): label_gold: is required"),
        (replaced(2, ""), r"\(uid '105'\): statement: is required"),
        (replaced(1, ""), "example 3: uid: must be a text"),
        (replaced(1, "7"), "example 3: uid '7' was given before, at example 2"),
        ([], "split 'test' has no examples"),
    ],
    ids=["unknown label", "no label", "no text", "no id", "repeated id", "no rows"],
)
def test_broken_rows_are_named_with_their_id(
    write: Write, rows: list[tuple[str, ...]], words: str
) -> None:
    write(as_csv(rows))
    with pytest.raises(evalkit.DataError, match=words) as caught:
        evaluate()
    assert "datasets/hatecheck (evalkit-datasets-hatecheck " in str(caught.value)


def test_licence_citation_and_warning_are_recorded(write: Write) -> None:
    write(as_csv())
    data = evaluate().to_dict()["data"]
    assert data["license"] == "CC-BY-4.0"
    assert "10.18653/v1/2021.acl-long.4" in data["citation"]
    assert "hateful" in data["content_warning"]
