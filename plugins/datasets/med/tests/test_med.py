"""MED: small files in the publisher's format."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import evalkit
from evalkit_datasets_med.publisher import tags_of

HEADER = (
    *("index", "promptID", "pairID", "genre", "sentence1_binary_parse"),
    *("sentence2_binary_parse", "sentence1_parse", "sentence2_parse", "sentence1"),
    *("sentence2", "label1", "label2", "label3", "label4", "label5", "gold_label"),
)
QUOTED = ['"No" cat\u2028sat', 'A cat "sat', "No cat sat \u20ac 5", " A caf\u00e9 cat"]
ROWS = [
    ("11", "crowd:downward_monotone:npi", QUOTED[0], QUOTED[1], "entailment"),
    ("7", "crowd:upward_monotone", QUOTED[1], QUOTED[0], "neutral"),
    ("3", "paper:GLUE:Conjunction:non_monotone", QUOTED[2], QUOTED[3], "neutral"),
    ("4", "paper:upward_monotone:conjunction", QUOTED[2], QUOTED[1], "entailment"),
]
GOLD = {"11": "entailed", "7": "neutral", "3": "neutral", "4": "entailed"}

Write = Callable[[bytes], Path]


def as_tsv(
    rows: Sequence[Sequence[str]] = ROWS, header: Sequence[str] = HEADER
) -> bytes:
    lines = ["\t".join(header)]
    for uid, genre, first, second, label in rows:
        row = dict.fromkeys(HEADER, "") | {
            "index": uid,
            "promptID": uid,
            "pairID": uid,
            "genre": genre,
            "sentence1": first,
            "sentence2": second,
            "gold_label": label,
        }
        lines.append("\t".join(row[name] for name in header))
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return a function that writes the file to where it is looked for."""
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("EVALKIT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("EVALKIT_OFFLINE", "1")

    def write_file(content: bytes) -> Path:
        file = tmp_path / "data" / "med" / "MED.tsv"
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
        return file

    return write_file


def evaluate(labels: dict[str, Any] | None = None, **options: Any) -> evalkit.Result:
    given_labels = GOLD if labels is None else labels
    responses = [{"id": uid, "label": label} for uid, label in given_labels.items()]
    return evalkit.evaluate("med", responses, **options)


def failure() -> str:
    with pytest.raises(evalkit.DataError) as caught:
        evaluate()
    return str(caught.value)


# The publisher's file


@pytest.mark.parametrize(
    "content",
    [
        as_tsv(),
        as_tsv().removesuffix(b"\n"),
        b"\xef\xbb\xbf" + as_tsv(),
        as_tsv().replace(b"\n", b"\r\n"),
        as_tsv().replace(b"\n", b"\n\n") + b"\r\n",
        as_tsv(header=tuple(reversed(HEADER))),
        as_tsv(header=("gold_label", "index", "sentence2", "sentence1", "genre")),
    ],
    ids=[
        *("plain", "no last newline", "byte-order mark", "CRLF", "blank lines"),
        *("order of columns", "only the needed columns"),
    ],
)
def test_file_is_read_as_the_publisher_writes_it(write: Write, content: bytes) -> None:
    write(content)
    result = evaluate()
    assert result.examples is not None
    assert result.examples.select("id", "answer", "tags").rows() == [
        ("11", "entailed", ["source:crowd", "direction:downward", "phenomenon:npi"]),
        ("7", "neutral", ["source:crowd", "direction:upward"]),
        (
            "3",
            "neutral",
            [
                "source:paper",
                "corpus:GLUE",
                "phenomenon:Conjunction",
                "direction:non-monotone",
            ],
        ),
        (
            "4",
            "entailed",
            ["source:paper", "direction:upward", "phenomenon:conjunction"],
        ),
    ]
    assert result["accuracy"].value == 1.0


def test_quotation_marks_and_other_separators_are_ordinary_characters(
    write: Write,
) -> None:
    write(as_tsv())
    rows = evalkit.Registry().load("datasets", "med").plugin.load("test")
    assert [(row["context"], row["hypothesis"]) for row in rows] == [
        (first, second) for _, _, first, second, _ in ROWS
    ]


def test_pair_in_either_direction_is_one_cluster(write: Write) -> None:
    write(as_tsv([*ROWS, ("20", "crowd", QUOTED[2], QUOTED[3], "neutral")]))
    result = evaluate({**GOLD, "20": "neutral"})
    assert result["accuracy"].n_clusters == 3
    assert result.examples is not None
    clusters = dict(result.examples.select("id", "cluster").iter_rows())
    assert clusters["11"] == clusters["7"]
    assert clusters["3"] == clusters["20"]
    assert len({clusters["11"], clusters["3"], clusters["4"]}) == 3


def test_headline_is_accuracy_beside_macro_f1(write: Write) -> None:
    write(as_tsv())
    result = evaluate()
    assert result.headline is not None
    assert (result.headline.metric, result.headline.value) == ("accuracy", 1.0)
    assert result.metrics == ["accuracy", "macro-f1"]


@pytest.mark.parametrize("absent", ["index", "genre", "sentence1", "gold_label"])
def test_missing_column_is_named_with_the_file(write: Write, absent: str) -> None:
    file = write(as_tsv(header=[name for name in HEADER if name != absent]))
    message = failure()
    assert message.startswith(f"{file}: has no column {absent}; it has ")
    assert "promptID" in message


def test_repeated_column_is_refused_if_it_is_needed(write: Write) -> None:
    file = write(as_tsv(header=[*HEADER, "label1", "genre"]))
    assert failure() == f"{file}: has the column genre more than once"


def test_file_that_is_empty_has_no_columns(write: Write) -> None:
    file = write(b"")
    assert failure().startswith(f"{file}: has no column index")


def test_file_of_a_header_alone_has_no_examples(write: Write) -> None:
    write(as_tsv([]))
    assert "split 'test' has no examples" in failure()


def changed(position: int, value: str) -> bytes:
    """Change one field of the second row, which is on line 3."""
    row = [*ROWS[1]]
    row[position] = value
    return as_tsv([ROWS[0], tuple(row), *ROWS[2:]])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (changed(0, ""), "index is empty"),
        (changed(0, "11"), "index '11' was given before, at line 2"),
        (changed(2, ""), "sentence1 is empty"),
        (changed(3, " "), "sentence2 is empty"),
        (changed(4, ""), "gold_label is empty"),
        (
            changed(4, "-"),
            "gold_label must be one of entailment, neutral, contradiction, is '-'",
        ),
        (
            changed(4, "entailed"),
            "gold_label must be one of entailment, neutral, contradiction, is "
            "'entailed'",
        ),
        (changed(2, "a\tb"), "has 17 fields, but the file has 16 columns"),
        (changed(2, "a\nb"), "has 9 fields, but the file has 16 columns"),
        (
            as_tsv().replace(b"7\t7\t7", b"7\t7"),
            "has 15 fields, but the file has 16 columns",
        ),
        (as_tsv([ROWS[0]]) + b"\t" * 15 + b"\n", "index is empty"),
        (
            as_tsv().replace(b"\n7\t", b"\n7\xe9\t"),
            "is not UTF-8: invalid continuation byte",
        ),
    ],
)
def test_bad_line_is_named_with_file_and_number(
    write: Write, content: bytes, words: str
) -> None:
    file = write(content)
    assert failure() == f"{file}, line 3: {words}"


