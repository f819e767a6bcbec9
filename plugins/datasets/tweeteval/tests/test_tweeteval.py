"""TweetEval's sentiment set: small files in the publisher's format."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import evalkit

TWEETS = [
    "so happy \U0001f600 today",
    "it is what it is",
    "worst. day. ever. @user",
    "one line\u2028and the same line\u0085still\x0b\x0c\x1c, caf\u00e9",
    "\tspaces kept  ",
]
NUMBERS = ["2", "1", "0", "0", "2"]
NAMES = ["positive", "neutral", "negative", "negative", "positive"]
FILES = {
    "test_text.txt": "".join(f"{tweet}\n" for tweet in TWEETS).encode(),
    "test_labels.txt": "".join(f"{number}\n" for number in NUMBERS).encode(),
    "mapping.txt": b"0\tnegative\n1\tneutral\n2\tpositive\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the publisher's files, which are there."""
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")
    found = tmp_path / "data" / "tweeteval-sentiment"
    found.mkdir(parents=True)
    for name, content in FILES.items():
        (found / name).write_bytes(content)
    return found


def responses(labels: list[Any]) -> list[Mapping[str, Any]]:
    return [{"id": str(n), "label": label} for n, label in enumerate(labels, start=1)]


def evaluate(predictions: Any = None, **options: Any) -> evalkit.Result:
    given = responses(NAMES) if predictions is None else predictions
    return evalkit.evaluate("tweeteval-sentiment", given, **options)


def failure() -> str:
    with pytest.raises(evalkit.DataError) as caught:
        evaluate()
    return str(caught.value)


# The publisher's files


def test_ids_are_line_numbers_and_answers_names() -> None:
    result = evaluate()
    assert result.examples is not None
    assert result.examples["id"].to_list() == ["1", "2", "3", "4", "5"]
    assert result.examples["answer"].to_list() == NAMES
    assert result.headline is not None
    assert (result.headline.metric, result.headline.value) == ("macro-recall", 1.0)
    assert result.metrics == ["macro-recall", "accuracy", "macro-f1"]


def statements() -> list[str]:
    plugin = evalkit.Registry().load("datasets", "tweeteval-sentiment").plugin
    return [row["statement"] for row in plugin.load("test")]


def test_only_a_newline_ends_a_tweet() -> None:
    assert statements() == TWEETS


@pytest.mark.parametrize("last_newline", [True, False])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "byte-order mark"])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_line_endings_and_byte_order_marks_do_not_matter(
    folder: Path, ending: bytes, mark: bytes, last_newline: bool
) -> None:
    for name, content in FILES.items():
        kept = content if last_newline else content.removesuffix(b"\n")
        (folder / name).write_bytes(mark + kept.replace(b"\n", ending))
    assert statements() == TWEETS
    assert evaluate()["accuracy"].value == 1.0


@pytest.mark.parametrize(
    ("name", "content", "counts"),
    [
        ("test_labels.txt", b"2\n1\n", (5, 2)),
        ("test_labels.txt", FILES["test_labels.txt"] + b"1\n", (5, 6)),
        ("test_text.txt", b"only one\n", (1, 5)),
        ("test_text.txt", b"", (1, 5)),
    ],
)
def test_files_of_different_length_are_refused_with_both_counts(
    folder: Path, name: str, content: bytes, counts: tuple[int, int]
) -> None:
    (folder / name).write_bytes(content)
    assert failure() == (
        f"{folder / 'test_text.txt'} has {counts[0]} lines and "
        f"{folder / 'test_labels.txt'} has {counts[1]}; each text needs one label"
    )


@pytest.mark.parametrize("name", FILES)
def test_missing_file_is_named_with_folder_and_address(folder: Path, name: str) -> None:
    (folder / name).unlink()
    message = failure()
    assert f"data set tweeteval-sentiment needs the file {name}" in message
    assert f"put it at {folder / name}" in message
    assert f"cardiffnlp/tweeteval/main/datasets/sentiment/{name}" in message


