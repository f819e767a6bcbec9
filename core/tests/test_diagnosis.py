"""Why data and predictions were refused: columns, ids, labels."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalkit
from evalkit.base.violations import Violation
from evalkit.diagnosis import (
    find_causes,
    guess_columns,
    label_forms,
    labels_in_other_form,
    labels_of,
    unknown_labels,
)


@pytest.mark.parametrize(
    ("field", "column"),
    [
        ("label", "Label"),
        ("label", "gold"),
        ("label", "gold_label"),
        ("statement", "text"),
        ("statement", "statment"),
        ("id", "key"),
        ("id", "doc.id"),
    ],
)
def test_names_for_one_thing_are_near(field: str, column: str) -> None:
    assert guess_columns([field], [column, "_"]) == {field: column}


def test_each_column_is_guessed_once_and_the_nearest_field_has_it() -> None:
    assert guess_columns(["statement", "text"], ["Text"]) == {"text": "Text"}


@pytest.mark.parametrize(
    ("unknown", "known", "words"),
    [
        (["7.0"], ["7"], "'.0' of floats"),
        (["7"], ["7.0"], "'.0' of floats"),
        (["7"], ["007"], "leading zeros"),
        (["a 7 "], ["a7"], "blanks"),
        (["7"], ["test-7"], "a prefix"),
        (["data/test_7"], ["7"], "a prefix"),
    ],
)
def test_ids_in_another_form_are_named(
    unknown: list[str], known: list[str], words: str
) -> None:
    ids = pl.Series(["other", *known])
    [cause] = find_causes([], ["strange", *unknown], ids)
    assert f"such as {unknown[0]!r} for {known[0]!r}: they differ in {words}" in cause


def test_floats_as_ids_are_named_and_other_violations_are_not() -> None:
    broken = [Violation("id", "must be a text", value) for value in (1.0, None)]
    [cause] = find_causes(broken, [], pl.Series(["1"]))
    assert cause.startswith("ids are floats, such as 1.0; write them as integers")
    assert not [*find_causes(broken[1:], [], pl.Series(["1"]))]


def test_labels_in_another_form_and_others_are_counted() -> None:
    labels = ["yes", "no"]
    assert [*labels_in_other_form({"Yes": 7, " no": 3}, labels)] == [
        "10 predictions differ from a label only in case, blanks or Unicode form: "
        "'Yes' (7) for 'yes', ' no' (3) for 'no'; --normalise labels "
        "(normalise='labels' in Python) mends all of them"
    ]
    values = {"Yes": 1, "1": 1, "0": 2}
    [form] = labels_in_other_form(values, labels)
    assert "mends all" not in form
    assert [*unknown_labels(values, labels)] == [
        "4 predictions of a label that no example has, such as '0'; the labels are: "
        "'yes', 'no'"
    ]
    assert not [*unknown_labels({}, labels)]


def test_labels_of_the_data_are_what_has_five_examples_on_average() -> None:
    answers = pl.Series(["a"] * 9 + ["A"])
    assert labels_of(answers, "one") == ["a", "A"]
    assert labels_of(answers[1:], "one") == []
    assert labels_of(answers, "ranked") == []
    assert labels_of(pl.Series([["a", "b"]] * 5), "all-of") == ["a", "b"]
    assert labels_of(pl.Series([1] * 9), "one") == []
    [notice] = label_forms(["a", "A", "b"])
    assert "differ only in case, blanks or Unicode form: 'a', 'A'; each" in notice


ROWS = [
    {"uid": str(n), "statement": "x", "label": ["negative", "positive"][n % 2]}
    for n in range(12)
]


def responses(**labels: Any) -> list[dict[str, Any]]:
    return [
        {"id": row["uid"], "label": labels.get(row["label"], row["label"])}
        for row in ROWS
    ]


def test_validate_names_labels_that_an_evaluation_takes_for_wrong() -> None:
    task = "text-classification"
    said = responses(negative="Negative", positive="1")
    assert not evalkit.evaluate(data=ROWS, predictions=said, task=task).notices
    form, rest = evalkit.validate(data=ROWS, predictions=said, task=task).notices
    assert "'Negative' (6) for 'negative'" in form
    assert "12 predictions of a label that no example has" in rest
    other = [{**ROWS[0], "uid": f"n{n}", "label": "Negative"} for n in range(3)]
    several = [*ROWS, *other]
    [notice] = evalkit.validate(data=several, task=task).notices
    assert "'negative', 'Negative'" in notice


def test_a_refusal_names_labels_in_another_form() -> None:
    said = responses(negative="NEGATIVE")
    with pytest.raises(evalkit.AlignmentError) as refused:
        evalkit.evaluate(data=ROWS, predictions=said, task="sentiment")
    assert (
        "6 invalid predictions differ from a label only in case, blanks or Unicode "
        "form: 'NEGATIVE' (6) for 'negative'; --normalise labels"
    ) in str(refused.value)


EVALUATES = """
import sys
import evalkit
rows = [{"uid": str(n), "statement": "x", "label": "positive"} for n in range(12)]
said = [{"id": str(n), "label": "positive", "p_positive": 1} for n in range(11)]
options = {"on_missing": "wrong", "keep": ["statement"]}
found = evalkit.evaluate(data=rows, predictions=said, task="sentiment", **options)
assert found["accuracy"].value == 11 / 12
print("evalkit.diagnosis" in sys.modules)
try:
    evalkit.evaluate(data=rows, predictions=said, task="sentiment")
except evalkit.AlignmentError:
    print("evalkit.diagnosis" in sys.modules)
"""


@pytest.mark.slow
def test_only_a_refusal_imports_the_diagnosis(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EVALUATES],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.split() == ["False", "True"]
