"""GSM8K: small files in the publisher's format."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalkit
from evalkit_datasets_gsm8k.final_answers import given_answer, stored_answer

PROBLEMS = [
    ("Eggs\u2028and \u201cmore\u201d?", "16-7=<<16-7=9>>9\n9*2=$<<9*2=18>>18\n#### 18"),
    ("How much?", "It says so.\n#### 1,450,000"),
    ("How cold?", "7-10=<<7-10=-3>>-3\n#### -3"),
]
SOLVED = ["so $18\nA: 18", "A: $1,450,000.", "It is cold. #### -3"]

Write = Callable[[bytes], Path]


def as_lines(*problems: tuple[str, str]) -> bytes:
    rows = [{"question": question, "answer": answer} for question, answer in problems]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes the file to where it is looked for."""
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")

    def write_file(content: bytes) -> Path:
        file = tmp_path / "data" / "gsm8k" / "test.jsonl"
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
        return file

    return write_file


def evaluate(answers: list[Any], **options: Any) -> evalkit.Result:
    rows = [{"id": str(n), "answer": answer} for n, answer in enumerate(answers, 1)]
    return evalkit.evaluate("gsm8k", rows, **options)


# The publisher's file


@pytest.mark.parametrize(
    "content",
    [
        as_lines(*PROBLEMS),
        as_lines(*PROBLEMS).removesuffix(b"\n"),
        b"\xef\xbb\xbf" + as_lines(*PROBLEMS),
        as_lines(*PROBLEMS).replace(b"\n", b"\r\n"),
        as_lines(*PROBLEMS) + b"\n \n",
        as_lines(*PROBLEMS).replace(b'{"q', b'{"id": 7, "q'),
    ],
    ids=["plain", "no last newline", "byte-order mark", "CRLF", "blank", "more keys"],
)
def test_file_is_read_as_the_publisher_writes_it(write: Write, content: bytes) -> None:
    write(content)
    result = evaluate(SOLVED)
    assert result.examples is not None
    assert result.examples.select("id", "answer", "pred", "tags").rows() == [
        ("1", "18", "18", ["steps:2"]),
        ("2", "1450000", "1450000", ["steps:0"]),
        ("3", "-3", "-3", ["steps:1"]),
    ]
    assert result.headline is not None
    assert (result.headline.metric, result.headline.value) == ("exact-match", 1.0)
    assert result.metrics == ["exact-match"]


def test_id_is_the_number_of_the_line_also_after_a_blank_one(write: Write) -> None:
    write(as_lines(PROBLEMS[0]) + b"\n" + as_lines(*PROBLEMS[1:]))
    rows = evalkit.Registry().load("datasets", "gsm8k").plugin.load("test")
    assert [row["uid"] for row in rows] == ["1", "3", "4"]


def test_last_marker_of_a_worked_answer_counts_and_only_its_own(write: Write) -> None:
    write(as_lines(("How?", "#### 1\nthen A: 2\n#### A: 3")))
    result = evaluate(["#### 3"])
    assert result.examples is not None
    assert result.examples["answer"].to_list() == ["A: 3"]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (b'{"question": "How?", "answer": "#### 1"', ": is not JSON: Expecting"),
        (b'{"question": "caf\xe9", "answer": "#### 1"}', ": is not UTF-8: "),
        (b'["How?", "#### 1"]', ': must be a JSON object, is b\'["How?"'),
        (
            b'{"answer": "#### 1"}',
            ": question must be a text that is not empty, and is not there",
        ),
        (
            b'{"question": " ", "answer": "#### 1"}',
            ": question must be a text that is not empty, is ' '",
        ),
        (
            b'{"question": "How?", "answer": 18}',
            ": answer must be a text that is not empty, is 18",
        ),
        (
            b'{"question": "How?", "answer": "It is A: 18"}',
            ": answer must end in #### and the final answer, ends in 'It is A: 18'",
        ),
        (
            b'{"question": "How?", "answer": "18\\n#### $."}',
            r": answer must end in #### and the final answer, ends in '18\n#### $.'",
        ),
    ],
)
def test_bad_line_is_named_with_file_and_number(
    write: Write, bad: bytes, words: str
) -> None:
    file = write(as_lines(PROBLEMS[0]) + bad + b"\n" + as_lines(PROBLEMS[1]))
    with pytest.raises(evalkit.DataError) as caught:
        evaluate(SOLVED)
    assert str(caught.value).startswith(f"{file}, line 2{words}")


def test_licence_citation_and_address_are_recorded(write: Write) -> None:
    write(as_lines(*PROBLEMS))
    data = evaluate(SOLVED).to_dict()["data"]
    assert data["license"] == "MIT"
    assert "arXiv:2110.14168" in data["citation"]
    assert data["source_url"] == "https://github.com/openai/grade-school-math"


# What a model writes


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("A: 18", "18"),
        ("A:18", "18"),
        ("#### 18", "18"),
        ("####18", "18"),
        ("##### 18", "18"),
        ("A: 1\nA: 2", "2"),
        ("#### 1\nA: 2", "2"),
        ("A: 1\n#### 2", "2"),
        ("#### A: 2", "2"),
        ("A: #### 2", "2"),
        ("A: $1,450,000.", "1450000"),
        ("A: 18 .\n", "18"),
        ("A: 18..", "18."),
        ("A: 18.0", "18.0"),
        ("A: .5", ".5"),
        ("A: -$3", "-3"),
        ("A: 18 eggs", "18 eggs"),
        ("A: 18\nThat is all.", "18\nThat is all"),
        ("first\u2028A: 1\u2028", "1"),
    ],
)
def test_text_after_the_last_marker_is_the_answer(response: str, expected: str) -> None:
    assert given_answer(response) == expected


@pytest.mark.parametrize(
    "response",
    ["", "18", "The answer is 18.", "a: 18", "A 18", "### 18", "A:", "A: $."],
)
def test_response_without_such_a_text_is_unparsed_which_is_wrong_and_in_n(
    write: Write, response: str
) -> None:
    write(as_lines(*PROBLEMS))
    result = evaluate([response, *SOLVED[1:]])
    assert result.counts["unparsed"] == 1
    assert result.counts["scored"] == 3
    assert result["exact-match"].n == 3
    assert result["exact-match"].value == 2 / 3
    assert result.examples is not None
    assert result.examples["pred"].to_list() == [None, "1450000", "-3"]
    assert any("1 response counted as wrong" in notice for notice in result.notices)


@pytest.mark.parametrize("answer", [18, None, ["A: 18"]])
def test_response_that_is_no_text_is_invalid_and_not_unparsed(
    write: Write, answer: Any
) -> None:
    write(as_lines(*PROBLEMS))
    result = evaluate([answer, *SOLVED[1:]], on_invalid="skip")
    assert (result.counts["invalid"], result.counts["unparsed"]) == (1, 0)
    assert result.problems[0].violations == (
        ("answer", "must be a valid string", answer),
    )


Parts = st.lists(
    st.sampled_from(["A:", "####", "#", "A", ":", ",", "$", ".", "\n", "7"])
)


@given(Parts)
def test_answer_is_that_of_a_plain_search_for_the_markers(parts: list[str]) -> None:
    text = "".join(parts)
    ends = [
        position
        for position in range(len(text) + 1)
        if text[:position].endswith(("A:", "####"))
    ]
    expected = None
    if ends:
        rest = "".join(c for c in text[ends[-1] :] if c not in ",$").strip()
        expected = (rest[:-1] if rest.endswith(".") else rest).strip() or None
    assert given_answer(text) == expected
    if "A:" not in text:
        assert stored_answer(text) == expected


# The console script
