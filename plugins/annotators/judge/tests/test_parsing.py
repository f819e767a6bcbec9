"""Verdicts are read from replies, or nothing is."""

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit_annotators_judge.columns import of_criteria, of_judges
from evalkit_annotators_judge.declaration import Declaration, VerdictRule
from evalkit_annotators_judge.labels import UnknownVerdict, peoples_verdict
from evalkit_annotators_judge.parsing import Verdict, mirrored, read_verdict

GOOD = {"GOOD": 1.0, "VERY GOOD": 2.0, "BAD": 0.0}


def read(text: str, **rule: Any) -> tuple[float | None, str | None]:
    found = read_verdict(text, VerdictRule.model_validate(rule))
    assert (found.value is None) == (found.reason is not None)
    return found.value, found.label if found.reason is None else found.reason


NO_VERDICT = (None, "unparsed: no verdict")
NEGATED = (None, "unparsed: a negated verdict")
SEVERAL = (None, "unparsed: several verdicts")
UNDECLARED = (None, "unparsed: a label that is not declared")


@pytest.mark.parametrize(
    ("text", "rule", "expected"),
    [
        ("It is GOOD.", {}, (1.0, "GOOD")),
        ("It is VERY GOOD.", {}, (2.0, "VERY GOOD")),
        ("GOOD, very GOOD", {}, (1.0, "GOOD")),
        ("It is GOODISH.", {}, NO_VERDICT),
        ("good", {}, NO_VERDICT),
        ("not BAD, but GOOD", {}, SEVERAL),
        ("not BAD, but GOOD", {"take": "last"}, (1.0, "GOOD")),
        ("not BAD, but GOOD", {"take": "first"}, NEGATED),
        ("It is not GOOD.", {}, NEGATED),
        ("It isn't **GOOD**", {}, NEGATED),
        ("non-GOOD", {}, NEGATED),
        ("It is not long.\nGOOD", {}, (1.0, "GOOD")),
        ("<v>GOOD</v>, no: <v>not GOOD</v>", {"tag": "v"}, UNDECLARED),
        ("<v>GOOD</v>, no: <v>**BAD**</v>", {"tag": "v"}, UNDECLARED),
        ("<v>GOOD</v> <v></v>", {"tag": "v"}, UNDECLARED),
        ("<v>GOOD</v>, no: <v>BAD", {"tag": "v"}, UNDECLARED),
        ("<v>GOOD</v> <v>or so</v>", {"tag": "v", "take": "first"}, (1.0, "GOOD")),
        ("GOOD <v>BAD</v>", {"tag": "v"}, (0.0, "BAD")),
        ("<v> VERY GOOD </v>", {"tag": "v"}, (2.0, "VERY GOOD")),
        ("<v>GOOD</v><v>BAD</v>", {"tag": "v", "take": "first"}, (1.0, "GOOD")),
        ("<v>GOOD</v><v>BAD</v>", {"tag": "v", "take": "only"}, SEVERAL),
        ("<v>GOOD or BAD</v>", {"tag": "v"}, NO_VERDICT),
        ("<v>MEH</v>", {"tag": "v"}, UNDECLARED),
        ("<v>GOOD", {"tag": "v"}, NO_VERDICT),
        ("<v>so <v>GOOD</v>", {"tag": "v"}, (1.0, "GOOD")),
        ("Verdict: BAD\nVerdict: GOOD", {"pattern": r"Verdict: (\w+)"}, (1.0, "GOOD")),
        ("", {}, NO_VERDICT),
    ],
)
def test_labels(text: str, rule: Any, expected: Any) -> None:
    assert read(text, kind="label", values=GOOD, **rule) == expected