def test_licence_citation_and_address_are_recorded(write: Write) -> None:
    write(as_tsv())
    data = evaluate().to_dict()["data"]
    assert data["license"] == "CC-BY-SA-4.0"
    assert "10.18653/v1/W19-4804" in data["citation"]
    assert data["source_url"] == "https://github.com/verypluming/MED"


# Tags


@pytest.mark.parametrize(
    ("genre", "expected"),
    [
        ("", []),
        ("crowd", ["source:crowd"]),
        (
            "paper:FraCaS_GQ:non_monotone",
            ["source:paper", "corpus:FraCaS_GQ", "direction:non-monotone"],
        ),
        ("Crowd:GLUE", ["phenomenon:Crowd", "corpus:GLUE"]),
        (
            "conjunction:Conjunction:World knowledge",
            [
                "phenomenon:conjunction",
                "phenomenon:Conjunction",
                "phenomenon:World knowledge",
            ],
        ),
        (
            "downward_monotone: upward_monotone ::",
            ["direction:downward", "direction:upward"],
        ),
    ],
)
def test_parts_of_a_genre_become_tags(genre: str, expected: list[str]) -> None:
    assert tags_of(genre) == expected


# Predictions


def test_contradiction_is_a_valid_response_that_is_wrong(write: Write) -> None:
    write(as_tsv())
    result = evaluate({**GOLD, "7": "contradictory"})
    assert (result.counts["scored"], result.counts["invalid"]) == (4, 0)
    assert result["accuracy"].value == 0.75
    # per class: entailed 1, neutral 2 / 3; no example is contradictory
    assert result["macro-f1"].value == pytest.approx((1 + 2 / 3) / 2, abs=1e-15)


