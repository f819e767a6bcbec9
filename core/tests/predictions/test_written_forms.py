"""Labels that differ only in form are named, with counts; free text is left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl
import pytest
from pydantic import BaseModel
from sklearn.metrics import f1_score

import evalkit
from evalkit import Dataset, Registry, TaskIO
from evalkit.plugins.components import Component
from evalkit.plugins.discovery import Catalog
from evalkit.predictions import written_forms

HOW = "only in case, blanks or Unicode form"
END = (
    "; a metric that compares labels as they are written takes them for different ones"
)


class Text(BaseModel):
    uid: str


class Said(BaseModel):
    id: str
    label: Any


class Open(TaskIO):
    Input = Text
    Output = Said
    answer_field = "label"
    perf_metric = "match"
    example = {"uid": "1"}


class SaidLabel(BaseModel):
    id: str
    label: Literal["yes", "no"]


class Closed(Open):
    Output = SaidLabel
    labels = ("yes", "no")


class Loose(Open):
    labels = ("yes", "no", "maybe")

    def label_field_converter(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"id": example["uid"], "answer": example["label"], "tags": []}

    def pred_field_converter(self, response: dict[str, Any]) -> dict[str, Any]:
        return {"id": response["id"], "pred": response["label"]}


class Several(Open):
    answer_kind = "all-of"


def match(predictions: list[Any], targets: list[Any]) -> float:
    return sum(map(lambda p, t: p == t, predictions, targets)) / len(targets)


TASKS = tuple(
    Component("tasks", cls.__name__.lower(), f"{__name__}:{cls.__name__}", "d", "1")
    for cls in (Open, Closed, Loose, Several)
)
METRIC = Component("metrics", "match", f"{__name__}:match", "d", "1")
REGISTRY = Registry(Catalog((*TASKS, METRIC), ()))


def data_of(answers: Sequence[Any], kind: str = "open") -> Any:
    class Data(Dataset):
        task = kind

        def load(self, split: str) -> list[dict[str, Any]]:
            return [{"uid": str(k), "label": each} for k, each in enumerate(answers)]

    return Data


def responses(predictions: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"id": str(k), "label": each} for k, each in enumerate(predictions)]


def notices_of(
    answers: Sequence[Any], predictions: Sequence[Any], kind: str = "open", **how: Any
) -> list[str]:
    """Give the notices of `validate`."""
    data, rows = data_of(answers, kind), responses(predictions)
    return list(evalkit.validate(data, rows, registry=REGISTRY, **how).notices)


def times(counts: Mapping[str, int]) -> list[str]:
    return [label for label, count in counts.items() for _ in range(count)]


@pytest.mark.parametrize(
    ("other", "shown"),
    [
        ("Café", "'Café'"),
        ("café ", "'café '"),
        ("\tcafé", r"'\tcafé'"),
        ("cafe\u0301", r"'cafe\u0301'"),
        ("ca\u00a0fé", r"'ca\xa0f\xe9'"),
        ("ca\u200bfé", r"'ca\u200bfé'"),
        ("\ufeffcafé", r"'\ufeffcafé'"),
        ("\uff43\uff41\uff46é", r"'\uff43\uff41\uff46\xe9'"),
    ],
)
def test_each_form_of_a_gold_label_is_named_with_its_count(
    other: str, shown: str
) -> None:
    answers = times({"café": 8, other: 2, "tea": 5})
    [notice] = notices_of(answers, answers)
    assert (
        notice == f"2 forms of 1 gold label differ {HOW}: 'café' (8), {shown} (2){END}"
    )


@pytest.mark.parametrize(
    ("label", "other", "shown"),
    [
        ("straße", "STRASSE", "'STRASSE'"),
        ("iyi", "\u0130yi", "'\u0130yi'"),
        ("\u03c3\u03b1\u03c2", "\u03a3\u0391\u03a3", "'\u03a3\u0391\u03a3'"),
        ("\u2764", "\u2764\ufe0f", r"'\u2764\ufe0f'"),
        ("cat", "ca\u034ft", r"'ca\u034ft'"),
    ],
)
@pytest.mark.slow
def test_case_is_folded_and_unseen_marks_are_named(
    label: str, other: str, shown: str
) -> None:
    answers = times({label: 8, other: 2, "tea": 5})
    [notice] = notices_of(answers, answers)
    assert f"'{label}' (8), {shown} (2)" in notice
    [about] = notices_of(times({label: 8, "tea": 8}), times({other: 8, "tea": 8}))[:1]
    assert f"{shown} (8) for '{label}'" in about


def test_case_is_folded_as_unicode_folds_it() -> None:
    letters = [
        chr(code) for code in range(0x100, 0x20000) if not 0xD800 <= code < 0xE000
    ]
    pairs = [
        (letter, letter.casefold())
        for letter in letters
        if letter.casefold() != letter and letter != "\u0130"
    ]
    assert len(pairs) > 1000
    given, folded = (
        written_forms._with_forms(pl.DataFrame({"label": list(side)}))["form"].to_list()
        for side in zip(*pairs, strict=True)
    )
    assert given == folded


def test_forms_cost_macro_f1_and_are_told() -> None:
    answers = times({"a b": 30, "A b": 3, "A B": 3, "a  b": 3, "c": 30})
    predictions = times({"a b": 39, "c": 30})
    labels = sorted(set(answers))
    macro = f1_score(answers, predictions, labels=labels, average="macro")
    folded = ["ab" if label != "c" else label for label in answers]
    alike = ["ab" if label != "c" else label for label in predictions]
    assert macro < 0.4
    assert f1_score(folded, alike, average="macro") == 1.0
    [notice] = notices_of(answers, predictions)
    assert notice.startswith(f"4 forms of 1 gold label differ {HOW}: 'a b' (30), ")


def test_many_forms_and_labels_are_counted() -> None:
    forms = {label * 2: 20 for label in "abcd"}
    forms |= {label.upper() + label: 1 for label in "abcd"}
    forms |= dict.fromkeys(("AA", "aA", " aa", "aa "), 1)
    [notice] = notices_of(times(forms), times(forms))
    assert notice.startswith(f"12 forms of 4 gold labels differ {HOW}: 'aa' (20), ")
    assert ", 2 more; 'bb' (20), 'Bb' (1); 'cc' (20), 'Cc' (1); and 1 more" in notice


def test_labels_that_differ_otherwise_are_not_named() -> None:
    answers = times({"yes": 9, "no": 9, "yes!": 9, "yés": 9, "n_o": 9})
    assert notices_of(answers, answers) == []


def test_predictions_in_another_form_of_a_gold_label_are_named() -> None:
    answers = times({"yes": 12, "no": 12})
    predictions = times({"Yes": 7, "yes": 2, " no": 3, "none": 12})
    assert notices_of(answers, predictions) == [
        f"10 predictions are no label, but differ from one {HOW}: 'Yes' (7) for 'yes'; "
        "' no' (3) for 'no'",
        "22 predictions of a label that no example has, such as 'none'; the labels "
        "are: 'no'; 'yes'",
    ]


@pytest.mark.parametrize("unset", ["nan", "NaN", "null", "<NA>"])
@pytest.mark.slow
def test_gold_labels_that_look_like_missing_values_are_named(unset: str) -> None:
    answers = times({"yes": 20, "no": 20, unset: 3})
    assert notices_of(answers, answers) == [
        f"3 gold labels are '{unset}', as tables write a value that is not there; they "
        "count as a label like any other"
    ]
    # a label that means something
    assert notices_of(*[times({"yes": 20, "None": 20, "NA": 3})] * 2) == []


NUMBERS = ["5", "7", "0.5", "1e3", "9007199254740993", "8", "text"]


def test_predictions_of_the_same_number_written_otherwise_are_named() -> None:
    other = ["5.0", "7.", ".50", "1000", "9007199254740992", "9", "nan"]
    told = (
        "3 predictions are the answer's number written otherwise{}; a metric that "
        "compares texts as they are written takes them for wrong"
    )
    shown = ", such as '.50' for '0.5'"
    assert notices_of(NUMBERS, other) == [told.format(shown)]
    assert notices_of(NUMBERS, NUMBERS) == []
    assert notices_of(["x", "y"], ["5.0", "5"]) == []
    assert notices_of(["\u0661", "1"], ["1", "\u0661"]) == []


def test_declared_labels_are_known_though_no_example_has_them() -> None:
    answers, predictions = ["yes", "no", "yes"], ["yes", "no", "Maybe"]
    assert notices_of(answers, predictions, "loose") == [
        f"1 prediction is no label, but differs from one {HOW}: 'Maybe' (1) for 'maybe'"
    ]


def test_invalid_predictions_that_are_a_label_but_for_their_form() -> None:
    answers = ["yes", "no"] * 3
    predictions = ["Yes", "no", "YES", "no ", "maybe", "no"]
    hint = (
        f"3 invalid predictions differ from a label {HOW}: 'YES' (1) for 'yes'; 'Yes' "
        "(1) for 'yes'; 'no ' (1) for 'no'"
    )
    notices = notices_of(answers, predictions, "closed", on_invalid="skip")
    assert notices == [hint, "4 invalid examples left out of the scores"]
    with pytest.raises(evalkit.AlignmentError) as refused:
        evalkit.evaluate(
            data_of(answers, "closed"),
            responses(predictions),
            metrics=["match"],
            registry=REGISTRY,
        )
    assert f"  notice: {hint}" in str(refused.value).splitlines()


def test_of_many_invalid_predictions_the_first_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(written_forms, "_MOST_INVALID", 2)
    notices = notices_of(
        ["yes"] * 4, ["Yes"] * 3 + ["yes"], "closed", on_invalid="skip"
    )
    assert notices[0].startswith(
        f"2 of the first 2 invalid predictions differ from a label {HOW}: 'Yes' (2) "
    )


def test_sets_of_labels_are_looked_into() -> None:
    answers = [["a", "b"], ["a"], ["A", "a"]] * 10
    predictions = [["a", "B"], ["a"], ["A", "a"]] * 10
    assert notices_of(answers, predictions, "several") == [
        f"2 forms of 1 gold label differ {HOW}: 'a' (30), 'A' (10){END}",
        f"10 predictions are no label, but differ from one {HOW}: 'B' (10) for 'b'",
    ]


def test_free_text_is_left_alone() -> None:
    answers = [f"{'Ab'[k % 2 :]} {k // 2}" for k in range(40)]
    answers += [text.upper() for text in answers]
    assert notices_of(answers, [text.lower() for text in answers]) == []


def test_labels_are_what_has_five_examples_on_average() -> None:
    few, enough = times({"a": 3, "A": 1}), times({"a": 4, "A": 1})
    assert notices_of(few, few) == []
    assert len(notices_of(enough, enough)) == 1


def test_numbers_have_no_form() -> None:
    assert notices_of([1, 2] * 9, [1, 2] * 9) == []


def test_answers_are_counted_once_for_all_replications() -> None:
    answers = times({"yes": 5, "Yes": 1})
    rows = [
        {"id": str(k), "label": label, "_replication_": name}
        for k, label in enumerate(answers)
        for name in "ab"
    ]
    found = evalkit.validate(data_of(answers), rows, registry=REGISTRY)
    assert f"'yes' (5), 'Yes' (1){END}" in found.notices[0]


def test_examples_alone_are_validated_as_far_as_they_are_chosen() -> None:
    data = data_of(times({"yes": 6, "Yes": 6}))
    [notice] = evalkit.validate(data, registry=REGISTRY).notices
    assert "'Yes' (6), 'yes' (6)" in notice
    [notice] = evalkit.validate(data, limit=8, registry=REGISTRY).notices
    assert "'yes' (6), 'Yes' (2)" in notice
    assert evalkit.validate(data, limit=6, registry=REGISTRY).notices == []