@pytest.mark.parametrize(
    ("text", "rule", "expected"),
    [
        ("I give it a 7.", {}, 7.0),
        ("7/10", {}, 7.0),
        ("7 / 10", {}, 7.0),
        ("7/5", {}, "unparsed: no number"),
        ("7.5", {}, 7.5),
        ("11", {}, "unparsed: a number out of the range"),
        ("-1", {}, "unparsed: a number out of the range"),
        ("7 or 8", {}, "unparsed: several verdicts"),
        ("7 or 8", {"take": "last"}, 8.0),
        ("B2", {}, "unparsed: no verdict"),
        ("seven", {}, "unparsed: no verdict"),
        ("of 3 points: <s>2</s>", {"tag": "s"}, 2.0),
        ("<s>two</s>", {"tag": "s"}, "unparsed: no number"),
        ("Rating: [[5]]", {"pattern": r"\[\[(\d+)\]\]"}, 5.0),
    ],
)
def test_numbers(text: str, rule: Any, expected: Any) -> None:
    found = read(text, kind="number", range=[0, 10], **rule)
    assert found == (
        (None, expected) if isinstance(expected, str) else (expected, None)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CORRECT", (1.0, "correct")),
        ("The answer is CORRECT.", (1.0, "correct")),
        ("INCORRECT", (0.0, "incorrect")),
        ("NOT CORRECT", (0.0, "incorrect")),
        ("This is not CORRECT.", (0.0, "incorrect")),
        ("It isn't quite CORRECT", (0.0, "incorrect")),
        ("INCORRECT, as the CORRECT answer is 5", (0.0, "incorrect")),
        ("not INCORRECT", NEGATED),
        ("The answer is **NOT** CORRECT.", (0.0, "incorrect")),
        ("NOT **CORRECT**", (0.0, "incorrect")),
        ("not at all CORRECT", (0.0, "incorrect")),
        ("not: CORRECT", NEGATED),
        ("not only CORRECT", NEGATED),
        ("It is not, in my view, CORRECT", NEGATED),
        ("CORRECT it is not.", NEGATED),
        ("CORRECT, as it does not differ", (1.0, "correct")),
        ("INCORRECT, as it does not match", (0.0, "incorrect")),
        ("neither CORRECT nor INCORRECT", NEGATED),
        ("It isn't\nCORRECT", NEGATED),
        ("The unit is not given\nCORRECT", (1.0, "correct")),
        ("The difference does not matter.\nCORRECT", (1.0, "correct")),
        ("I could not find a fault. CORRECT", (1.0, "correct")),
        ("CORRECT? NOT CORRECT!", SEVERAL),
        ("the correct answer is 5", NO_VERDICT),
        ("CORRECTED", NO_VERDICT),
    ],
)
def test_correct_as_a_whole_word(text: str, expected: Any) -> None:
    assert read(text, kind="correct") == expected


@pytest.mark.parametrize(
    ("text", "rule", "expected"),
    [
        ('```json\n{"criteria_met": true}\n```', {}, (1.0, "met")),
        ('{"why": "the set {1, 2}", "criteria_met": false}', {}, (0.0, "not met")),
        ('{"a": {"b": 1}, "criteria_met": true}', {}, (1.0, "met")),
        ('{\\"criteria_met\\": true}', {}, (1.0, "met")),
        ('{"criteria_met": "true"}', {}, "criteria_met is of another kind"),
        ('{"criteria_met": 1}', {}, "criteria_met is of another kind"),
        ('{"met": true}', {}, "criteria_met is not there"),
        ('{"criteria_met": tru}', {}, "no object of JSON"),
        ("true", {}, "no object of JSON"),
        ('{"criteria_met": true} {"criteria_met": False}', {}, "no object of JSON"),
        ('{"criteria_met": true} {"criteria_met": false', {}, "no object of JSON"),
        (
            '{"criteria_met": true} {"why": "a "b"", "criteria_met": false}',
            {},
            "no object of JSON",
        ),
        ('{"criteria_met": true} {"note": 1}', {}, (1.0, "met")),
        ('{{"criteria_met": true}}', {}, (1.0, "met")),
        (
            '{"why": "asked for {\\"criteria_met\\": true}", "criteria_met": false}',
            {},
            (0.0, "not met"),
        ),
        ('{"s": 4}', {"key": "s", "range": [1, 5]}, (4.0, None)),
        ('{"s": " 4.5 ", "t": "a \n b"}', {"key": "s", "range": [1, 5]}, (4.5, None)),
        ('{"s": "4/5"}', {"key": "s", "range": [1, 5]}, "s is of another kind"),
        ('{"s": 6}', {"key": "s", "range": [1, 5]}, "a number out of the range"),
        ('{"s": true}', {"key": "s", "range": [1, 5]}, "s is of another kind"),
        ('{"s": 1, "s": 5}', {"key": "s", "range": [1, 5]}, "several verdicts"),
        ('{"s": 4, "s": 4}', {"key": "s", "range": [1, 5]}, (4.0, None)),
        ('{"s": NaN}', {"key": "s", "range": [1, 5]}, "a number out of the range"),
        ('{"s": 1e400}', {"key": "s", "range": [1, 5]}, "a number out of the range"),
        (
            f'{{"s": {"9" * 400}}}',
            {"key": "s", "range": [1, 5]},
            "a number out of the range",
        ),
        ('{"criteria_met": false, "criteria_met": true}', {}, "several verdicts"),
        ('{"s": "BAD"}', {"key": "s", "values": GOOD}, (0.0, "BAD")),
        ('{"s": "MEH"}', {"key": "s", "values": GOOD}, "a label that is not declared"),
    ],
)
def test_objects_of_json(text: str, rule: Any, expected: Any) -> None:
    wanted = (
        expected if isinstance(expected, tuple) else (None, f"unparsed: {expected}")
    )
    assert read(text, kind="json", **rule) == wanted