def test_probabilities_are_those_of_the_tasks_three_labels(write: Write) -> None:
    write(as_tsv())
    prob = {"entailed": 0.5, "neutral": 0.3, "contradictory": 0.2}
    responses: list[dict[str, Any]] = [
        {"id": uid, "label": label, "prob": prob} for uid, label in GOLD.items()
    ]
    assert evalkit.evaluate("med", responses).counts["scored"] == 4
    responses[0]["prob"] = {"entailed": 0.5, "contradictory": 0.5}
    result = evalkit.evaluate("med", responses, on_invalid="skip")
    assert result.problems[0].violations == (("prob.neutral", "is required", None),)


@pytest.mark.parametrize("entailed", ["entailed", "entailment"])
def test_a_model_of_two_classes_gives_the_third_no_probability(
    write: Write, entailed: str
) -> None:
    write(as_tsv())
    prob = {entailed: 0.75, "neutral": 0.25}
    responses = [{"id": uid, "label": entailed, "prob": prob} for uid in GOLD]
    result = evalkit.evaluate("med", responses)
    assert result.examples is not None
    assert result.examples["prob"].to_list() == [
        {"contradictory": 0.0, "entailed": 0.75, "neutral": 0.25}
    ] * len(GOLD)
    assert prob == {entailed: 0.75, "neutral": 0.25}


def test_mnlis_names_of_labels_are_taken_for_the_tasks(write: Write) -> None:
    write(as_tsv())
    names = {"entailed": "entailment", "contradictory": "contradiction"}
    probabilities = {"entailment": 0.5, "neutral": 0.25, "contradiction": 0.25}
    responses = [
        {"id": uid, "label": names.get(label, label), "prob": probabilities}
        for uid, label in GOLD.items()
    ]
    result = evalkit.evaluate("med", responses)
    assert result["accuracy"].value == 1.0
    assert result.examples is not None
    assert result.examples["prob"][0] == {
        "contradictory": 0.25,
        "entailed": 0.5,
        "neutral": 0.25,
    }


def test_names_of_both_kinds_in_prob_are_refused(write: Write) -> None:
    write(as_tsv())
    mixed = {"entailment": 0.5, "neutral": 0.25, "contradictory": 0.25}
    responses: list[dict[str, Any]] = [
        {"id": uid, "label": label} for uid, label in GOLD.items()
    ]
    responses[0]["prob"] = mixed
    result = evalkit.evaluate("med", responses, on_invalid="skip")
    assert [found.field for found in result.problems[0].violations] == [
        "prob.entailed",
        "prob.entailment",
    ]


# The console script