@pytest.mark.parametrize("name", FILES)
def test_file_that_is_not_utf_8_is_named_with_the_line(folder: Path, name: str) -> None:
    first, _, rest = FILES[name].partition(b"\n")
    (folder / name).write_bytes(first + b"\ncaf\xe9" + rest)
    assert failure().startswith(f"{folder / name}, line 2: is not UTF-8: ")


@pytest.mark.parametrize(
    ("mapping", "shown"),
    [
        (b"0\tbad\n1\tneutral\n2\tgood\n", "0 bad, 1 neutral, 2 good"),
        (b"0\tnegative\n1\tneutral\n", "0 negative, 1 neutral"),
        (
            b"1\tnegative\n0\tneutral\n2\tpositive\n",
            "1 negative, 0 neutral, 2 positive",
        ),
        (
            b"0\tpositive\n1\tneutral\n2\tnegative\n",
            "0 positive, 1 neutral, 2 negative",
        ),
    ],
    ids=["other names", "too few", "other numbers", "other order"],
)
def test_mapping_to_other_names_is_refused(
    folder: Path, mapping: bytes, shown: str
) -> None:
    (folder / "mapping.txt").write_bytes(mapping)
    assert failure() == (
        f"{folder / 'mapping.txt'}: names the labels {shown}; expected 0 negative, "
        "1 neutral, 2 positive"
    )


@pytest.mark.parametrize("line", ["0 negative", "negative\t0", "0\t", "", "\tnegative"])
def test_line_of_another_form_is_named_in_the_mapping(folder: Path, line: str) -> None:
    mapping = FILES["mapping.txt"].replace(b"1\tneutral", line.encode())
    (folder / "mapping.txt").write_bytes(mapping)
    assert failure() == (
        f"{folder / 'mapping.txt'}, line 2: must be a number, a tab and a name, is "
        f"{line!r}"
    )


def test_number_that_the_mapping_names_twice_is_refused(folder: Path) -> None:
    mapping = b"0\tpositive\n0\tnegative\n1\tneutral\n2\tpositive\n"
    (folder / "mapping.txt").write_bytes(mapping)
    assert failure() == f"{folder / 'mapping.txt'}, line 2: names the label 0 again"


@pytest.mark.parametrize("label", ["3", "", "good", "-1"])
def test_label_that_the_mapping_does_not_name_is_refused(
    folder: Path, label: str
) -> None:
    labels = FILES["test_labels.txt"].replace(b"1\n", f"{label}\n".encode())
    (folder / "test_labels.txt").write_bytes(labels)
    message = failure()
    assert message.endswith(
        f"(uid '2'): label: must be one of the labels 0, 1, 2, found {label!r}"
    )
    assert "datasets/tweeteval-sentiment (evalkit-datasets-tweeteval " in message


# Predictions


@pytest.mark.parametrize(
    ("label", "rule", "value"),
    [
        ("7", "must be one of negative, neutral, positive", "7"),
        (7, "must be one of negative, neutral, positive", "7"),
        (-1, "must be one of negative, neutral, positive", "-1"),
        ("Positive", "must be one of negative, neutral, positive", "Positive"),
        ("", "must be one of negative, neutral, positive", ""),
        (2.0, "must be a valid string", 2.0),
        (True, "must be a valid string", True),
        (None, "must be a valid string", None),
    ],
)
def test_any_other_prediction_is_refused_with_its_value(
    label: Any, rule: str, value: Any
) -> None:
    result = evaluate(responses([label, *NAMES[1:]]), on_invalid="skip")
    (problem,) = result.problems
    assert (problem.status, problem.line, problem.id) == ("invalid", 1, "1")
    assert problem.violations == (("label", rule, value),)
    assert result.counts["scored"] == 4


def test_prediction_without_a_label_is_refused() -> None:
    result = evaluate([{"id": "1"}, *responses(NAMES)[1:]], on_invalid="skip")
    assert result.problems[0].violations == (("label", "is required", None),)


def test_licence_citation_and_address_are_recorded() -> None:
    data = evaluate().to_dict()["data"]
    assert data["license"] == "LicenseRef-Twitter-terms"
    assert "10.18653/v1/2020.findings-emnlp.148" in data["citation"]
    assert data["source_url"] == "https://github.com/cardiffnlp/tweeteval"