def test_the_cases(cases: Path) -> None:
    rows = map(json.loads, (cases / "35-json-pred.jsonl").read_text().split("\n")[:-1])
    rule = {"key": "score", "range": [0, 10]}
    found = {row["id"]: read(row["text"], kind="json", **rule)[0] for row in rows}
    assert {found[key] for key in ("00", "01", "02", "07", "17", "22")} == {7}
    assert {found[key] for key in ("04", "08", "09", "14", "15", "20", "21")} == {None}


@pytest.mark.parametrize("piece", ["{", '{"', '{"criteria_met":', '{"a": [1'])
def test_a_long_reply_of_braces_is_read_in_a_moment(piece: str) -> None:
    begun = process_time()
    assert read(piece * 200_000, kind="json")[0] is None
    assert process_time() - begun < 5  # was hours for some megabytes


FINE = {
    "[[A>>B]]": 3.0,
    "[[A>B]]": 1.0,
    "[[A=B]]": 0.5,
    "[[B>A]]": 0.0,
    "[[B>>A]]": 0.0,
}


@given(st.permutations([*FINE]))
def test_marks_have_the_same_images_in_whatever_order(marks: list[str]) -> None:
    rule = VerdictRule(kind="pair", values={mark: FINE[mark] for mark in marks})
    swapped = {mark: read_verdict(mark, rule, is_swapped=True).value for mark in FINE}
    assert [*swapped.values()] == [0, 0, 0.5, 1, 3]
    assert read_verdict("[[A>B]]", rule).value == 1


@pytest.mark.parametrize(
    ("values", "images"),
    [
        ({"worse": 0, "same": 0.5, "better": 1}, ["better", "same", "worse"]),
        ({"worse": 0, "better": 1, "much better": 3}, None),
        ({"much better": 1, "better": 1, "worse": 0}, None),
        ({"A>B": 1, "A=B": 0, "B>A": 0.5}, None),
        ({"A>>B": 3, "A>B": 1, "B>A": 0}, None),
    ],
)
def test_marks_without_images(values: Any, images: list[str] | None) -> None:
    found = mirrored(values)
    assert (None if found is None else [*found.values()]) == images


@given(st.text(), st.sampled_from(["label", "number", "json", "correct", "pair"]))
def test_whatever_is_written_is_read_or_has_a_reason(text: str, kind: str) -> None:
    more: dict[str, Any] = {"label": {"values": GOOD}, "number": {"range": [0, 10]}}
    read(text, kind=kind, **more.get(kind, {}))


@given(st.lists(st.tuples(st.booleans(), st.integers(-5, 5)), min_size=1))
def test_criteria_are_worth_from_0_to_1(criteria: list[tuple[bool, int]]) -> None:
    verdicts = [Verdict(float(is_met)) for is_met, _ in criteria]
    points = [float(each) for _, each in criteria]
    found = of_criteria(verdicts, ["c"] * len(points), points)
    if max(points) <= 0:
        assert found.value is None
    else:
        assert found.value is not None
        assert 0 <= found.value <= 1


@given(st.permutations([1.0, 1.0, 0.0, None, None]))
def test_a_majority_is_of_all_judges(values: list[float | None]) -> None:
    verdicts = [Verdict(v, str(v), None if v is not None else "busy") for v in values]
    names = ["a", "b", "c", "d", "e"]
    found = of_judges(verdicts, names, "majority")
    assert found.value is None  # two of five are no majority, though two of three are
    more = [Verdict(1.0, "1.0"), *verdicts[1:]]
    if values[0] != 1.0:
        assert of_judges(more, names, "majority").value == 1.0


def test_a_number_of_people_that_no_float_holds_is_refused() -> None:
    rule = {"kind": "number", "range": [1, 5]}
    said = {"model": "echo", "rubric": "r", "prompt": {"user": "p"}, "verdict": rule}
    with pytest.raises(UnknownVerdict, match="is no number"):
        peoples_verdict(10**400, Declaration.model_validate(said))
